#include <shoal/machine.hpp>

#include <cstddef>

namespace shoal {

int Machine::part_of(Rank rank, MachineLevel level) const {
  if (places_.empty()) return 0;
  const Place& place = places_.at(static_cast<std::size_t>(rank.value()));
  switch (level) {
    case MachineLevel::node:
      return place.node;
    case MachineLevel::socket:
      return place.socket;
    case MachineLevel::numa:
      break;
  }
  return place.numa;
}

}  // namespace shoal

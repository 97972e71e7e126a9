#include <shoal/detail/team/coll/typed.hpp>

#include <shoal/detail/base/check.hpp>

#include <cstring>

namespace shoal::team {

void copy_results(std::span<const Block> results, std::span<std::byte> place) {
  for (const Block& block : results) {
    SHOAL_CHECK(block.size() <= place.size(),
                "a collective operation: a result of {} bytes, at most {}", block.size(),
                place.size());
    if (block.size() > 0) std::memcpy(place.data(), block.bytes().data(), block.size());
    place = place.subspan(block.size());
  }
}

}  // namespace shoal::team

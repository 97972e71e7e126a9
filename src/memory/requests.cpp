#include "memory/requests.hpp"

#include <utility>

namespace shoal::memory {

RequestId Requests::add(Request request) {
  const sync::Lock lock(mutex_);
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  Slot& slot = slots_[index];
  slot.request = std::move(request);
  return {index, slot.generation};
}

Request Requests::take(const RequestId& id) {
  const sync::Lock lock(mutex_);
  if (id.index >= slots_.size() || slots_[id.index].generation != id.generation) return {};
  Slot& slot = slots_[id.index];
  ++slot.generation;
  unused_.push_back(id.index);
  return std::exchange(slot.request, Request());
}

std::vector<Request> Requests::take_all() {
  std::vector<Request> all;
  const sync::Lock lock(mutex_);
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    if (slot.request.pending == nullptr) continue;
    all.push_back(std::exchange(slot.request, Request()));
    ++slot.generation;
    unused_.push_back(index);
  }
  return all;
}

std::map<int, std::uint64_t> Requests::counts() const {
  std::map<int, std::uint64_t> counts;
  const sync::Lock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.request.pending != nullptr) ++counts[slot.request.target];
  }
  return counts;
}

}  // namespace shoal::memory

#include <shoal/worker_local.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/park.hpp>

namespace shoal::loops {

FreeValues::FreeValues()
    : scheduler_(sched::current_scheduler("a WorkerLocal", sched::kUseInTask)),
      places_(new Place[static_cast<std::size_t>(scheduler_.worker_count()) + 1]) {}

std::atomic<FreeValues::Value*>& FreeValues::mine() {
  return places_[static_cast<std::size_t>(scheduler_.count_slot())].value;
}

// acq_rel: the next user of a value sees what the one before wrote.
FreeValues::Value* FreeValues::take() {
  if (Value* const value = mine().exchange(nullptr, std::memory_order_acq_rel); value != nullptr) {
    return value;
  }
  const sync::Lock lock(mutex_);
  if (others_ == nullptr) return nullptr;
  return std::exchange(others_, others_->next);
}

void FreeValues::give(Value& value) noexcept {
  Value* nobodys = nullptr;
  if (mine().compare_exchange_strong(nobodys, &value, std::memory_order_acq_rel)) return;
  const sync::Lock lock(mutex_);
  value.next = std::exchange(others_, &value);
}

void FreeValues::check_all(std::size_t count) const {
  std::size_t here = 0;
  for (int n = 0; n <= scheduler_.worker_count(); ++n) {
    const Place& place = places_[static_cast<std::size_t>(n)];
    here += place.value.load(std::memory_order_acquire) != nullptr ? 1 : 0;
  }
  {
    const sync::Lock lock(mutex_);
    for (const Value* one = others_; one != nullptr; one = one->next) ++here;
  }
  SHOAL_CHECK(here == count,
              "{} of {} values of a WorkerLocal are in use: combine them after the loop, when each "
              "Use is gone",
              count - here, count);
}

}  // namespace shoal::loops

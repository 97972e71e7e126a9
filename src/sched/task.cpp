#include <shoal/sched/task.hpp>

#include <shoal/base/error.hpp>

namespace shoal::sched {

TaskScope::TaskScope(int worker_count)
    : foreign_slot_(worker_count), slots_(new Slot[index(worker_count) + 1]) {}

TaskScope::~TaskScope() = default;

void TaskScope::throw_to_main() { throw CancelledError("the world has failed"); }

TaskScope::Totals TaskScope::totals() const {
  const auto sum = [this](std::atomic<std::uint64_t> Slot::*counter) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
      total += (slots_[i].*counter).load(std::memory_order_acquire);
    }
    return total;
  };
  Totals totals;  // the order of the four reads matters: see the header
  totals.finished = sum(&Slot::finished);
  totals.processed = sum(&Slot::processed);
  totals.queued = sum(&Slot::queued);
  totals.created = sum(&Slot::created);
  return totals;
}

}  // namespace shoal::sched

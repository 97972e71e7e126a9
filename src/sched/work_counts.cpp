#include <shoal/detail/sched/work_counts.hpp>

namespace shoal::sched {

WorkCounts::WorkCounts(int worker_count)
    : foreign_slot_(worker_count), slots_(new Slot[index(worker_count) + 1]) {}

void WorkCounts::add_ended(Totals& sum) const {
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.finished += slots_[i].finished.load(std::memory_order_acquire);
  }
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.processed += slots_[i].processed.load(std::memory_order_acquire);
  }
}

void WorkCounts::add_begun(Totals& sum) const {
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.queued += slots_[i].queued.load(std::memory_order_acquire);
  }
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.created += slots_[i].created.load(std::memory_order_acquire);
  }
}

}  // namespace shoal::sched

#include <shoal/sched/task.hpp>

#include <shoal/base/error.hpp>

namespace shoal::sched {

TaskScope::TaskScope(int worker_count, TaskScope* outer)
    : foreign_slot_(worker_count), outer_(outer), slots_(new Slot[index(worker_count) + 1]) {}

TaskScope::~TaskScope() = default;

void TaskScope::throw_to_main() { throw CancelledError("the world has failed"); }

void TaskScope::add_ended(Totals& sum) const {
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.finished += slots_[i].finished.load(std::memory_order_acquire);
  }
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.processed += slots_[i].processed.load(std::memory_order_acquire);
  }
}

void TaskScope::add_begun(Totals& sum) const {
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.queued += slots_[i].queued.load(std::memory_order_acquire);
  }
  for (std::size_t i = 0; i <= index(foreign_slot_); ++i) {
    sum.created += slots_[i].created.load(std::memory_order_acquire);
  }
}

}  // namespace shoal::sched

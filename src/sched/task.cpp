#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/error.hpp>

#include <utility>

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

void Task::give_locals(Task& task) const {
  for (const TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) {
    if (auto given = one->for_submitted(task); given != nullptr) task.add_local(std::move(given));
  }
}

TaskScope::TaskScope(Rank rank, int worker_count, TaskScope* outer, std::uint64_t number)
    : counts(worker_count),
      outer_(outer),
      outermost_(outer != nullptr ? outer->outermost_ : *this),
      number_(number),
      rank_(rank) {}

// The wait() of the outermost one observes everything.
void TaskScope::publish_ends() const {
  for (const TaskScope* scope = this; scope->outer_ != nullptr; scope = scope->outer_) {
    sync::publish(sync::shared_token(scope->number_));
  }
}

// --- failure

// Takes no memory. seq_cst: a look at the teams after lower_asks_teams() sees it, or ask_teams()
// comes after that.
void TaskScope::leave_error(std::string task_name, std::exception_ptr error) noexcept {
  const sync::Lock lock(failure_mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  left_error_ = {std::move(task_name), std::move(error)};
  outermost_.left_errors_.fetch_add(1, std::memory_order_seq_cst);
  left_.store(Left::error, std::memory_order_release);
  failed_.store(true, std::memory_order_release);
}

std::optional<LeftError> TaskScope::left_error() const {
  if (left_.load(std::memory_order_acquire) == Left::nothing) return std::nullopt;
  const sync::Lock lock(failure_mutex_);
  if (left_error_.error == nullptr) return std::nullopt;  // it was taken up
  return left_error_;
}

bool TaskScope::begin_taking_error() {
  Left left = Left::error;
  return left_.compare_exchange_strong(left, Left::taken, std::memory_order_acq_rel);
}

// The exception is destroyed before a wait() can return, and without the lock.
void TaskScope::end_taking_error() {
  LeftError taken;
  {
    const sync::Lock lock(failure_mutex_);
    std::swap(taken, left_error_);
  }
  taken = {};
  outermost_.left_errors_.fetch_sub(1, std::memory_order_release);
}

std::exception_ptr TaskScope::failure_error() const {
  LeftError left;
  {
    const sync::Lock lock(failure_mutex_);
    if (failure_ != nullptr || left_error_.error == nullptr) return failure_;
    left = left_error_;
  }
  return std::make_exception_ptr(TaskError(rank_, left.task_name, describe(left.error)));
}

void TaskScope::mark_failed(std::exception_ptr failure) {
  const sync::Lock lock(failure_mutex_);
  failure_ = std::move(failure);
  failed_.store(true, std::memory_order_release);
}

// --- the main function

void TaskScope::set_main_error(std::exception_ptr error) {
  const sync::Lock lock(failure_mutex_);
  main_error_ = std::move(error);
}

void TaskScope::throw_to_main() const {
  std::exception_ptr error;
  {
    const sync::Lock lock(failure_mutex_);
    error = main_error_;
  }
  if (error == nullptr) throw CancelledError("the world has failed");
  std::rethrow_exception(error);
}

// --- threads

// Under the lock: no snapshot finds the Hold gone, and so the world does not end, before this has
// done with the scheduler.
void TaskScope::thread_parks(Scheduler& scheduler) {
  const sync::Lock lock(holds_mutex_);
  holds_.fetch_sub(1, std::memory_order_relaxed);
  counts.task_finished(scheduler.count_slot());
  scheduler.look_again();
}

void TaskScope::thread_goes_on(Scheduler& scheduler) {
  counts.task_created(scheduler.count_slot());
  holds_.fetch_add(1, std::memory_order_release);
}

}  // namespace shoal::sched

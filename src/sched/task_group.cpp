#include <shoal/task_group.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/waiting_tasks.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <optional>

#include "sched/live.hpp"

namespace shoal {

TaskGroup* TaskGroup::current() {
  const sched::Task* const task = sched::current_task();
  return task != nullptr ? task->group : nullptr;
}

TaskGroup::TaskGroup(std::string name)
    : scheduler_(sched::current_scheduler("a task group", sched::kUseInTask)),
      scope_(sched::current_scope(scheduler_)),
      name_(std::move(name)),
      outer_(current()),
      outermost_(outer_ != nullptr ? outer_->outermost_ : *this),
      depth_(outer_ != nullptr ? outer_->depth_ + 1 : 0),
      children_(*this) {
  sched::check_may_wait("wait() of a task group");  // its destructor does
}

// If there is not even a stack to wait on, the program ends here: its tasks refer to the group.
TaskGroup::~TaskGroup() {
  join();
  if (const std::exception_ptr error = take_error(); error != nullptr) {
    scheduler_.leave_error(scope_, name_, error);
  }
}

/// A thread of the program may use a group that it has kept longer than the run.
class TaskGroup::Use {
 public:
  explicit Use(const TaskGroup& group) {
    if (sched::on_worker() || foreign_.emplace(group.scheduler_)) return;
    sched::check_live(group.scheduler_, fmt::format("the group '{}'", group.name_));
  }

 private:
  std::optional<sched::ForeignUse> foreign_;
};

bool TaskGroup::set_cancelled() {
  const Cancelled before = cancelled_.exchange(Cancelled::yes, std::memory_order_acq_rel);
  // release pairs with the acquire in inherits_cancel(): a thread that sees the count sees the
  // flag.
  outermost_.cancels_.fetch_add(1, std::memory_order_release);
  return before != Cancelled::yes;
}

// A task that is about to park looks at the group under the lock of its list, and is in the list
// when it gives that up. So it sees the flag, or is found here.
void TaskGroup::cancel() {
  const Use use(*this);
  set_cancelled();
  scheduler_.waiting().cancel(*this);
}

bool TaskGroup::holds(const TaskGroup* other) const {
  while (other != nullptr && other->depth_ > depth_) other = other->outer_;
  return other == this;
}

bool TaskGroup::is_cancelled() const {
  return cancelled_.load(std::memory_order_acquire) != Cancelled::no ||
         (outer_ != nullptr && inherits_cancel());
}

// Groups may nest deeply, so the answers found on the way are kept: each group is visited once
// after each cancel(). relaxed: the marks repeat what was read before they were written, which is
// ordered after the count that was read.
bool TaskGroup::inherits_cancel() const {
  const std::uint64_t count = outermost_.cancels_.load(std::memory_order_acquire);
  bool cancelled = false;
  const TaskGroup* end = this;
  while (end != nullptr && end->clear_at_.load(std::memory_order_relaxed) != count) {
    cancelled = end->cancelled_.load(std::memory_order_acquire) != Cancelled::no;
    if (cancelled) break;
    end = end->outer_;
  }
  for (const TaskGroup* group = this; group != end; group = group->outer_) {
    if (cancelled) {
      group->cancelled_.store(Cancelled::yes, std::memory_order_release);
    } else {
      group->clear_at_.store(count, std::memory_order_relaxed);
    }
  }
  return cancelled;
}

// A cancellation of what has ended ends here. Each change is one of the value that was read, so a
// cancel() meanwhile is not lost; one that this group inherits is found again.
void TaskGroup::begin_anew() {
  Cancelled past = Cancelled::past;
  if (cancelled_.load(std::memory_order_relaxed) != past) return;
  // relaxed: clears a flag, and publishes nothing
  cancelled_.compare_exchange_strong(past, Cancelled::no, std::memory_order_relaxed);
}

void TaskGroup::submit(std::unique_ptr<sched::Task> task) {
  const auto submit = [this, &task] {
    begin_anew();
    task->scope = &scope_;
    scheduler_.submit(std::move(task));
  };
  if (sched::on_worker()) return submit();
  const Use use(*this);
  submit();
}

void TaskGroup::submit(std::unique_ptr<sched::Task> task, const TaskOptions& options) {
  const Use use(*this);
  begin_anew();
  task->scope = &scope_;
  sched::submit(scheduler_, std::move(task), options);
}

namespace {

bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CancelledError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

// The exception is kept before others see that the group is cancelled, and throw because of that.
// A task that a cancellation ends, as one in a loop, does as it was asked.
void TaskGroup::keep(std::exception_ptr error) {
  if (is_cancelled() && is_cancellation(error)) return;
  {
    const sync::Lock lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  if (set_cancelled() && !children_.has_one()) scheduler_.waiting().cancel(*this);
}

std::exception_ptr TaskGroup::take_error() {
  const sync::Lock lock(mutex_);
  return std::exchange(error_, nullptr);
}

// Waits for the tasks. The wait may throw; then the next call continues it.
void TaskGroup::join() {
  SHOAL_CHECK(!holds(current()), "wait() of '{}': the caller is one of its tasks, or made by one",
              name_);
  if (!std::exchange(joins_, true)) children_.end_one();
  children_.wait();
  children_.reset();  // for what is spawned after this
  joins_ = false;
}

void TaskGroup::Children::end_last() {
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    // acq_rel: a reader of zero sees the effects of all tasks. More may have begun meanwhile.
    if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) woken = waiters_.take_all();
  }
  woken.wake_all();
}

bool TaskGroup::Children::is_over() const {
  if (open_.load(std::memory_order_relaxed) != 0) return false;
  const sync::Lock lock(mutex_);
  return true;
}

void TaskGroup::Children::wait() {
  check_may_wait();
  if (!is_over()) wait_here();
}

bool TaskGroup::Children::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  // acquire pairs with the releases in end_one(); relaxed would do under the lock without those
  if (open_.load(std::memory_order_acquire) == 0) return false;
  waiters_.push(waiter);
  return true;
}

std::string TaskGroup::Children::describe() const {
  return fmt::format("wait() of '{}', in which {} tasks have not ended", group_.name_,
                     open_.load(std::memory_order_relaxed));
}

void TaskGroup::wait() {
  join();
  if (scope_.failed()) {  // tasks may have been dropped
    sched::tell_main_of_failure(scheduler_);
    throw CancelledError(name_ + ": the world has failed");
  }
  Cancelled now = Cancelled::yes;
  cancelled_.compare_exchange_strong(now, Cancelled::past, std::memory_order_relaxed);
  if (const std::exception_ptr error = take_error(); error != nullptr) {
    std::rethrow_exception(error);
  }
}

bool is_cancelled() {
  const TaskGroup* const group = TaskGroup::current();
  return group != nullptr && group->is_cancelled();
}

}  // namespace shoal

#include <shoal/sched/task_group.hpp>

#include <shoal/base/check.hpp>

namespace shoal {

/// Says to a task which group it belongs to.
class TaskGroup::Membership final : public sched::TaskLocal {
 public:
  explicit Membership(TaskGroup& of) : group(of) {}
  static TaskGroup* current() {
    const sched::Task* const task = sched::current_task();
    if (task == nullptr) return nullptr;
    const auto* const mine = task->find_local<Membership>();
    return mine != nullptr ? &mine->group : nullptr;
  }
  TaskGroup& group;
};

/// When the world fails they end by themselves, and the group must not go before them.
class TaskGroup::Children final : public Counter {
 public:
  using Counter::Counter;
  [[nodiscard]] bool is_cancellable() const override { return false; }
};

TaskGroup::TaskGroup(std::string name)
    : scheduler_(sched::current_scheduler("a task group")),
      name_(std::move(name)),
      outer_(Membership::current()),
      open_(std::make_shared<Children>(scheduler_, 1, name_)) {}

// If there is not even a stack to wait on, the program ends here: its tasks refer to the group.
TaskGroup::~TaskGroup() {
  join();
  if (const std::exception_ptr error = take_error(); error != nullptr) {
    scheduler_.scope().fail(name_, error);
  }
}

bool TaskGroup::is_cancelled() const {
  return cancelled_.load(std::memory_order_acquire) ||
         (outer_ != nullptr && outer_->is_cancelled());
}

void TaskGroup::begin_one() { open_->add(1); }

void TaskGroup::submit(std::unique_ptr<sched::Task> task) {
  task->scope = &scheduler_.scope();
  task->add_local(std::make_unique<Membership>(*this));
  scheduler_.submit(std::move(task));
}

// It is kept before others see that the group is cancelled, and throw because of that.
void TaskGroup::keep(std::exception_ptr error) {
  {
    const sync::Lock lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  cancel();
}

void TaskGroup::end_one() {
  const std::shared_ptr<Counter> open = open_;  // the group may be gone once it is at zero
  open->count_down();
}

std::exception_ptr TaskGroup::take_error() {
  const sync::Lock lock(mutex_);
  return std::exchange(error_, nullptr);
}

// May throw where it waits; the next call goes on from there.
void TaskGroup::join() {
  for (const TaskGroup* group = Membership::current(); group != nullptr; group = group->outer_) {
    SHOAL_CHECK(group != this, "wait() of '{}': the caller is one of its tasks, or made by one",
                name_);
  }
  if (!std::exchange(joins_, true)) open_->count_down();
  open_->wait();
  open_ = std::make_shared<Children>(scheduler_, 1, name_);  // for what is spawned after this
  joins_ = false;
}

void TaskGroup::wait() {
  join();
  if (scheduler_.scope().failed()) {  // tasks may have been dropped
    sched::tell_main_of_failure(scheduler_);
    throw CancelledError(name_ + ": the world has failed");
  }
  if (const std::exception_ptr error = take_error(); error != nullptr) {
    std::rethrow_exception(error);
  }
}

bool is_cancelled() {
  const TaskGroup* const group = TaskGroup::Membership::current();
  return group != nullptr && group->is_cancelled();
}

}  // namespace shoal

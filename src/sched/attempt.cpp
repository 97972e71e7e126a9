#include <shoal/detail/sched/attempt.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/trace/event.hpp>
#include <shoal/error.hpp>
#include <shoal/task_group.hpp>

#include "sched/parked.hpp"
#include "sched/worker.hpp"

#include <fmt/format.h>

namespace shoal::sched {

Attempt::Attempt(Task& task, int number, int count)
    : task_(task), name_(fmt::format("attempt {} of {} of '{}'", number, count, name_of(task))) {}

// The worker stays the same: nothing in the body can park it.
std::exception_ptr Attempt::run(FunctionRef<void()> body) {
  std::exception_ptr error;
  {
    HandlerMark mark(false);
    mark.set_scope(*task_.scope);
    WorkerActivity& activity = current_worker()->activity;
    activity.attempt = this;
    activity.running_attempt.show(&name_);
    try {
      body();
    } catch (...) {
      error = caught_exception();
    }
    activity.running_attempt.hide();
    activity.attempt = nullptr;
  }
  return refused_ != nullptr ? refused_ : error;
}

void Attempt::release() {
  if (messages_ != nullptr) messages_->release();
  messages_.reset();
  for (const std::unique_ptr<Effect>& effect : effects_) effect->release();
  effects_.clear();
}

void Attempt::refuse(std::string_view what) {
  const CheckError error(fmt::format(
      "{}, in {} on rank {}, cannot be withheld until the attempt succeeds: do it in a task that "
      "this one spawns, which begins after that, or give this task no retries",
      what, name_, current_worker()->scheduler().rank().value()));
  if (refused_ == nullptr) refused_ = std::make_exception_ptr(error);
  throw error;
}

Attempt* find_attempt() {
  const Worker* const worker = current_worker();
  return worker != nullptr ? worker->activity.attempt : nullptr;
}

namespace {

// Misuse would fail again; the others are how a task ends that is not wanted any more.
bool may_succeed_later(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CheckError&) {
    return false;
  } catch (const CancelledError&) {
    return false;
  } catch (const TaskError& failure) {
    return !failure.is_cancellation();
  } catch (...) {
    return true;
  }
}

bool is_wanted(const Task& task) {
  return !task.scope->failed() && (task.group == nullptr || !task.group->is_cancelled());
}

}  // namespace

void run_attempts(int retries, FunctionRef<void()> body) {
  Task& task = *current_task();
  current_worker()->scheduler().begin_attempts();
  for (int number = 1;; ++number) {
    std::exception_ptr error;
    {
      Attempt attempt(task, number, retries + 1);
      error = attempt.run(body);
      if (error == nullptr) return attempt.release();
    }
    if (!may_succeed_later(error) || !is_wanted(task)) std::rethrow_exception(error);
    if (number > retries) throw RetryError(number, error);
    give_turn(trace::kFailedAttempt.data());
    if (!is_wanted(task)) std::rethrow_exception(error);
  }
}

void check_retries(int retries, const std::string& task) {
  SHOAL_CHECK(retries >= 0, "task '{}' cannot be tried again {} times: give 0 or more", task,
              retries);
}

void refuse_function(const std::string& task) {
  throw CheckError(fmt::format(
      "task '{}' cannot be tried again: its function is mutable and cannot be copied, so a second "
      "attempt would begin with what the first one has left; capture what it moves away by "
      "std::shared_ptr or shoal::Immutable, or give it no retries",
      task));
}

}  // namespace shoal::sched

#include <shoal/future.hpp>

#include "sched/worker.hpp"

#include <fmt/core.h>

namespace shoal::sched {

FutureState::~FutureState() = default;

bool FutureState::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  // Either it is ready by now, or complete() sees the mark and takes the lock. acquire: as
  // is_ready().
  if ((word_.fetch_or(kAwaited, std::memory_order_acquire) & kReady) != 0) return false;
  waiters_.push(waiter);
  return true;
}

// A task without a name is the one that the promise belongs to.
std::string FutureState::name() const {
  if (!name_.empty()) return name_;
  if (static_name_ != nullptr) return static_name_;
  return task_ != nullptr ? "task" : fmt::format("promise of {}", value_name());
}

std::string FutureState::promise_name() const {
  const bool has_name = !name_.empty() || static_name_ != nullptr || task_ != nullptr;
  return !has_name ? name() : fmt::format("promise '{}'", name());
}

std::string FutureState::describe() const { return fmt::format("get() of '{}'", name()); }

void FutureState::await() {
  const Worker* const worker = current_worker();
  const bool polls = worker != nullptr && worker->queues.deque.size_hint() <= 0;  // may nest a task
  if (!polls || !poll_until(scheduler(), [this] { return is_ready(); })) wait_here();
}

// The error may be the failure's doing: a task that was dropped breaks its promise.
void FutureState::throw_error() const {
  tell_main_of_failure(scheduler());
  std::rethrow_exception(error_);
}

void FutureState::complete(std::exception_ptr error, bool leaves) {
  error_ = std::move(error);
  const std::uint32_t gone = leaves ? kReference : 0;
  std::uint32_t word = word_.load(kRelaxed);
  do {
    if ((word & kAwaited) != 0) return complete_awaited(leaves);
    // release pairs with is_ready(); acquire: it may be deleted below. Else nothing of it is
    // touched any more.
  } while (!word_.compare_exchange_weak(word, word + kReady - gone, std::memory_order_acq_rel,
                                        kRelaxed));
  if (leaves && word < 2 * kReference) delete this;
}

void FutureState::complete_awaited(bool leaves) {
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    word_.fetch_or(kReady, std::memory_order_release);
    woken = waiters_.take_all();
  }
  woken.wake_all();
  if (leaves) remove_reference(this);
}

AnyPromise::~AnyPromise() {
  if (state_ != nullptr) fail(broken_promise(*state_));
}

void AnyPromise::fail(std::exception_ptr error) {
  state_.detach()->complete(std::move(error), true);
}

namespace {

std::exception_ptr failure_here() {
  const TaskScope* const scope = current_scope();
  return scope != nullptr && scope->failed() ? scope->failure_error() : nullptr;
}

}  // namespace

std::exception_ptr caught_error() {
  std::exception_ptr caught = caught_exception();
  try {
    std::rethrow_exception(caught);
  } catch (const CancelledError&) {
    if (std::exception_ptr failure = failure_here()) return failure;
  } catch (...) {  // any other stays as it is
  }
  return caught;
}

std::exception_ptr broken_promise(const FutureState& state) {
  if (std::exception_ptr failure = failure_here()) return failure;
  return std::make_exception_ptr(
      BrokenPromise(fmt::format("{} was destroyed before it was fulfilled", state.promise_name())));
}

void refuse_promise(const FutureState* state, const char* what) {
  throw CheckError(fmt::format("{} cannot be used so: {}",
                               state != nullptr ? state->promise_name() : "a promise", what));
}

void refuse_future(const char* what) {
  throw CheckError(
      fmt::format("a future cannot be used so: {}; get() takes the value, once, and share() "
                  "makes a future for several readers",
                  what));
}

}  // namespace shoal::sched

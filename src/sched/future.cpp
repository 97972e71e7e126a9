#include <shoal/sched/future.hpp>

namespace shoal::sched {

FutureState::~FutureState() = default;

bool FutureState::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  // relaxed: written under the lock
  if (ready_.load(std::memory_order_relaxed)) return false;
  waiters_.push(waiter);
  return true;
}

std::string FutureState::describe() const { return fmt::format("get() of '{}'", name_); }

void FutureState::await() { wait_here(); }

// The error may be the failure's doing: a task that was dropped breaks its promise.
void FutureState::throw_error() const {
  tell_main_of_failure(scheduler());
  std::rethrow_exception(error_);
}

void FutureState::complete(std::exception_ptr error) {
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    error_ = std::move(error);
    ready_.store(true, std::memory_order_release);
    woken = waiters_.take_all();
  }
  woken.wake_all();
}

void refuse_promise(const std::string& name, const char* what) {
  throw CheckError(fmt::format("promise '{}' cannot be used so: {}", name, what));
}

void refuse_future(const char* what) {
  throw CheckError(fmt::format("a future cannot be used so: {}", what));
}

}  // namespace shoal::sched

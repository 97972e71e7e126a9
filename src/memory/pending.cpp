#include <shoal/transfer.hpp>

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/detail/team/core.hpp>

namespace shoal::memory {

void Pending::fail(std::exception_ptr error) {
  const sync::Lock lock(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
}

bool Pending::refuse(std::exception_ptr error) {
  fail(std::move(error));
  return (fate_.fetch_or(kRefused, std::memory_order_acq_rel) & kDropped) == 0;
}

void Pending::report() noexcept {
  if (!sched::on_worker()) return;  // the run is over
  std::exception_ptr error;
  {
    const sync::Lock lock(mutex_);
    error = error_;
  }
  TeamCore::of(sched::current_scope(scheduler())).fail("a put that nothing waited for", error);
}

void Pending::finish_all() {
  std::exception_ptr error;
  {
    const sync::Lock lock(mutex_);
    error = error_;
  }
  const sync::Ref<Pending> next = std::move(then_);
  finish(std::move(error));
  if (next != nullptr) next->end_one();
}

bool Pending::enter() {
  std::uint32_t now = writing_.load(std::memory_order_relaxed);
  do {
    if ((now & kAbandoned) != 0) return false;
  } while (!writing_.compare_exchange_weak(now, now + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed));
  return true;
}

void Pending::leave() {
  // acq_rel: the writes happen before abandon() returns
  if (writing_.fetch_sub(1, std::memory_order_acq_rel) != (kAbandoned | 1)) return;
  sync::Waiter* waiter = nullptr;
  {
    const sync::Lock lock(mutex_);
    waiter = waiters_.pop();
  }
  if (waiter != nullptr) waiter->wake();
}

bool Pending::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (writing_.load(std::memory_order_acquire) == kAbandoned) return false;
  waiters_.push(waiter);
  return true;
}

void Pending::abandon() noexcept {
  writing_.fetch_or(kAbandoned, std::memory_order_acq_rel);
  while (writing_.load(std::memory_order_acquire) != kAbandoned) {
    try {
      wait_here();
    } catch (...) {  // in a handler, which must not wait: small copies end soon
      static_cast<void>(0);
    }
  }
}

}  // namespace shoal::memory

#include <shoal/transfer.hpp>

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/detail/team/core.hpp>

#include <string>
#include <utility>

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
  TeamCore::of(sched::current_scope(completion_.scheduler()))
      .fail("a put that nothing waited for", error);
}

void Pending::finish_all() {
  std::exception_ptr error;
  {
    const sync::Lock lock(mutex_);
    error = error_;
  }
  // finish() may destroy this
  const sync::Ref<Pending> next = is_group_ ? std::move(then_) : then_;
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
    waiter = std::exchange(abandoner_, nullptr);
  }
  if (waiter != nullptr) waiter->wake();
}

/// Wait for the end of writing, in abandon().
class Pending::EndOfWriting final : public sched::Waitable {
 public:
  explicit EndOfWriting(Pending& pending)
      : Waitable(pending.completion_.scheduler()), pending_(pending) {}
  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(pending_.mutex_);
    if (pending_.writing_.load(std::memory_order_acquire) == kAbandoned) return false;
    pending_.abandoner_ = &waiter;
    return true;
  }
  bool withdraw(sync::Waiter& waiter) override {
    const sync::Lock lock(pending_.mutex_);
    if (pending_.abandoner_ != &waiter) return false;
    pending_.abandoner_ = nullptr;
    return true;
  }
  [[nodiscard]] std::string describe() const override { return "the end of a transfer"; }
  [[nodiscard]] sched::Cancellable cancellable() const override { return sched::Cancellable::no; }
  void wait() { wait_here(); }

 private:
  Pending& pending_;
};

void Pending::abandon() noexcept {
  writing_.fetch_or(kAbandoned, std::memory_order_acq_rel);
  while (writing_.load(std::memory_order_acquire) != kAbandoned) {
    try {
      EndOfWriting(*this).wait();
    } catch (...) {  // in a handler, which must not wait: small copies end soon
      static_cast<void>(0);
    }
  }
}

}  // namespace shoal::memory

#pragma once
// Requests under way, and the notification of their ends.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/ref.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/future.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace shoal::memory {

/// Outstanding requests of one access to global memory. It is a part of the completion of that
/// access, and each request refers to it.
///
/// The destination of answers may be destroyed before they arrive, when the stack of a failed task
/// unwinds: abandon() returns when no handler writes to the destination any more.
class Pending {
 public:
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// Adds one request, before it is sent. The sender holds one from the beginning.
  void add() { left_.fetch_add(1, std::memory_order_relaxed); }
  /// Ends one request. The last one runs finish(). acq_rel: the writes of each are visible there.
  void end_one() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) finish_all();
  }
  /// Records an error; the first one counts.
  void fail(std::exception_ptr error);
  /// Records an error of the target; the first one counts. Returns false if the Transfer was
  /// dropped: then the caller reports the error.
  [[nodiscard]] bool refuse(std::exception_ptr error);
  /// Records that its memory has ended before the answer; nobody has to take that.
  void break_off() { fail(sched::broken_promise(completion_)); }
  /// Called when the Transfer of puts is destroyed without a wait. An error that has arrived is
  /// reported: it fails the run. Those that were not seen to be complete count in next().
  void drop() noexcept {
    const std::uint8_t before = fate_.fetch_or(kDropped, std::memory_order_acq_rel);
    if ((before & kRefused) != 0) report();
    // relaxed: of the same task, or of one that is ordered before the reader
    if ((before & kSeen) == 0 && then_ != nullptr)
      then_->dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Records that the program has seen that these are complete.
  void see() noexcept { fate_.fetch_or(kSeen, std::memory_order_relaxed); }
  /// Returns the number of requests before this one that were dropped, see drop().
  [[nodiscard]] std::uint64_t dropped_count() const {
    return dropped_.load(std::memory_order_relaxed);
  }
  /// Adds a request to `next`, a group, that ends with the last of these. Called before end_one().
  void then(sync::Ref<Pending> next) { then_ = std::move(next); }
  /// Adds a request to `next` that ends with the last of this group, which then forgets `next`.
  void then_as_group(sync::Ref<Pending> next) {
    is_group_ = true;
    then_ = std::move(next);
  }

  /// Returns the requests that then() has added, or nullptr.
  [[nodiscard]] const Pending* next() const { return then_.get(); }

  /// Called before an answer is written. True: leave() must follow; false: the request was
  /// abandoned.
  [[nodiscard]] bool enter();
  void leave();
  /// Returns when no handler writes answers any more. Parks the caller if necessary.
  void abandon() noexcept;

  friend void add_reference(Pending* pending) { add_reference(&pending->completion_); }
  friend void remove_reference(Pending* pending) { remove_reference(&pending->completion_); }

  std::uint64_t word = 0;    // an answer of one word
  bool writes_here = false;  // answers go to memory of the program

 protected:
  explicit Pending(sched::Completion& completion) : completion_(completion) {}
  ~Pending() = default;
  /// Called when all requests have ended, with the error if there was one.
  virtual void finish(std::exception_ptr error) = 0;

 private:
  static constexpr std::uint32_t kAbandoned = 1U << 31U;
  static constexpr std::uint8_t kDropped = 1;
  static constexpr std::uint8_t kRefused = 2;
  static constexpr std::uint8_t kSeen = 4;
  class EndOfWriting;

  void finish_all();
  void report() noexcept;

  sched::Completion& completion_;
  std::atomic<std::uint32_t> left_{1};
  std::atomic<std::uint32_t> writing_{0};  // how many write, and whether it is abandoned
  // refuse() and drop() set a bit each, and the later one reports. acq_rel: it sees the error.
  std::atomic<std::uint8_t> fate_{0};
  std::atomic<std::uint64_t> dropped_{0};
  mutable sync::Mutex mutex_;
  std::exception_ptr error_ SHOAL_GUARDED_BY(mutex_);
  sync::Waiter* abandoner_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  bool is_group_ = false;
  sync::Ref<Pending> then_;  // of a group until its end, else for ever: drop() reads it
};

/// Ends the sender's own request at the end of a block, also when an exception leaves it.
class Sending {
 public:
  explicit Sending(Pending& pending) : pending_(pending) {}
  ~Sending() { pending_.end_one(); }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

 private:
  Pending& pending_;
};

/// Completion of an access with its value, into which answers are written.
template <class T>
class PendingValue final : public sched::CompletionOf<T>, public Pending {
 public:
  explicit PendingValue(sched::Scheduler& scheduler)
      : sched::CompletionOf<T>(scheduler), Pending(static_cast<sched::Completion&>(*this)) {
    this->value.emplace();
  }
  [[nodiscard]] Future<T> future() { return this->make_future(); }

  friend void add_reference(PendingValue* pending) {
    add_reference(static_cast<sched::Completion*>(pending));
  }
  friend void remove_reference(PendingValue* pending) {
    remove_reference(static_cast<sched::Completion*>(pending));
  }

 private:
  void finish(std::exception_ptr error) override { this->complete(std::move(error), false); }
};

/// Completion of an access with its value in the word of the answer.
template <class T>
class PendingWord final : public sched::CompletionOf<T>, public Pending {
 public:
  explicit PendingWord(sched::Scheduler& scheduler)
      : sched::CompletionOf<T>(scheduler), Pending(static_cast<sched::Completion&>(*this)) {}
  [[nodiscard]] Future<T> future() { return this->make_future(); }

  friend void add_reference(PendingWord* pending) {
    add_reference(static_cast<sched::Completion*>(pending));
  }
  friend void remove_reference(PendingWord* pending) {
    remove_reference(static_cast<sched::Completion*>(pending));
  }

 private:
  void finish(std::exception_ptr error) override {
    if (error == nullptr) {
      T result;
      std::memcpy(&result, &word, sizeof(T));
      this->value.emplace(result);
    }
    this->complete(std::move(error), false);
  }
};

}  // namespace shoal::memory

namespace shoal {

class GlobalMemory;
template <class T>
class GlobalVector;

/// Remote completion of an access to global memory: a Future<void> that may be dropped. Movable.
///
/// A put may be dropped: the data travels on, and GlobalMemory::quiet() and Team::wait() wait for
/// it. If its target then refuses it, the team fails. The destructor of a get waits until its
/// memory is not written any more, or cancels the request.
class Transfer {
 public:
  /// A transfer has no value.
  using value_type = void;

  /// Makes a transfer that is complete.
  Transfer() = default;
  /// @cond internals
  /// Called by GlobalMemory. `writes_here`: answers go to memory of the program.
  Transfer(sync::Ref<memory::PendingValue<void>> pending, bool writes_here)
      : pending_(std::move(pending)) {
    pending_->writes_here = writes_here;
  }
  /// @endcond
  Transfer(Transfer&& other) noexcept = default;
  /// Takes the other transfer over.
  Transfer& operator=(Transfer&& other) noexcept {
    if (this != &other) {
      release();
      pending_ = std::move(other.pending_);
    }
    return *this;
  }
  ~Transfer() { release(); }

  /// Returns whether the transfer is complete. **Caller**: any thread. **Blocks**: never.
  [[nodiscard]] bool is_ready() const {
    if (pending_ == nullptr) return true;
    if (!pending_->is_ready()) return sched::poll_missed();
    pending_->see();
    sync::observe(token());
    return true;
  }
  /// Returns when the transfer is complete: the data is at its place, and visible to the caller.
  /// **Caller**: a task, the main function. **Blocks**: parks the task. **Errors**: those of the
  /// target, such as CheckError for memory that is not allocated; as Future::wait().
  void wait() {
    sched::check_may_wait("wait() of a Transfer");
    await();
  }
  /// Waits until the transfer is complete, at most for `delay`, a std::chrono::duration; in a
  /// simulated world, of virtual time. An error of the target is left to wait(). **Caller**,
  /// **Blocks**, **Errors**: as Future::wait_for().
  template <sched::Duration D>
  [[nodiscard]] FutureStatus wait_for(D delay) const {
    if (pending_ == nullptr) return complete_status();
    return status_after(pending_->wait_until(delay));
  }
  /// Waits until the transfer is complete, at most until `time`, a std::chrono::time_point or a
  /// time of Team::now_ns(). See wait_for().
  template <sched::Deadline D>
  [[nodiscard]] FutureStatus wait_until(D time) const {
    if (pending_ == nullptr) return complete_status();
    return status_after(pending_->wait_until(time));
  }

  /// Runs f() as a task once the transfer is complete; returns the future of its result. If the
  /// target refuses the access, f does not run, and that future gets the error. Afterwards this is
  /// a complete transfer. The memory of a get lasts until then: let `f` own it. **Blocks**: never.
  template <class F>
  auto then(F f, std::string name = "a continuation") {
    return sched::run_after(std::move(*this), std::move(f), std::move(name));
  }
  /// Suspends a coroutine until the transfer is complete, or throws the error of the target. See
  /// Future about objects that must not last across a co_await.
  [[nodiscard]] auto operator co_await() && {
    return sched::Awaiter<Transfer, void>{std::move(*this)};
  }
  /// Suspends a coroutine until a named transfer is complete. See co_await of a temporary.
  [[nodiscard]] auto operator co_await() & { return std::move(*this).operator co_await(); }

 private:
  friend class GlobalMemory;
  template <class T>
  friend class GlobalVector;
  friend struct sched::FutureAccess;

  [[nodiscard]] sched::Completion* completion() const { return pending_.get(); }
  /// Address that its requests publish to the race detector.
  [[nodiscard]] const memory::Pending* token() const { return pending_.get(); }
  static FutureStatus complete_status() {
    sched::check_may_wait("wait_for() of a Transfer");
    return FutureStatus::ready;
  }
  [[nodiscard]] FutureStatus status_after(FutureStatus status) const {
    if (status != FutureStatus::ready) return status;
    pending_->see();
    sync::observe(token());
    return status;
  }
  /// Waits without checking the caller: it may wait, or need not.
  void await() {
    if (pending_ == nullptr) return;
    pending_->wait();
    take();
  }
  /// Ends it, as it is complete, or throws the error.
  void take() {
    if (pending_ == nullptr) return;
    const sync::Ref<memory::PendingValue<void>> pending = std::move(pending_);
    sync::observe(static_cast<const memory::Pending*>(pending.get()));
    pending->rethrow_error();
  }
  void release() noexcept {
    if (pending_ == nullptr) return;
    if (!pending_->writes_here) {
      if (!pending_->has_taken_error()) pending_->drop();
    } else {
      if (!pending_->is_ready()) pending_->Pending::abandon();
      sync::observe(token());
    }
    pending_ = {};
  }

  sync::Ref<memory::PendingValue<void>> pending_;  // nullptr: complete
};

}  // namespace shoal

#pragma once
// Requests under way, and the notification of their ends.

#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/ref.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/future.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace shoal::memory {

/// Completion of a number of requests, each of which refers to it.
///
/// The destination of answers may be destroyed before they arrive, when the stack of a failed task
/// unwinds: abandon() returns when no handler writes to the destination any more.
class Pending : public sched::WaitingRoom, public sync::Pooled {
 public:
  explicit Pending(sched::Scheduler& scheduler) : WaitingRoom(scheduler) {}
  virtual ~Pending() = default;

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
  /// Called when the Transfer of puts is destroyed without a wait. An error that has arrived is
  /// reported: it fails the run.
  void drop() noexcept {
    if ((fate_.fetch_or(kDropped, std::memory_order_acq_rel) & kRefused) != 0) report();
  }
  /// Adds a request to `next` that ends with the last of these. Called before end_one().
  void then(sync::Ref<Pending> next) { then_ = std::move(next); }

  /// Returns the requests that then() has added, or nullptr.
  [[nodiscard]] const Pending* next() const { return then_.get(); }

  /// Called before an answer is written. True: leave() must follow; false: the request was
  /// abandoned.
  [[nodiscard]] bool enter();
  void leave();
  /// Returns when no handler writes answers any more. Parks the caller if necessary.
  void abandon() noexcept;

  friend void add_reference(Pending* pending) {
    pending->references_.fetch_add(1, std::memory_order_relaxed);
  }
  // acq_rel: the deletion happens after all accesses by former owners.
  friend void remove_reference(Pending* pending) {
    if (pending->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pending;
  }

  std::uint64_t word = 0;  // an answer of one word

  // As something to wait for: the end of writing, in abandon().
  bool enlist(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override { return "the end of a transfer"; }
  [[nodiscard]] bool is_cancellable() const override { return false; }

 protected:
  /// Called when all requests have ended, with the error if there was one.
  virtual void finish(std::exception_ptr error) = 0;

 private:
  static constexpr std::uint32_t kAbandoned = 1U << 31U;
  static constexpr std::uint8_t kDropped = 1;
  static constexpr std::uint8_t kRefused = 2;

  void finish_all();
  void report() noexcept;

  std::atomic<std::uint32_t> references_{1};
  std::atomic<std::uint32_t> left_{1};
  std::atomic<std::uint32_t> writing_{0};  // how many write, and whether it is abandoned
  // refuse() and drop() set a bit each, and the later one reports. acq_rel: it sees the error.
  std::atomic<std::uint8_t> fate_{0};
  std::exception_ptr error_ SHOAL_GUARDED_BY(mutex_);
  sync::Ref<Pending> then_;
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

/// Completion that fulfils a promise.
template <class T>
class PendingValue final : public Pending {
 public:
  explicit PendingValue(sched::Scheduler& scheduler) : Pending(scheduler), promise_(scheduler) {}

  [[nodiscard]] Future<T> future() { return promise_.future(); }
  sched::Stored<T> value{};  // answers are written here; not of void

 private:
  void finish(std::exception_ptr error) override {
    if (error != nullptr) {
      promise_.set_exception(std::move(error));
    } else if constexpr (std::is_void_v<T>) {
      promise_.set_value();
    } else {
      promise_.set_value(std::move(value));
    }
  }

  Promise<T> promise_;
};

/// Completion that fulfils a promise with the word of the answer.
template <class T>
class PendingWord final : public Pending {
 public:
  explicit PendingWord(sched::Scheduler& scheduler) : Pending(scheduler), promise_(scheduler) {}
  [[nodiscard]] Future<T> future() { return promise_.future(); }

 private:
  void finish(std::exception_ptr error) override {
    if (error != nullptr) {
      promise_.set_exception(std::move(error));
    } else {
      T value;
      std::memcpy(&value, &word, sizeof(T));
      promise_.set_value(value);
    }
  }

  Promise<T> promise_;
};

}  // namespace shoal::memory

namespace shoal {

class GlobalMemory;
template <class T>
class GlobalVector;

/// Remote completion of an access to global memory. Movable.
///
/// A put may be dropped: the data travels on, and GlobalMemory::quiet() and Team::wait() wait for
/// it. If its target then refuses it, the team fails. The destructor of a get waits until its
/// memory is not written any more, or cancels the request.
class Transfer {
 public:
  /// A complete transfer.
  Transfer() = default;
  /// Made by GlobalMemory.
  Transfer(sync::Ref<memory::Pending> pending, Future<void> future, bool writes_here)
      : pending_(std::move(pending)), future_(std::move(future)), writes_here_(writes_here) {}
  Transfer(Transfer&& other) noexcept = default;
  /// Takes the other transfer over.
  Transfer& operator=(Transfer&& other) noexcept {
    release();
    pending_ = std::move(other.pending_);
    future_ = std::move(other.future_);
    writes_here_ = other.writes_here_;
    return *this;
  }
  ~Transfer() { release(); }

  /// Returns whether the transfer is complete. **Caller**: any thread. **Blocks**: never.
  [[nodiscard]] bool is_ready() const {
    if (!future_.valid()) return true;
    if (!future_.is_ready()) return false;
    sync::observe(pending_.get());
    return true;
  }
  /// Returns when the transfer is complete: the data is at its place, and visible to the caller.
  /// **Caller**: a task, the main function. **Blocks**: parks the task. **Errors**: those of the
  /// target, such as CheckError for memory that is not allocated; as Future::wait().
  void wait() {
    if (!future_.valid()) return sched::check_may_wait("wait() of a Transfer");
    take();
  }

 private:
  friend class GlobalMemory;
  template <class T>
  friend class GlobalVector;
  /// Waits without checking the caller: it may wait, or need not.
  void take() {
    if (!future_.valid()) return;
    future_.get();
    sync::observe(pending_.get());
  }
  void release() noexcept {
    if (pending_ == nullptr) return;
    if (!writes_here_) {
      if (future_.valid()) pending_->drop();
    } else {
      if (future_.valid() && !future_.is_ready()) pending_->abandon();
      sync::observe(pending_.get());
    }
    pending_ = {};
  }

  sync::Ref<memory::Pending> pending_;
  Future<void> future_;  // not valid: complete
  bool writes_here_ = false;
};

}  // namespace shoal

#pragma once
// Handlers that were removed while a packet may be handled.

#include <shoal/detail/sync/asymmetric_barrier.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/handler.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::team {

/// One thread at a time handles packets, with handlers that it need not own: a handler that is
/// removed meanwhile lives until the packet at hand has been handled. Any thread removes.
///
/// The remover keeps the handler in removed_ and counts it (A), and then looks whether a packet is
/// being handled (B); if not, it destroys that handler. The packet's thread announces itself (C),
/// and then reads the count (D) before it uses a handler that it has found earlier; after the
/// packet it announces the end (E), reads the count (F), and destroys all kept handlers. If B does
/// not see C, D sees A: no thread uses the destroyed handler. If B does not see E, F sees A: no
/// kept handler stays. Between A and B is a heavy_barrier(), so that the packet's thread pays
/// nothing; where there is none, all are seq_cst. tests/model/am_deferred_reclaim_test.cpp explores
/// it.
///
/// A remover that has to outlive the handler waits until a later look B does not find C, or until
/// the packet's thread has said, between two handlers, which count it has seen (G): it uses none of
/// the handlers counted there.
class DeferredReclaim {
 public:
  explicit DeferredReclaim(bool asymmetric = sync::has_asymmetric_barrier())
      : asymmetric_(asymmetric) {}

  /// Marks that a packet is handled, during its lifetime. **Caller**: the worker that handles
  /// packets.
  class Handling {
   public:
    explicit Handling(DeferredReclaim& removals) : removals_(removals) { removals_.say(true); }
    ~Handling() { removals_.say(false); }
    Handling(const Handling&) = delete;
    Handling& operator=(const Handling&) = delete;

   private:
    DeferredReclaim& removals_;
  };

  /// Some were removed since the last forget(). **Caller**: the worker that handles packets.
  [[nodiscard]] bool has_news() const {
    return count_.load(std::memory_order_seq_cst) != seen_.load(std::memory_order_relaxed);
  }
  /// Destroys them, after earlier look-ups were forgotten. **Caller**: the worker that handles
  /// packets, between two handlers.
  void forget() {
    std::uint32_t count = 0;
    {
      std::vector<std::shared_ptr<Handler>> removed;  // ends without the lock: handlers own things
      const sync::Lock lock(mutex_);
      count = count_.load(std::memory_order_relaxed);
      removed.swap(removed_);
    }
    seen_.store(count, std::memory_order_release);  // pairs with the acquire in may_run()
  }
  /// **Caller**: the worker that handles packets.
  [[nodiscard]] bool is_handling() const { return handling_.load(std::memory_order_relaxed); }

  /// Defers the destruction of `handler`, which was removed from its table but may be in use. The
  /// caller's reference is the last one on return, unless a packet is being handled. **Cost**:
  /// microseconds.
  void add(const std::shared_ptr<Handler>& handler) {
    {
      const sync::Lock lock(mutex_);
      removed_.push_back(handler);
      count_.fetch_add(1, std::memory_order_seq_cst);
    }
    if (asymmetric_ && !sync::heavy_barrier()) return;  // the next packet brings the end
    if (handling_.load(std::memory_order_seq_cst)) return;
    // No other one: those that came meanwhile may be in use.
    const sync::Lock lock(mutex_);
    std::erase(removed_, handler);
  }
  /// A handler that was counted here may still run. **Caller**: one that has called add() before.
  [[nodiscard]] bool may_run(std::uint32_t removals) const {
    // acquire pairs with the releases in say() and forget(): what the handlers did is seen
    if (!handling_.load(std::memory_order_acquire)) return false;
    return static_cast<std::int32_t>(seen_.load(std::memory_order_acquire) - removals) < 0;
  }
  /// Makes has_news() true, for a channel that has ended: what was found by its address is found
  /// anew. One that is made at that address later enters its table after this, where messages find
  /// it.
  void note_removal() { count_.fetch_add(1, std::memory_order_seq_cst); }
  /// Number of removals so far; release pairs with an acquire: a thread that finds no handler sees
  /// the reason.
  [[nodiscard]] const std::atomic<std::uint32_t>& count() const { return count_; }

 private:
  void say(bool handling) {
    if (asymmetric_) {
      handling_.store(handling, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler
    } else {
      handling_.store(handling, std::memory_order_seq_cst);
    }
  }

  const bool asymmetric_;
  std::atomic<bool> handling_{false};   // written by who handles
  std::atomic<std::uint32_t> seen_{0};  // the same
  std::atomic<std::uint32_t> count_{0};
  sync::Mutex mutex_;
  std::vector<std::shared_ptr<Handler>> removed_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::team

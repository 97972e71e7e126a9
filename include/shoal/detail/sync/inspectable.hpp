#pragma once
// An object that a thread works on, visible to another thread.

#include <shoal/detail/sync/asymmetric_barrier.hpp>

#include <atomic>
#include <cstdint>

namespace shoal::sync {

/// A hazard pointer that its owner asks: the owner shows an object, or none, and hides it before it
/// dies; an inspector visits what is shown at that moment. The owner pays a store to show, a store
/// and a load to hide; it waits only for a visit that goes on right now.
///
/// An object is never visited after hide() has returned. hide(): value_ = next (A), then reads
/// visits_ (B). visit(): visits_ = 1 (C), then reads value_ (D). If B reads 0 although the visit
/// has begun, then C came after B, and so D has to see A: then the visit is of `next` or of
/// something later. This holds if neither thread can do its second step before the other sees its
/// first one: all four are seq_cst operations; or else, to spare the owner, the compiler keeps A
/// before B and heavy_barrier() stands between C and D. With that the owner's processor passes a
/// full barrier somewhere between C and D: if it comes to B only behind that, B reads 1; if it has
/// been at B before, A is in memory and D sees it. tests/model/sync_inspectable_test.cpp explores
/// it; tests/stress/sync_inspectable_test.cpp tries it.
template <class T>
class Inspectable {
 public:
  explicit Inspectable(bool asymmetric = has_asymmetric_barrier()) : asymmetric_(asymmetric) {}
  Inspectable(const Inspectable&) = delete;
  Inspectable& operator=(const Inspectable&) = delete;

  /// Owner. The object shown before stays alive until a later hide().
  void show(T* what) {
    value_.store(what, std::memory_order_release);  // pairs with visit(): the object is whole
  }

  /// Owner. Shows `next` instead, and returns when no thread visits the former object.
  void hide(T* next = nullptr) {
    if (asymmetric_) {
      value_.store(next, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler
    } else {
      value_.exchange(next, std::memory_order_seq_cst);
    }
    // seq_cst: (B); a plain load on x86. A thread that reads 0 sees the end of the visit before.
    if (visits_.load(std::memory_order_seq_cst) != 0) await_end_of_visit();
  }

  /// The owner's own value.
  [[nodiscard]] T* shown() const { return value_.load(std::memory_order_relaxed); }

  /// Returns whether an object is shown. A hint: relaxed, as it may change at once. **Caller**: any
  /// thread.
  [[nodiscard]] bool shows() const { return value_.load(std::memory_order_relaxed) != nullptr; }

  /// Calls `look(T&)` if an object is shown; the owner cannot hide it meanwhile. Returns false if
  /// none is shown, or it cannot be inspected. **Caller**: any thread but the owner, one at a time.
  template <class Look>
  bool visit(Look&& look) {
    const Visit visit(visits_);
    if (asymmetric_ && !heavy_barrier()) return false;
    T* const seen = value_.load(std::memory_order_seq_cst);
    if (seen == nullptr) return false;
    look(*seen);
    return true;
  }

 private:
  class Visit {
   public:
    explicit Visit(std::atomic<std::uint32_t>& visits) : visits_(visits) {
      visits_.store(1, std::memory_order_seq_cst);
    }
    ~Visit() {
      visits_.store(0, std::memory_order_seq_cst);  // pairs with hide(): the visit has ended
      visits_.notify_one();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    std::atomic<std::uint32_t>& visits_;
  };

  [[gnu::noinline]] void await_end_of_visit() { visits_.wait(1, std::memory_order_seq_cst); }

  std::atomic<T*> value_{nullptr};        // owner writes; inspector reads
  std::atomic<std::uint32_t> visits_{0};  // inspector writes; owner reads
  const bool asymmetric_;
};

}  // namespace shoal::sync

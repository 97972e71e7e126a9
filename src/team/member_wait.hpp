#pragma once
// The wait of a scope's member: its main function, or for a team a task.

#include <shoal/detail/sched/task.hpp>
#include <shoal/detail/sync/waiter.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

#include "team/team_state.hpp"

namespace shoal::term {

/// How a wait in an operation of all members ended.
enum class Outcome { running, done, failed, stuck };

/// State of the member's wait in an operation of all members: wait(), or a collective. Guarded by
/// the lock of the scope.
class MemberWait {
 public:
  /// `looks_parked`: written under the lock; a hint outside.
  explicit MemberWait(std::atomic<bool>& looks_parked) : parked_(looks_parked) {}

  void begin(sync::Waiter& waiter, const Standing& what, bool final, std::uint64_t now_ns) {
    waiter_ = &waiter;
    standing_ = what;
    final_ = final;
    since_ns_ = now_ns;
    outcome_ = Outcome::running;
    ++park_count_;
  }
  /// Marks the waiter as parked, unless it was removed since begin(). Only after this may detection
  /// count the member as parked.
  void settle() { set_parked(waiter_ != nullptr); }
  /// Removes the waiter, which continues by itself; returns false if it was removed before.
  bool withdraw(const sync::Waiter& waiter) {
    if (waiter_ != &waiter) return false;
    waiter_ = nullptr;
    set_parked(released_);
    return true;
  }
  /// Removes the waiter and returns it. It counts as running from now on, before it runs again.
  sync::Waiter& take(Outcome outcome) {
    set_parked(released_);
    outcome_ = outcome;
    return *std::exchange(waiter_, nullptr);
  }
  /// Ends a wait before settle(), as its operation was over before.
  void set_done() { outcome_ = Outcome::done; }
  /// Records that the member has left the team.
  void release() {
    released_ = true;
    ++park_count_;
    set_parked(true);
  }

  /// Returns whether the member waits in an operation, or has left. The waits of a main function
  /// for something else are in the counts, see TaskScope::is_main_parked().
  [[nodiscard]] bool is_parked() const {
    return parked_.load(std::memory_order_relaxed);  // written under the lock, which is held
  }
  [[nodiscard]] bool is_released() const { return released_; }
  [[nodiscard]] bool stands() const { return waiter_ != nullptr; }
  [[nodiscard]] bool stands(const sync::Waiter& waiter) const { return waiter_ == &waiter; }
  /// Returns whether the member waits for the end of the scope.
  [[nodiscard]] bool stands_finally() const { return waiter_ != nullptr && final_; }
  /// Returns the operation of the last wait, and the time when it began.
  [[nodiscard]] const Standing& standing() const { return standing_; }
  [[nodiscard]] std::uint64_t since_ns() const { return since_ns_; }
  [[nodiscard]] Outcome outcome() const { return outcome_; }
  [[nodiscard]] std::uint64_t park_count() const { return park_count_; }

 private:
  void set_parked(bool parked) { parked_.store(parked, std::memory_order_release); }

  std::atomic<bool>& parked_;
  sync::Waiter* waiter_ = nullptr;
  Standing standing_;
  bool final_ = false;
  bool released_ = false;
  std::uint64_t since_ns_ = 0;
  std::uint64_t park_count_ = 0;
  Outcome outcome_ = Outcome::running;
};

}  // namespace shoal::term

#pragma once
// What is to happen on a rank at a given time.

#include <shoal/sync/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

namespace shoal::sched {

/// Rounded up; 0 for less than that. 285 years for what is longer: more a thread cannot sleep.
template <class Rep, class Period>
std::uint64_t to_ns(std::chrono::duration<Rep, Period> duration) {
  constexpr std::uint64_t kMax_ns = 9'000'000'000'000'000'000;
  using Nanoseconds = std::chrono::duration<long double, std::nano>;
  const long double ns = std::ceil(Nanoseconds(duration).count());
  if (ns >= static_cast<long double>(kMax_ns)) return kMax_ns;
  return ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
}

/// Something that happens at its time.
class Timer {
 public:
  /// Called once, on a worker of the rank, in no task: it must not block.
  virtual void expire() = 0;

 protected:
  ~Timer() = default;

 private:
  friend class Timers;
  std::uint64_t number_ = 0;  // guarded by the lock of Timers
  std::uint64_t due_ns_ = 0;  // likewise
};

/// Timers of one rank, by the clock of its environment.
class Timers {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  /// When a delay that begins now is over.
  [[nodiscard]] static std::uint64_t due_ns(std::uint64_t now_ns, std::uint64_t delay_ns) {
    return now_ns + std::min(delay_ns, kNever - 1 - now_ns);
  }

  /// True if it is now the first to expire. A timer that is set must not be set again.
  bool add(Timer& timer, std::uint64_t due_ns);
  /// False: it has expired or expires right now.
  bool remove(Timer& timer);
  /// Calls those that are due; false if none was.
  bool expire(std::uint64_t now_ns);
  /// When the first one expires, or kNever. Any thread.
  [[nodiscard]] std::uint64_t next_ns() const {
    // seq_cst: a worker that is about to sleep looks here, see Scheduler::add_timer().
    return next_ns_.load(std::memory_order_seq_cst);
  }

 private:
  struct Earlier {
    bool operator()(const Timer* a, const Timer* b) const {
      return std::pair(a->due_ns_, a->number_) < std::pair(b->due_ns_, b->number_);
    }
  };
  void publish() SHOAL_REQUIRES(mutex_);

  sync::Mutex mutex_;
  std::set<Timer*, Earlier> timers_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> next_ns_{kNever};  // written under mutex_
};

}  // namespace shoal::sched

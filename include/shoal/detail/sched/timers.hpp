#pragma once
// Timers: functions that run on a rank at a given time.

#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

namespace shoal::sched {

/// A std::chrono::duration; by its shape, since <chrono> is costly to include.
template <class D>
concept Duration = requires(const D& duration) {
  { duration.count() } -> std::convertible_to<long double>;
  { D::period::num } -> std::convertible_to<long double>;
  { D::period::den } -> std::convertible_to<long double>;
};

/// A std::chrono::time_point, or a time of Team::now_ns().
template <class T>
concept Deadline = std::integral<T> || requires(const T& time) {
  { time - T::clock::now() } -> Duration;
};

/// Rounded up; 0 for less than that. 285 years for what is longer: more a thread cannot sleep.
template <Duration D>
std::uint64_t to_ns(D duration) {
  constexpr std::uint64_t kMax_ns = 9'000'000'000'000'000'000;
  constexpr long double kTick_ns =
      1e9L * static_cast<long double>(D::period::num) / static_cast<long double>(D::period::den);
  const long double ns = static_cast<long double>(duration.count()) * kTick_ns;
  if (ns >= static_cast<long double>(kMax_ns)) return kMax_ns;
  if (!(ns > 0)) return 0;
  const auto whole = static_cast<std::uint64_t>(ns);
  return static_cast<long double>(whole) < ns ? whole + 1 : whole;
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
  Timers();
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;
  /// When a delay that begins now is over.
  [[nodiscard]] static std::uint64_t due_ns(std::uint64_t now_ns, std::uint64_t delay_ns) {
    const std::uint64_t left_ns = kNever - 1 - now_ns;
    return now_ns + (delay_ns < left_ns ? delay_ns : left_ns);
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
  struct Order;
  void publish() SHOAL_REQUIRES(mutex_);

  sync::Mutex mutex_;
  const std::unique_ptr<Order> timers_ SHOAL_PT_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> next_ns_{kNever};  // written under mutex_
};

}  // namespace shoal::sched

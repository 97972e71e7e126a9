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
  { time.time_since_epoch() } -> Duration;
  { T::clock::now().time_since_epoch() } -> Duration;
};

/// The longest delay, 285 years: longer ones become it.
inline constexpr std::uint64_t kDelayMax_ns = 9'000'000'000'000'000'000;

/// Throws CheckError for a time that is not a number.
[[noreturn]] void refuse_time();

/// Returns a delay of `ns` nanoseconds: rounded up, 0 for a negative one, at most kDelayMax_ns.
/// **Errors**: CheckError for a delay that is not a number.
inline std::uint64_t delay_of(long double ns) {
  if (ns >= static_cast<long double>(kDelayMax_ns)) return kDelayMax_ns;
  if (ns <= 0) return 0;
  if (!(ns > 0)) [[unlikely]]
    refuse_time();
  const auto whole = static_cast<std::uint64_t>(ns);
  return static_cast<long double>(whole) < ns ? whole + 1 : whole;
}

/// Returns the nanoseconds of a duration of any type, which no computation overflows.
template <Duration D>
constexpr long double count_ns(D duration) {
  constexpr long double kTick_ns =
      1e9L * static_cast<long double>(D::period::num) / static_cast<long double>(D::period::den);
  return static_cast<long double>(duration.count()) * kTick_ns;
}
/// Returns the delay of a duration, see delay_of().
template <Duration D>
std::uint64_t to_ns(D duration) {
  return delay_of(count_ns(duration));
}
/// Returns the delay from now on until a time of a clock.
template <class TimePoint>
std::uint64_t ns_until(TimePoint time) {
  return delay_of(count_ns(time.time_since_epoch()) -
                  count_ns(TimePoint::clock::now().time_since_epoch()));
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
  /// The last time at which a timer expires. The rest is room for what a simulated rank adds.
  static constexpr std::uint64_t kLast_ns = kNever - (std::uint64_t{1} << 60U);
  /// When a delay that begins now is over.
  [[nodiscard]] static std::uint64_t due_ns(std::uint64_t now_ns, std::uint64_t delay_ns) {
    if (delay_ns > kDelayMax_ns) delay_ns = kDelayMax_ns;
    if (now_ns >= kLast_ns) return now_ns;
    return delay_ns < kLast_ns - now_ns ? now_ns + delay_ns : kLast_ns;
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

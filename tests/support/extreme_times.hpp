#pragma once
// Durations and times at the ends of their types: computations with them overflow.

#include <chrono>
#include <cstdint>
#include <limits>

namespace shoal::testing {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
using Seconds = std::chrono::duration<double>;

/// A duration that is no number.
inline constexpr Seconds kNoDuration{std::numeric_limits<double>::quiet_NaN()};

/// Calls over(d) with durations that are over when they begin.
template <class F>
void for_each_short_delay(F over) {
  using namespace std::chrono;
  over(nanoseconds(-1));
  over(nanoseconds::min());
  over(hours::min());
  over(duration<int>::min());
  over(Seconds(-1e300));
  over(Seconds(-kInfinite));
}

/// Calls never(d) with durations that are never over.
template <class F>
void for_each_long_delay(F never) {
  using namespace std::chrono;
  never(nanoseconds::max());
  never(hours::max());
  never(duration<std::uint64_t, std::nano>::max());
  never(Seconds(1e300));
  never(Seconds(kInfinite));
}

/// Calls over(t) with times that have passed.
template <class F>
void for_each_early_time(F over) {
  using namespace std::chrono;
  over(-1);
  over(std::numeric_limits<std::int64_t>::min());
  over(steady_clock::time_point::min());
  over(system_clock::time_point::min());
  over(time_point<steady_clock, hours>::min());
  over(time_point<steady_clock, Seconds>(Seconds(-kInfinite)));
}

/// Calls never(t) with times that never come.
template <class F>
void for_each_late_time(F never) {
  using namespace std::chrono;
  never(std::numeric_limits<std::int64_t>::max());
  never(std::numeric_limits<std::uint64_t>::max());
  never(steady_clock::time_point::max());
  never(system_clock::time_point::max());
  never(time_point<system_clock, hours>::max());
  never(time_point<steady_clock, Seconds>(Seconds(kInfinite)));
}

}  // namespace shoal::testing

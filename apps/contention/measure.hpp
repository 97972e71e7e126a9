#pragma once
// Makes the measurements of a plan.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contention/data_file.hpp"
#include "contention/host.hpp"
#include "contention/link.hpp"
#include "contention/plan.hpp"

namespace contention {

/// Repetitions of each measurement that no limit of time takes away.
inline constexpr int kRepetitionsMin = 3;

/// Options of the command measure.
struct MeasureOptions {
  std::string output;
  Extent extent;
  int repetitions = 0;                               // 0: by extent, and by time_limit
  std::optional<Clock::duration> time_limit;         // for repetitions beyond kRepetitionsMin
  int duration_ms = 0;                               // of one repetition; 0: by extent
  std::size_t memory_bytes = std::size_t{64} << 20;  // of each computing core
  std::vector<std::string> counters;  // PAPI events; none: those of the memory controllers
  bool bar = true;
};

/// Values by extent where the user gave none.
[[nodiscard]] MeasureOptions completed(MeasureOptions options);

/// Makes the repetitions that are not in the file yet, all measurements in each round. The calling
/// thread communicates.
/// Errors: InputError when the file cannot be written or memory cannot be had.
void make_measurements(const Host& host, Link& link, const std::vector<Point>& plan,
                       const MeasureOptions& options, DataFile& file);

/// Result of one repetition from the seconds of its exchanges, without the first and the last one
/// where there are more than two.
void set_communication(Sample& sample, std::vector<double> seconds);

}  // namespace contention

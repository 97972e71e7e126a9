#pragma once
// Summary of a run of the pipeline.

#include <cstdint>
#include <string>

namespace insitu {

/// Summary of all ranks.
struct Summary {
  double seconds = 0;
  double latency_us = 0;              // mean
  std::int64_t items = 0;             // that compute ranks sent and a result was made of
  std::int64_t results = 0;           // one for each field at each timestep
  std::int64_t expected_results = 0;  // how many there have to be
  std::int64_t wrong = 0;             // results

  [[nodiscard]] double items_per_second() const { return static_cast<double>(items) / seconds; }
  /// Every result is there, and none is wrong.
  [[nodiscard]] bool good() const { return results == expected_results && wrong == 0; }
  /// "good", or the defect.
  [[nodiscard]] std::string verdict() const;
};

}  // namespace insitu

#pragma once
// The minimum effective task granularity, METG(50 %): how short tasks may be until half of the time
// is lost.

#include <cstdint>
#include <functional>
#include <vector>

namespace metg {

/// One graph, run with so many iterations in each task.
struct Point {
  double iterations = 0;
  double granularity_us = 0;  // wall time x cores / tasks
};

struct Metg {
  double metg_us = 0;      // the smallest granularity at which half of the peak is reached
  double overhead_us = 0;  // the granularity of tasks that do nothing
  bool reached = false;    // no: not even by the longest tasks, which metg_us is about
  std::vector<Point> points;
};

/// Searches from long tasks to short ones. `granularity_us(iterations)` runs the graph, and must
/// say the same on all ranks; `peak_us`: what an iteration takes a core that does nothing else.
[[nodiscard]] Metg search(const std::function<double(std::int64_t)>& granularity_us,
                          double peak_us);

}  // namespace metg

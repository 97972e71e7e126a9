// Iterations of a program, by the spans in which it makes their tasks.

#include "trace_tool/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shoal::trace_tool {

std::vector<IterationStatistics> iterations(const Model& model) {
  std::map<std::int64_t, IterationStatistics> by_number;
  const auto earliest = [](std::int64_t& of, std::int64_t time) {
    if (of == kNever || time < of) of = time;
  };
  for (const Task& task : model.tasks) {
    if (task.iteration == kNever) continue;
    IterationStatistics& one = by_number[task.iteration];
    one.number = task.iteration;
    ++one.count;
    one.busy += task.busy;
    one.made = std::max(one.made, task.created);
    if (task.start == kNever) continue;
    earliest(one.begin, task.start);
    one.end = std::max(one.end, task.end == kNever ? model.duration : task.end);
  }
  std::vector<IterationStatistics> all;
  all.reserve(by_number.size());
  for (const auto& [number, one] : by_number) all.push_back(one);
  return all;
}

std::string iterations_text(const Analysis& analysis) {
  std::vector<std::int64_t> lengths;
  std::int64_t sum = 0;
  std::int64_t first = analysis.duration;
  std::int64_t last = 0;
  for (const IterationStatistics& one : analysis.iterations) {
    if (one.begin == kNever) continue;
    lengths.push_back(one.end - one.begin);
    sum += one.end - one.begin;
    first = std::min(first, one.begin);
    last = std::max(last, one.end);
  }
  if (lengths.empty()) return "";
  return fmt::format(
      "iterations: {}; from its first task to the end of its last, one takes {} (median); {:.1f} "
      "at a time on average",
      lengths.size(), time_text(number(lower_median(lengths))),
      number(sum) / std::max(number(last - first), 1.0));
}

}  // namespace shoal::trace_tool

// Least time that a run can take: by its work, and by its longest chain (bounds of StarVZ).

#include "trace_tool/analysis.hpp"

#include <algorithm>
#include <numeric>

namespace shoal::trace_tool {

// Tasks are visited before those that they need: what they need became ready before.
std::vector<std::int64_t> chains_of(const Model& model) {
  std::vector<std::uint32_t> order(model.tasks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&model](std::uint32_t a, std::uint32_t b) {
    const std::int64_t ready_a = model.tasks[a].ready;
    const std::int64_t ready_b = model.tasks[b].ready;
    return ready_a != ready_b ? ready_a > ready_b : a > b;  // at one moment: the later one
  });
  std::vector<std::int64_t> chains(model.tasks.size(), 0);
  for (const std::uint32_t index : order) {
    if (!model.is_main(model.tasks[index])) chains[index] += model.tasks[index].busy;
    for (const Cause& need : model.needs_of(index)) {
      const std::uint32_t source = model.source_of(need);
      if (source != kNone) chains[source] = std::max(chains[source], chains[index]);
    }
  }
  return chains;
}

Bounds bounds_of(const Analysis& analysis) {
  Bounds bounds;
  std::int64_t busy = 0;
  std::int64_t workers = 0;
  for (const auto& [rank, load] : analysis.loads) {
    busy += load.busy;
    workers += load.workers;
  }
  if (workers > 0) bounds.area = std::min(busy / workers, analysis.duration);
  for (const std::int64_t chain : analysis.chains) bounds.chain = std::max(bounds.chain, chain);
  bounds.chain = std::min(bounds.chain, analysis.duration);
  return bounds;
}

}  // namespace shoal::trace_tool

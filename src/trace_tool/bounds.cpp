// Least time that a run can take: by its work, and by its longest chain (bounds of StarVZ).

#include "trace_tool/analysis.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace shoal::trace_tool {

namespace {

/// Longest chains of work, from the begin of each segment on.
class Chains {
 public:
  explicit Chains(const Model& model) : model_(model), chains_(model.segments.size(), 0) {}

  std::vector<std::int64_t> run() {
    for (const std::uint32_t index : order()) add(index);
    std::vector<std::int64_t> of_tasks(model_.tasks.size(), 0);
    for (std::uint32_t i = 0; i < chains_.size(); ++i) {
      std::int64_t& chain = of_tasks[model_.segments[i].task];
      chain = std::max(chain, chains_[i]);
    }
    return of_tasks;
  }

 private:
  [[nodiscard]] static std::int64_t ready(const Segment& segment) {
    return segment.ready != kNever ? std::min(segment.ready, segment.begin) : segment.begin;
  }

  /// Segments, before those that they need: these began before. At one moment: the one that became
  /// ready last, or that of the later task.
  [[nodiscard]] std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order(model_.segments.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto place = [this](std::uint32_t index) {
      const Segment& segment = model_.segments[index];
      return std::tuple(segment.begin, ready(segment), segment.task, index);
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return place(a) > place(b); });
    return order;
  }

  void add(std::uint32_t index) {
    const Segment& segment = model_.segments[index];
    chains_[index] = std::max(chains_[index], work(segment, segment.end));
    if (segment.previous_of_task != kNone) {
      lead(segment.previous_of_task, segment.begin, index);
      for (const Wait& wait : model_.waits_of(index)) lead_from(wait.cause, index);
    } else {
      for (const Cause& need : model_.needs_of(segment.task)) lead_from(need, index);
    }
  }

  /// Work of a segment up to a time.
  [[nodiscard]] std::int64_t work(const Segment& segment, std::int64_t until) const {
    if (model_.is_main(model_.tasks[segment.task])) return 0;
    return std::max<std::int64_t>(std::min(until, segment.end) - segment.begin, 0);
  }

  /// What a segment had done by `until` is followed by the chain of another one.
  void lead(std::uint32_t from, std::int64_t until, std::uint32_t to) {
    chains_[from] = std::max(chains_[from], work(model_.segments[from], until) + chains_[to]);
  }

  void lead_from(const Cause& cause, std::uint32_t to) {
    const std::uint32_t source = model_.source_of(cause);
    if (source == kNone) return;
    const std::int64_t until = ready(model_.segments[to]);
    std::uint32_t from = model_.tasks[source].last_segment;
    while (from != kNone && model_.segments[from].begin > until) {
      from = model_.segments[from].previous_of_task;
    }
    if (from != kNone) lead(from, until, to);
  }

  const Model& model_;
  std::vector<std::int64_t> chains_;
};

}  // namespace

std::vector<std::int64_t> chains_of(const Model& model) { return Chains(model).run(); }

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

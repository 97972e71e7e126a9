// Times of messages from their send() to the tasks that they make ready, in parts.

#include "trace_tool/analysis.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

namespace {

using ByHandler = std::map<NameId, LatencyStatistics>;

/// The sender of a message waits for room before it sends it.
void add_windows(const Model& model, ByHandler& sums) {
  using Sent = std::pair<std::int64_t, NameId>;
  std::map<std::pair<int, int>, std::vector<Sent>> sent;  // by rank and target
  for (const Message& message : model.messages) {
    if (message.sent == kNever) continue;
    sent[{message.from, message.to}].emplace_back(message.sent, message.name);
  }
  for (auto& [pair, all] : sent) std::sort(all.begin(), all.end());
  for (const Interval& interval : model.intervals) {
    if (interval.what != Interval::What::window) continue;
    const auto all = sent.find({model.rank_of(interval.track), static_cast<int>(interval.value)});
    if (all == sent.end()) continue;
    const auto first =
        std::lower_bound(all->second.begin(), all->second.end(), Sent(interval.end, 0));
    if (first != all->second.end()) sums[first->second].window += interval.end - interval.begin;
  }
}

}  // namespace

std::vector<LatencyStatistics> latencies(const Model& model) {
  ByHandler sums;
  for (const Message& message : model.messages) {
    const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
    if (message.sent == kNever || arrived == kNever) continue;
    LatencyStatistics& sum = sums[message.name];
    const Blocked blocked = blocked_before(model, message);
    const std::int64_t came = blocked.busy_since == kNever ? arrived : blocked.busy_since;
    const std::int64_t handled = std::max(message.handled, arrived);
    ++sum.count;
    sum.bytes += message.size_bytes;
    sum.wire += std::max<std::int64_t>(came - message.sent, 0);
    sum.progress += handled - came;
  }
  add_windows(model, sums);
  for (const Task& task : model.tasks) {
    if (task.cause.what != Cause::What::message || task.start == kNever) continue;
    const auto sum = sums.find(model.messages[task.cause.index].name);
    if (sum != sums.end()) sum->second.worker += std::max<std::int64_t>(task.start - task.ready, 0);
  }
  std::vector<LatencyStatistics> all;
  for (auto& [name, sum] : sums) {
    if (sum.count == 0) continue;
    sum.name = model.input().name(name);
    all.push_back(std::move(sum));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.total() > b.total(); });
  return all;
}

}  // namespace shoal::trace_tool

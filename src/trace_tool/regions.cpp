#include "trace_tool/regions.hpp"

#include <algorithm>
#include <utility>

namespace shoal::trace_tool {

Regions::Regions(Input& input) {
  struct Edge {
    std::int64_t time = 0;
    int process = 0;
    bool begins = false;
  };
  std::vector<Edge> edges;
  std::vector<bool> has_events(input.tracks().size());
  std::int64_t end = 0;
  input.for_each([&](const Event& event) {
    end = std::max(end, static_cast<std::int64_t>(event.time));
    if (event.track() >= has_events.size()) return;  // the table of tracks is damaged
    has_events[event.track()] = true;
    const bool begins = event.kind() == Kind::region_begin;
    if (!begins && event.kind() != Kind::region_end) return;
    edges.push_back(
        {static_cast<std::int64_t>(event.time), input.track(event.track()).process, begins});
  });
  if (edges.empty()) return;
  for (std::uint32_t track = 0; track < has_events.size(); ++track) {
    if (has_events[track]) recording_[input.track(track).process] = true;
  }
  // The first edge of a process tells how it began.
  std::for_each(edges.rbegin(), edges.rend(),
                [this](const Edge& one) { recording_[one.process] = !one.begins; });
  std::map<int, bool> now = recording_;
  auto active = std::count_if(now.begin(), now.end(), [](const auto& one) { return one.second; });
  count_ = active > 0 ? 1 : 0;
  std::int64_t paused_since = 0;
  const auto add = [&](std::int64_t until) {
    const std::int64_t before = pauses_.empty() ? 0 : pauses_.back().sum;
    pauses_.push_back({paused_since, until, before + until - paused_since});
  };
  for (const Edge& one : edges) {
    if (std::exchange(now[one.process], one.begins) == one.begins) continue;
    active += one.begins ? 1 : -1;
    if (active == 0) paused_since = one.time;
    if (!one.begins || active > 1) continue;
    add(one.time);
    ++count_;
  }
  if (active == 0) add(end);
}

std::int64_t Regions::recorded_before(std::int64_t time) const {
  const auto after = std::partition_point(pauses_.begin(), pauses_.end(),
                                          [time](const Pause& one) { return one.begin <= time; });
  if (after == pauses_.begin()) return time;
  const Pause& last = *(after - 1);
  return std::max(time, last.end) - last.sum;
}

bool Regions::go_on(int process, Kind kind) {
  if (!any()) return true;
  bool& is_on = recording_[process];
  if (kind == Kind::region_begin) return !std::exchange(is_on, true);
  if (kind == Kind::region_end) return std::exchange(is_on, false);
  return is_on;
}

}  // namespace shoal::trace_tool

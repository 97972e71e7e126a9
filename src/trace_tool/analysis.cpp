#include "trace_tool/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace shoal::trace_tool {

namespace {

std::string quoted(const std::string& name) { return name.empty() ? "(no name)" : name; }

std::size_t bucket_of(std::int64_t ns) {
  const auto width = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ns)));
  return std::min(width == 0 ? 0 : width - 1, NameStatistics::kBuckets - 1);
}

/// Adds up why workers had no task, gap by gap.
class IdleTimes {
 public:
  IdleTimes(const Model& model, const std::map<int, RankLoad>& loads)
      : model_(model), loads_(loads) {}

  /// `next`: the segment that ends the gap, or nullptr.
  void add_gap(int rank, std::int64_t begin, std::int64_t end, const Segment* next) {
    const std::int64_t bound_ns = std::min(add_bound(rank, begin, end), end - begin);
    if (bound_ns == end - begin) return;
    add(rank, next == nullptr ? no_more_work() : cause_of(*next, begin), end - begin - bound_ns);
  }
  /// A gap before a handler.
  void add_gap_before(int rank, std::int64_t begin, std::int64_t end, const Message& message) {
    add(rank, of_message(message), end - begin);
  }

  std::vector<IdleCause> of(int rank) const {
    std::vector<IdleCause> all;
    const auto found = sums_.find(rank);
    if (found == sums_.end()) return all;
    for (const auto& [key, cause] : found->second) all.push_back(cause);
    std::stable_sort(all.begin(), all.end(),
                     [](const IdleCause& a, const IdleCause& b) { return a.ns > b.ns; });
    return all;
  }

 private:
  void add(int rank, IdleCause cause, std::int64_t ns) {
    IdleCause& sum = sums_[rank][{cause.what, cause.name, cause.from}];
    cause.ns = sum.ns + ns;
    sum = std::move(cause);
  }

  /// Returns the part of the gap in which ready tasks were bound to other workers.
  std::int64_t add_bound(int rank, std::int64_t begin, std::int64_t end) {
    const auto load = loads_.find(rank);
    if (load == loads_.end()) return 0;
    const auto& times = load->second.bound_times;
    auto at = std::partition_point(times.begin(), times.end(),
                                   [begin](const Waiting& one) { return one.end <= begin; });
    std::int64_t sum = 0;
    std::int64_t until = begin;  // several workers may have such tasks at a time
    for (; at != times.end() && at->begin < end; ++at) {
      const std::int64_t from = std::max(at->begin, until);
      until = std::max(until, std::min(at->end, end));
      if (until <= from) continue;
      add(rank, {IdleCause::What::bound, std::to_string(at->worker), rank, 0}, until - from);
      sum += until - from;
    }
    return sum;
  }

  [[nodiscard]] IdleCause of_message(const Message& message) const {
    // People know the task that sent it rather than the handler.
    const bool by_task = message.sender.what == Cause::What::task;
    const NameId name = by_task ? model_.tasks[message.sender.index].name : message.name;
    return {IdleCause::What::message, model_.input().name(name), message.from, 0};
  }

  static IdleCause no_more_work() { return {IdleCause::What::no_more_work, "", -1, 0}; }

  [[nodiscard]] IdleCause cause_of(const Segment& next, std::int64_t gap_begin) const {
    const Task& task = model_.tasks[next.task];
    if (next.ready != kNever && next.ready <= gap_begin) {
      return {IdleCause::What::not_taken, model_.name_of(task), -1, 0};
    }
    if (2 * insertion_wait(model_, gap_begin, next) > next.begin - gap_begin) {
      return {IdleCause::What::insertion, model_.name_of(model_.tasks[task.maker]), -1, 0};
    }
    if (next.cause.what == Cause::What::unknown && model_.is_main(task)) return of_main(next);
    if (next.cause.what == Cause::What::message) {
      return of_message(model_.messages[next.cause.index]);
    }
    if (next.cause.what == Cause::What::release) {
      const Message& message = model_.messages[next.cause.index];
      return {IdleCause::What::message, "the end of its own send", message.to, 0};
    }
    if (next.cause.what == Cause::What::task) {
      const Task& other = model_.tasks[next.cause.index];
      return {IdleCause::What::task, model_.name_of(other), model_.rank_of(other.track), 0};
    }
    return {};
  }

  /// It began, or completion detection woke it.
  [[nodiscard]] IdleCause of_main(const Segment& next) const {
    if (next.previous_of_task == kNone) return {IdleCause::What::start_up, "", -1, 0};
    const std::uint32_t last = model_.awaited_by(next);
    if (last == kNone) return of_last_handler(next);
    const Segment& awaited = model_.segments[last];
    return {IdleCause::What::others, model_.name_of(model_.tasks[awaited.task]),
            model_.rank_of(awaited.track), 0};
  }

  /// All that it waited for was in handlers, on any rank.
  [[nodiscard]] IdleCause of_last_handler(const Segment& next) const {
    const std::int64_t parked = model_.segments[next.previous_of_task].end;
    const std::int64_t until = next.ready != kNever ? next.ready : next.begin;
    IdleCause cause;
    std::int64_t latest = parked;
    for (std::uint32_t track = 0; track < model_.busy.size(); ++track) {
      const auto& all = model_.busy[track];
      const auto after = std::partition_point(
          all.begin(), all.end(), [until](const Stretch& one) { return one.end <= until; });
      if (after == all.begin()) continue;
      const Stretch& one = *(after - 1);
      if (!one.is_handler || one.end <= latest) continue;
      latest = one.end;
      cause = {IdleCause::What::others, model_.input().name(model_.name_of(one)),
               model_.rank_of(track), 0};
    }
    return cause;
  }

  using Key = std::tuple<IdleCause::What, std::string, int>;
  const Model& model_;
  const std::map<int, RankLoad>& loads_;
  std::map<int, std::map<Key, IdleCause>> sums_;
};

}  // namespace

std::vector<NameStatistics> name_statistics(const Model& model) {
  std::map<NameId, NameStatistics> by_name;
  std::map<NameId, std::vector<std::int64_t>> durations;
  std::map<std::pair<NameId, int>, std::vector<std::int64_t>> on_ranks;
  for (const Task& task : model.tasks) {
    if (task.start == kNever) continue;
    NameStatistics& sum = by_name[task.name];
    sum.least = sum.count == 0 ? task.busy : std::min(sum.least, task.busy);
    sum.most = std::max(sum.most, task.busy);
    ++sum.count;
    sum.total += task.busy;
    if (task.ready != kNever) sum.ready_wait += std::max<std::int64_t>(task.start - task.ready, 0);
    ++sum.histogram.at(bucket_of(task.busy));
    const int rank = model.rank_of(task.track);
    NameStatistics::OnRank& here = sum.by_rank[rank];
    ++here.count;
    here.total += task.busy;
    durations[task.name].push_back(task.busy);
    on_ranks[{task.name, rank}].push_back(task.busy);
  }
  std::vector<NameStatistics> all;
  for (auto& [id, sum] : by_name) {
    auto& of_name = durations[id];
    const auto middle = of_name.begin() + static_cast<std::ptrdiff_t>(of_name.size() / 2);
    std::nth_element(of_name.begin(), middle, of_name.end());
    sum.median = *middle;
    const auto last = of_name.end() - 1 - static_cast<std::ptrdiff_t>(of_name.size() / 100);
    std::nth_element(middle, last, of_name.end());
    sum.total_without_turns = sum.total;
    for (auto longer = last + 1; longer != of_name.end(); ++longer) {
      sum.total_without_turns -= *longer - *last;
    }
    sum.name = quoted(model.input().name(id));
    for (auto& [rank, here] : sum.by_rank) {
      auto& some = on_ranks[{id, rank}];
      const auto half = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
      std::nth_element(some.begin(), half, some.end());
      here.median = *half;
      here.least = *std::min_element(some.begin(), half + 1);
      const auto high = some.end() - 1 - static_cast<std::ptrdiff_t>(some.size() / 10);
      std::nth_element(half, high, some.end());
      here.high = *high;
    }
    all.push_back(std::move(sum));
  }
  std::stable_sort(all.begin(), all.end(), [](const NameStatistics& a, const NameStatistics& b) {
    return a.total > b.total;
  });
  return all;
}

std::map<std::pair<int, int>, PairStatistics> pair_statistics(const Model& model) {
  std::map<std::pair<int, int>, PairStatistics> all;
  for (const Message& message : model.messages) {
    if (message.from < 0 || message.to < 0) continue;
    PairStatistics& pair = all[{message.from, message.to}];
    ++pair.count;
    pair.bytes += message.size_bytes;
    const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
    if (message.sent == kNever || arrived == kNever) continue;
    pair.latency += arrived - message.sent;
    ++pair.with_both_ends;
  }
  return all;
}

std::int64_t insertion_wait(const Model& model, std::int64_t idle_since, const Segment& next) {
  constexpr std::uint32_t kMany = 20;         // tasks that one has made
  constexpr std::int64_t kAtOnceNs = 20'000;  // such a task was ready when it was made
  const Task& task = model.tasks[next.task];
  if (next.previous_of_task != kNone || task.maker == kNone || task.created == kNever) return 0;
  const Task& maker = model.tasks[task.maker];
  if (maker.made < kMany || task.ready == kNever || task.ready - task.created > kAtOnceNs) return 0;
  return std::max<std::int64_t>(task.created - std::max(idle_since, task.maker_since), 0);
}

namespace {

/// The last stretch of a track that began before `time`; nullptr: there is none.
const Stretch* last_before(const std::vector<Stretch>& of_track, std::int64_t time) {
  const auto after = std::partition_point(of_track.begin(), of_track.end(),
                                          [time](const Stretch& one) { return one.begin < time; });
  return after == of_track.begin() ? nullptr : &*(after - 1);
}

}  // namespace

std::int64_t busy_within(const std::vector<Stretch>& of_track, std::int64_t begin,
                         std::int64_t end) {
  std::int64_t sum = 0;
  auto at = std::partition_point(of_track.begin(), of_track.end(),
                                 [begin](const Stretch& one) { return one.end <= begin; });
  for (; at != of_track.end() && at->begin < end; ++at) {
    sum += std::min(at->end, end) - std::max(at->begin, begin);
  }
  return sum;
}

// The track that took the message was busy until it did, with one stretch after the other, and the
// other workers of the rank were, too: one that is idle looks.
Blocked blocked_before(const Model& model, const Message& message) {
  constexpr std::int64_t kNextToNs = 5'000;  // a worker does not look between all tasks
  const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
  if (message.sent == kNever || arrived == kNever || message.to_track == kNone) return {};
  const auto& here = model.busy[message.to_track];
  const Stretch* one = last_before(here, arrived);
  const bool is_within = one != nullptr && !one->is_handler && one->end > arrived;
  if (is_within) return {};  // taken in the midst of a task: it looks
  if (one != nullptr && one->end > arrived && one != here.data()) --one;  // its own handler
  if (one == nullptr || one->end <= message.sent) return {};
  const std::int64_t next_to_ns = std::max(kNextToNs, (one->end - one->begin) / 10);
  if (arrived - one->end > next_to_ns) return {};
  Blocked found{std::max(one->begin, message.sent), *one};
  for (; one != here.data() && one->begin > message.sent; --one) {
    const Stretch& before = *(one - 1);
    if (one->begin - before.end > kNextToNs) break;
    found.busy_since = std::max(before.begin, message.sent);
    if (before.end - before.begin > found.by.end - found.by.begin) found.by = before;
  }
  const int rank = model.rank_of(message.to_track);
  const std::int64_t whole = arrived - found.busy_since;
  for (std::uint32_t track = 0; track < model.usage.size(); ++track) {
    if (track == message.to_track || model.rank_of(track) != rank) continue;
    if (!is_worker(model, track)) continue;
    if (4 * busy_within(model.busy[track], found.busy_since, arrived) < 3 * whole) return {};
  }
  return found;
}

void join(std::vector<Stretch>& all) {
  std::sort(all.begin(), all.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Stretch& one : all) {
    if (kept > 0 && one.begin <= all[kept - 1].end) {
      all[kept - 1].end = std::max(all[kept - 1].end, one.end);
    } else {
      all[kept++] = one;
    }
  }
  all.resize(kept);
}

std::vector<RankUsage> rank_usage(const Model& model, const std::map<int, RankLoad>& loads) {
  const bool knows_gaps = model.knows_idleness();
  constexpr std::int64_t kShortestGapNs = 500;  // what lies between tasks in any case
  std::map<int, RankUsage> by_rank;
  IdleTimes idle(model, loads);
  for (std::uint32_t track = 0; track < model.usage.size(); ++track) {
    const Usage& usage = model.usage[track];
    if (!is_worker(model, track)) continue;
    const int rank = model.rank_of(track);
    RankUsage& sum = by_rank[rank];
    sum.rank = rank;
    ++sum.workers;
    sum.sum.tasks += usage.tasks;
    sum.sum.handlers += usage.handlers;
    sum.sum.asleep += usage.asleep;
    sum.sum.other += usage.other;
    sum.sum.task_count += usage.task_count;
    std::int64_t free_since = 0;
    const auto gap = [&](std::int64_t end, const Stretch* next) {
      if (end - free_since < kShortestGapNs || !knows_gaps) return;
      if (next == nullptr && model.has_losses()) return;  // it may have gone on
      sum.idle_ns += end - free_since;
      if (next == nullptr) return idle.add_gap(rank, free_since, end, nullptr);
      if (!next->is_handler) {
        return idle.add_gap(rank, free_since, end, &model.segments[next->index]);
      }
      const std::uint64_t message = model.intervals[next->index].value;
      if (message < model.messages.size()) {
        idle.add_gap_before(rank, free_since, end, model.messages[message]);
      }
    };
    for (const Stretch& stretch : model.busy[track]) {
      gap(stretch.begin, &stretch);
      free_since = stretch.end;
    }
    gap(model.duration, nullptr);
  }
  for (const Interval& interval : model.intervals) {
    if (interval.what != Interval::What::window) continue;
    const auto rank = by_rank.find(model.rank_of(interval.track));
    if (rank != by_rank.end()) rank->second.full.push_back({interval.begin, interval.end});
  }
  for (auto& [rank, sum] : by_rank) {
    join(sum.full);
    for (const Stretch& one : sum.full) sum.window_full += one.end - one.begin;
  }
  std::vector<RankUsage> all;
  for (auto& [rank, sum] : by_rank) {
    sum.idle = idle.of(rank);
    all.push_back(std::move(sum));
  }
  return all;
}

Analysis analyse(const Model& model) {
  Analysis all;
  all.duration = model.duration;
  all.names = name_statistics(model);
  all.loads = loads_of(model);
  all.ranks = rank_usage(model, all.loads);
  all.pairs = pair_statistics(model);
  all.latencies = latencies(model);
  all.iterations = iterations(model);
  if (model.has(Category::task)) all.path = critical_path(model);
  all.path_shares = path_shares(model, all.path);
  all.chains = chains_of(model);
  all.bounds = bounds_of(all);
  Remarks remarks = remarks_on(model, all);
  all.hints = std::move(remarks.hints);
  all.notes = std::move(remarks.notes);
  return all;
}

namespace {

/// Shares of the path of one kind and name, over ranks.
struct PathGroup {
  PathStep::What what = PathStep::What::task;
  std::string name;
  std::int64_t ns = 0;
  std::vector<const PathShare*> shares;  // largest first
};

std::vector<PathGroup> groups_of(const Analysis& analysis) {
  std::map<std::pair<PathStep::What, std::string>, PathGroup> groups;
  for (const PathShare& share : analysis.path_shares) {
    // Messages are one group, whatever their handler.
    const bool is_message = share.what == PathStep::What::message;
    PathGroup& group = groups[{share.what, is_message ? "" : share.name}];
    group.what = share.what;
    group.name = quoted(share.name);
    group.ns += share.ns;
    group.shares.push_back(&share);
  }
  std::vector<PathGroup> all;
  all.reserve(groups.size());
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

std::string place_of(const PathGroup& group) {
  return group.shares.size() == 1 ? fmt::format(" on rank {}", group.shares[0]->rank)
                                  : fmt::format(" on {} ranks", group.shares.size());
}

std::string text_of(const PathGroup& group) {
  switch (group.what) {
    case PathStep::What::task:
      return group.name + place_of(group);
    case PathStep::What::message:
      return "messages";
    case PathStep::What::start:
      return fmt::format("waits of {} to be started{}", group.name, place_of(group));
    case PathStep::What::parked:
      return fmt::format("{} parked{}", group.name, place_of(group));
    case PathStep::What::begin:
      if (group.shares[0]->name.empty()) return "before the first task";
      return fmt::format("before {}, which waited for no known task", group.name);
    case PathStep::What::blocked:
      return fmt::format("progress blocked by {}{}", group.name, place_of(group));
  }
  return "";
}

}  // namespace

std::string path_text(const Analysis& analysis) {
  if (analysis.path.empty()) return "no tasks were recorded, so there is no critical path";
  constexpr std::size_t kPartsMax = 4;
  constexpr double kMost = 0.5;  // of a name's share: then the rank is named
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (PathGroup& group : groups_of(analysis)) {
    const PathShare* const first = group.shares[0];
    const bool is_one_rank = first->rank >= 0 && group.shares.size() > 1 &&
                             static_cast<double>(first->ns) > kMost * static_cast<double>(group.ns);
    if (is_one_rank) {
      parts.emplace_back(first->ns, text_of({group.what, group.name, first->ns, {first}}));
      group.shares.erase(group.shares.begin());
      group.ns -= first->ns;
      if (group.shares.size() > 1) group.name += " elsewhere";
    }
    parts.emplace_back(group.ns, text_of(group));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (parts.size() > kPartsMax) parts.resize(kPartsMax);
  std::string text = fmt::format("of {}", time_text(static_cast<double>(analysis.duration)));
  for (const auto& [ns, what] : parts) {
    text += fmt::format(", {} are {}", time_text(static_cast<double>(ns)), what);
  }
  return text;
}

namespace {

std::string text_of(const IdleCause& cause) {
  switch (cause.what) {
    case IdleCause::What::message:
      return fmt::format("for {} from rank {}", quoted(cause.name), cause.from);
    case IdleCause::What::task:
      return fmt::format("for {} of the rank itself", quoted(cause.name));
    case IdleCause::What::not_taken:
      return fmt::format("although {} was ready", quoted(cause.name));
    case IdleCause::What::no_more_work:
      return "because nothing was left to do";
    case IdleCause::What::start_up:
      return "while the program started";
    case IdleCause::What::others:
      return fmt::format(
          "for the end of all tasks and handlers, the last of which was {} on rank {}",
          quoted(cause.name), cause.from);
    case IdleCause::What::bound:
      return fmt::format("although tasks were ready, bound to worker {}", cause.name);
    case IdleCause::What::insertion:
      return fmt::format("until {} had made the next task", quoted(cause.name));
    case IdleCause::What::unknown:
      return "for a reason that was not recorded";
  }
  return "";
}

/// Part of the time of its workers in which they had no task.
double idle_share(const Analysis& analysis, const RankUsage& rank) {
  return static_cast<double>(rank.idle_ns) /
         std::max(1.0, static_cast<double>(analysis.duration) * rank.workers);
}

}  // namespace

std::string idle_line(const Analysis& analysis, const RankUsage& rank) {
  const double whole = static_cast<double>(analysis.duration) * rank.workers;
  std::string line = fmt::format("rank {} waited {} of the run, most {} ({})", rank.rank,
                                 share_text(idle_share(analysis, rank), 1), text_of(rank.idle[0]),
                                 share_text(static_cast<double>(rank.idle[0].ns), whole));
  if (rank.idle.size() > 1) {
    line += fmt::format(", then {} ({})", text_of(rank.idle[1]),
                        share_text(static_cast<double>(rank.idle[1].ns), whole));
  }
  return line;
}

std::vector<std::string> idle_lines(const Analysis& analysis) {
  constexpr double kWorthTelling = 0.02;
  constexpr std::size_t kLinesMax = 8;
  std::vector<const RankUsage*> told;
  for (const RankUsage& rank : analysis.ranks) {
    if (!rank.idle.empty() && idle_share(analysis, rank) >= kWorthTelling) told.push_back(&rank);
  }
  std::size_t left_out = 0;
  if (told.size() > kLinesMax) {  // those that waited most
    std::stable_sort(told.begin(), told.end(), [&](const RankUsage* a, const RankUsage* b) {
      return idle_share(analysis, *a) > idle_share(analysis, *b);
    });
    left_out = told.size() - kLinesMax;
    told.resize(kLinesMax);
  }
  std::vector<std::string> lines;
  lines.reserve(told.size() + 1);
  for (const RankUsage* const rank : told) lines.push_back(idle_line(analysis, *rank));
  if (left_out > 0) {
    lines.push_back(fmt::format("{} more ranks waited less than these, but at least {} of the run",
                                left_out, share_text(kWorthTelling, 1)));
  }
  return lines;
}

std::string attempts_text(const Model& model) {
  constexpr std::size_t kNamesMax = 8;
  std::map<std::string, std::uint64_t> counts;
  for (const Park& park : model.parks) {
    if (model.input().name(park.reason) != trace::kFailedAttempt) continue;
    ++counts[model.input().name(model.tasks[park.task].name)];
  }
  std::vector<std::pair<std::string, std::uint64_t>> most(counts.begin(), counts.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most.size(), kNamesMax); ++i) {
    const auto& [name, count] = most[i];
    text += fmt::format("{}{} of {}", i == 0 ? "failed attempts: " : ", ", count, quoted(name));
  }
  if (most.size() > kNamesMax) {
    text += fmt::format(", and those of {} more names", most.size() - kNamesMax);
  }
  return text;
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
  bounds.chain = std::min(analysis.chains.longest, analysis.duration);
  bounds.serial = std::min(analysis.chains.serial, analysis.duration);
  return bounds;
}

}  // namespace shoal::trace_tool

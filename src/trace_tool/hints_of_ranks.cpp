// Hints about work that is not even over the ranks, and about the order of tasks.

#include "trace_tool/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace shoal::trace_tool {

namespace {

/// A quantity of the tasks of a name on the ranks: that of the usual rank.
double usual_of(const NameStatistics& name, std::int64_t NameStatistics::OnRank::*part) {
  std::vector<std::int64_t> all;
  all.reserve(name.by_rank.size());
  for (const auto& [rank, here] : name.by_rank) all.push_back(here.*part);
  return number(lower_median(std::move(all)));
}

/// Tasks of the name are longer on the rank, the short and the long ones as well: ranks may have
/// more of those that do more. A processor that was held for a moment makes few tasks long, perhaps
/// on the other ranks only.
bool is_slower(const NameStatistics& name, const NameStatistics::OnRank& here, double times) {
  using OnRank = NameStatistics::OnRank;
  for (std::int64_t OnRank::*part : {&OnRank::least, &OnRank::median, &OnRank::high}) {
    if (number(here.*part) < times * usual_of(name, part)) return false;
  }
  return true;
}

/// Tasks of every name take longer on a rank: those of one name may do more there.
bool slow_ranks(Advice& advice) {
  constexpr double kSlower = 1.4;
  constexpr double kNoFaster = 1.2;
  constexpr std::uint64_t kFew = 3;
  struct Worst {
    double lost = 0;
    std::string name;
    std::string text;
  };
  std::map<int, Worst> worst;  // by rank
  std::set<int> others;        // with names that are not slow
  for (const NameStatistics& name : advice.analysis.names) {
    if (name.by_rank.size() < 2 || name.name == kMainName) continue;
    const double usual = usual_of(name, &NameStatistics::OnRank::median);
    for (const auto& [rank, here] : name.by_rank) {
      if (here.count < kFew || here.median == 0) continue;
      const double lost = (number(here.median) - usual) * number(here.count);
      if (!is_slower(name, here, kNoFaster)) others.insert(rank);
      if (!is_slower(name, here, kSlower) || lost <= worst[rank].lost) continue;
      worst[rank] = {
          lost, name.name,
          fmt::format("rank {} is slow: '{}' takes {} there, and {} on the "
                      "others (medians). If its tasks do no more than those of the "
                      "others, look at the clock of its cores, and the placement of "
                      "its memory",
                      rank, name.name, time_text(number(here.median)), time_text(usual))};
    }
  }
  bool any = false;
  for (const auto& [rank, found] : worst) {
    if (others.contains(rank)) continue;
    const auto load = advice.analysis.loads.find(rank);
    const int workers = load == advice.analysis.loads.end() ? 1 : std::max(load->second.workers, 1);
    const double cost = found.lost / workers / advice.duration();
    if (cost >= kNoticeable)
      any = advice.add_timed(kNoticeable, {"slow-rank", cost, found.name, rank}, found.text) || any;
  }
  return any;
}

/// Few tasks that take much longer than nine tenths of their name, and that others waited for. (The
/// longest of the others may have waited for a processor.) On a virtual machine the hint needs
/// several: its host may have held the processor of one, or of a fifth of them.
void outliers(Advice& advice) {
  constexpr std::size_t kEnough = 8;
  constexpr std::size_t kUsual = 10;
  constexpr std::size_t kShare = 20;
  constexpr double kLonger = 3;
  std::map<NameId, std::vector<std::uint32_t>> of_name;
  for (std::uint32_t i = 0; i < advice.model.tasks.size(); ++i) {
    const Task& task = advice.model.tasks[i];
    if (task.end != kNever && !advice.model.is_main(task)) of_name[task.name].push_back(i);
  }
  std::map<std::uint32_t, std::int64_t> on_path;
  for (const PathStep& step : advice.analysis.path) {
    if (step.what == PathStep::What::task) {
      on_path[advice.model.segments[step.index].task] += step.end - step.begin;
    }
  }
  for (auto& [name, all] : of_name) {
    if (all.size() < kEnough) continue;
    std::stable_sort(all.begin(), all.end(), [&advice](std::uint32_t a, std::uint32_t b) {
      return advice.model.tasks[a].busy > advice.model.tasks[b].busy;
    });
    const auto busy = [&](std::size_t i) { return number(advice.model.tasks[all[i]].busy); };
    const double usual = busy(std::max<std::size_t>(1, all.size() / kUsual));
    std::vector<double> costs;
    std::size_t count = 0;
    while (busy(count) >= kLonger * usual && count < all.size() / kUsual + 1) {
      const auto part = on_path.find(all[count]);
      if (part != on_path.end()) {
        costs.push_back(std::max(0.0, number(part->second) - usual));
      }
      ++count;
    }
    if (count > std::max<std::size_t>(1, all.size() / kShare)) continue;
    const double lost = std::accumulate(costs.begin(), costs.end(), 0.0);
    if (lost < kNoticeable * advice.duration()) continue;
    const Task& worst = advice.model.tasks[all.front()];
    const auto key = advice.model.keys.find(worst.id);
    std::string text = fmt::format(
        "{} of {} tasks '{}' take much longer than the others, and the run "
        "waits for them: that of {} on rank {} takes {}, nine tenths of them {} at most",
        count, all.size(), advice.model.input().name(name),
        key == advice.model.keys.end() ? "time " + time_text(number(worst.start))
                                       : "key " + key->second,
        advice.model.rank_of(worst.track), time_text(number(worst.busy)), time_text(usual));
    advice.add_timed(kNoticeable,
                     {"outlier", lost / advice.duration(), advice.model.input().name(name),
                      advice.model.rank_of(worst.track)},
                     std::move(text), {advice.held_of(costs, 1)});
  }
}

/// Name of the tasks that most of a rank's time is spent on.
std::string name_of_work(const Advice& advice, int rank) {
  Sums sums;
  for (const Segment& segment : advice.model.segments) {
    if (advice.model.rank_of(segment.track) != rank) continue;
    sums[advice.model.tasks[segment.task].name] += segment.end - segment.begin;
  }
  return advice.largest(sums);
}

/// Tasks wait on one rank, while others have nothing to do.
void overloaded_rank(Advice& advice) {
  if (advice.analysis.loads.size() < 2) return;
  double sum = 0;
  double most = 0;
  int rank = 0;
  int workers = 0;
  for (const auto& [of_rank, load] : advice.analysis.loads) {
    const double busy = number(load.busy) / load.workers;
    sum += busy;
    workers += load.workers;
    if (busy <= most) continue;
    most = busy;
    rank = of_rank;
  }
  const double mean = sum / number(advice.analysis.loads.size());
  const RankLoad& load = advice.analysis.loads.at(rank);
  constexpr double kMuch = 0.15;
  const double idle = number(load.others_idle) / (advice.duration() * (workers - load.workers));
  const double cost = std::min((most - mean) / advice.duration(), idle);
  if (cost < kMuch || most < 1.25 * mean) return;
  advice.add_timed(
      kMuch, {"overloaded-rank", cost, name_of_work(advice, rank), rank},
      fmt::format("rank {} has more work than the others: its workers are busy for {}, "
                  "those of all ranks for {} on average, and while its tasks waited, the "
                  "others had nothing to do for {} of their time. Distribute the work "
                  "differently",
                  rank, time_text(most), time_text(mean), share_text(idle, 1)));
}

/// Time that tasks of a name have waited behind others on which less depends.
struct Lost {
  std::int64_t ns = 0;
  std::uint64_t count = 0;
  std::map<NameId, std::int64_t> behind;
};

std::uint32_t first_segment_of(const Model& model, std::uint32_t task) {
  std::uint32_t first = model.tasks[task].last_segment;
  while (first != kNone && model.segments[first].previous_of_task != kNone) {
    first = model.segments[first].previous_of_task;
  }
  return first;
}

/// The task that a task needs and that ended last; kNone: it needs none.
std::uint32_t last_needed(const Model& model, std::uint32_t task) {
  std::uint32_t last = kNone;
  for (const Cause& need : model.needs_of(task)) {
    const std::uint32_t source = model.source_of(need);
    if (source == kNone || model.tasks[source].end == kNever) continue;
    if (last == kNone || model.tasks[source].end > model.tasks[last].end) last = source;
  }
  return last;
}

/// Adds the others that ran where a task started although it was ready and has more behind it.
void add_lost(const Advice& advice, std::uint32_t index, std::map<NameId, Lost>& lost) {
  constexpr int kLookBack = 1000;  // a long queue of ready tasks makes this no slower
  const Model& model = advice.model;
  const std::vector<std::int64_t>& chain = advice.analysis.chains.of_tasks;
  const Task& task = model.tasks[index];
  const std::uint32_t first = first_segment_of(model, index);
  if (first == kNone || task.ready == kNever) return;
  std::uint32_t other = model.segments[first].previous_on_track;
  for (int i = 0; other != kNone && i < kLookBack;
       other = model.segments[other].previous_on_track, ++i) {
    const Segment& ran = model.segments[other];
    if (ran.begin < task.ready) break;
    const Task& before = model.tasks[ran.task];
    const bool matters_less = 2 * chain[ran.task] < chain[index];
    if (!matters_less || before.name == task.name || before.priority > task.priority) continue;
    Lost& sum = lost[task.name];
    sum.ns += ran.end - ran.begin;
    sum.behind[before.name] += ran.end - ran.begin;
    ++sum.count;
  }
}

// Of a task that waited for its worker for a moment, the path goes on with the one before it there:
// what the task needs has waited as well.
void missing_priority(Advice& advice) {
  std::map<NameId, Lost> lost;
  std::vector<bool> seen(advice.model.tasks.size());
  for (const PathStep& step : advice.analysis.path) {
    if (step.what != PathStep::What::task) continue;
    std::uint32_t task = advice.model.segments[step.index].task;
    for (; task != kNone && !seen[task]; task = last_needed(advice.model, task)) {
      seen[task] = true;
      add_lost(advice, task, lost);
    }
  }
  // Workers that always have something to do gain nothing by another order.
  const double idle =
      advice.duration() - number(advice.sum_of_busy()) * advice.duration() / advice.worker_time();
  for (const auto& [name, sum] : lost) {
    const double cost = std::min(number(sum.ns), idle) / advice.duration();
    if (cost < kNoticeable) continue;
    const auto most =
        std::max_element(sum.behind.begin(), sum.behind.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    advice.add_timed(
        kNoticeable, {"missing-priority", cost, advice.model.input().name(name), -1},
        fmt::format("tasks '{}' are on the critical path, and waited {} in all while workers ran "
                    "'{}', on which less depends: give '{}' a higher priority",
                    advice.model.input().name(name), time_text(static_cast<double>(sum.ns)),
                    advice.model.input().name(most->first), advice.model.input().name(name)));
  }
}

}  // namespace

void add_rank_hints(Advice& advice) {
  const bool is_slow = slow_ranks(advice);
  outliers(advice);
  if (!advice.knows_idleness()) return;
  if (!is_slow) overloaded_rank(advice);
  missing_priority(advice);
}

}  // namespace shoal::trace_tool

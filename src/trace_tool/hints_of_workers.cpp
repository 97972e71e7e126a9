// Hints about the workers of a rank: overhead of tasks, processors, tasks that only one worker may
// run, locks, waits, work in handlers, memory.

#include "trace_tool/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace shoal::trace_tool {

namespace {

/// Overhead of tasks that costs so much is worth a hint. It is compared with the work that it
/// serves: the start of a short run, and workers that take turns on a processor, would hide it.
bool is_much_overhead(const Advice& advice, double cost) {
  double measured = 0;
  double work = 0;
  for (const NameStatistics& name : advice.analysis.names) {
    measured += static_cast<double>(name.total);
    work += static_cast<double>(name.total_without_turns);
  }
  const double with_turns = measured > 0 ? work / measured : 1;  // the rest went to others
  return cost >= kNoticeable * (work + cost) &&
         cost >= kNegligible * with_turns * advice.worker_time();
}

/// Times between a task and the next one on its worker, where that one was ready already.
struct Gaps {
  std::int64_t median = -1;                    // the price of a task; -1: there are few
  std::map<std::string, std::int64_t> before;  // sums, by the name of the next task
};

Gaps gaps(const Advice& advice) {
  std::map<NameId, std::int64_t> sums;
  std::vector<std::int64_t> all;
  for (const Segment& segment : advice.model.segments) {
    const Task& task = advice.model.tasks[segment.task];
    if (segment.previous_on_track == kNone || segment.previous_of_task != kNone) continue;
    const std::int64_t before = advice.model.segments[segment.previous_on_track].end;
    if (task.ready == kNever || task.ready > before) continue;
    all.push_back(segment.begin - before);
    sums[task.name] += segment.begin - before;
  }
  Gaps result;
  for (const auto& [name, sum] : sums) result.before[advice.model.input().name(name)] += sum;
  constexpr std::size_t kEnough = 100;
  if (all.size() < kEnough) return result;
  result.median = upper_median(std::move(all));
  return result;
}

/// Median time that it takes to make a task, where a program makes several in a row; else 0.
std::int64_t creation(const Advice& advice) {
  constexpr std::size_t kEnough = 100;
  const std::vector<std::int64_t>& all = advice.model.creations;
  if (all.size() < kEnough) return 0;
  const std::int64_t median = upper_median(all);
  constexpr std::int64_t kOverheadNs = 10'000;  // a program that computes in between takes longer
  return median <= kOverheadNs ? median : 0;
}

/// Transfers of flows, by the names that FlowTask::write_family() gives them: a program decides
/// about their data only.
bool is_transfer(std::string_view name) {
  return name.starts_with("sending ") || name.starts_with("receiving ");
}

void short_tasks(Advice& advice) {
  const Gaps between = gaps(advice);
  if (between.median <= 0) return;
  const std::int64_t overhead = between.median + creation(advice);
  constexpr std::int64_t kTimes = 20;  // then the overhead is no longer noticeable
  for (const NameStatistics& name : advice.analysis.names) {
    const auto sum = between.before.find(name.name);
    const double lost = sum == between.before.end() ? 0 : static_cast<double>(sum->second);
    const double cost =
        std::max(lost, static_cast<double>(overhead) * static_cast<double>(name.count));
    if (name.median >= kTimes * overhead || !is_much_overhead(advice, cost)) continue;
    const std::string remedy =
        is_transfer(name.name)
            ? "use fewer and larger data"
            : "let a task do more, at least " + time_text(static_cast<double>(kTimes * overhead));
    advice.add({"short-tasks", cost / advice.worker_time(), name.name, -1},
               fmt::format("{} tasks '{}' take {} each (median), and their overhead is {} each: {}",
                           name.count, name.name, time_text(static_cast<double>(name.median)),
                           time_text(static_cast<double>(overhead)), remedy));
  }
}

/// Workers that want more processors than there are, as far as the trace has their times: they may
/// sleep as well.
bool takes_turns(const Advice& advice) {
  constexpr double kPressure = 0.7;
  return advice.disturbance.is_known && advice.disturbance.share >= kNoticeable &&
         advice.disturbance.pressure >= kPressure;
}

bool is_busy(const Advice& advice) {
  constexpr double kMost = 0.7;
  return static_cast<double>(advice.sum_of_busy()) >= kMost * advice.worker_time();
}

/// Masks that leave processors unused, and workers that share one.
void placement(Advice& advice) {
  for (const auto& [host, shape] : hosts_of(advice.model)) {
    if (shape.allowed == 0) continue;
    const std::string name = host.empty() ? "the node" : host;
    const bool is_crowded = shape.workers > shape.allowed;
    const bool is_narrow = shape.processors > shape.allowed;
    if (is_narrow && (is_crowded ? takes_turns(advice) : is_busy(advice))) {
      advice.add(
          {"narrow-mask", 1.0 - number(shape.allowed) / shape.processors, "", -1},
          fmt::format("the mask of the processes leaves {} of the {} processors of {} to {} "
                      "worker{}: look at taskset, at the cpuset, and at how the launcher binds "
                      "processes (mpirun --bind-to none, srun --cpu-bind=none)",
                      shape.allowed, shape.processors, name, shape.workers,
                      shape.workers == 1 ? "" : "s"));
    } else if (is_crowded && takes_turns(advice)) {
      advice.add(
          {"more-workers-than-cores", advice.disturbance.share, "", -1},
          fmt::format("{} workers ran on {} processors of {}: they took turns. Start fewer ranks "
                      "there, or give --workers",
                      shape.workers, shape.allowed, name));
    }
  }
}

/// Programs of Python cannot leave tasks unbound: from Python 3.12 on none moves.
bool is_of_python(const Model& model) {
  return std::any_of(model.places.begin(), model.places.end(), [](const auto& of_name) {
    return of_name.second.front().find(".py:") != std::string::npos;
  });
}

/// Time by which tasks on a worker took longer than others of their names on the rank, as far as
/// the host of a virtual machine may have held its processor meanwhile.
std::int64_t held_on(const Advice& advice, int rank, int worker) {
  if (!advice.disturbance.may_be_held) return 0;
  const Model& model = advice.model;
  std::map<NameId, std::vector<std::int64_t>> times;
  for (const Segment& one : model.segments) {
    if (model.rank_of(one.track) != rank) continue;
    times[model.tasks[one.task].name].push_back(one.end - one.begin);
  }
  std::map<NameId, std::int64_t> usual;
  for (auto& [name, all] : times) usual[name] = upper_median(std::move(all));
  std::vector<double> longer;
  for (const Segment& one : model.segments) {
    if (model.rank_of(one.track) != rank || model.input().track(one.track).worker != worker) {
      continue;
    }
    const std::int64_t more = one.end - one.begin - usual[model.tasks[one.task].name];
    longer.push_back(number(std::max<std::int64_t>(more, 0)));
  }
  return advice.held_of(std::move(longer), 1);
}

/// Time by which the thread of a worker began after the first one of its rank: other workers have
/// nothing to do for as long at the end, if all have the same work.
std::int64_t late_by(const RankLoad& load, int worker) {
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto first = std::min_element(load.began.begin(), load.began.end(), by_time);
  const auto own = load.began.find(worker);
  return own == load.began.end() ? 0 : own->second - first->second;
}

void bound_tasks(Advice& advice) {
  constexpr double kMuch = 0.1;
  const bool by_python = is_of_python(advice.model);
  for (const auto& [rank, load] : advice.analysis.loads) {
    for (const auto& [worker, all_ns] : load.bound) {
      const std::int64_t ns = all_ns - late_by(load, worker) * (load.workers - 1);
      const double share = number(ns) / (advice.duration() * load.workers);
      if (share < kMuch) continue;
      const auto names = load.bound_names.find(worker);
      if (names == load.bound_names.end()) continue;
      const auto most =
          std::max_element(names->second.begin(), names->second.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      advice.add_timed(
          kMuch,
          {by_python ? "bound-by-python" : "bound-to-one-worker", share,
           advice.model.input().name(most->first), rank},
          fmt::format("tasks '{}' are bound to worker {} of rank {}: while they waited for "
                      "it, other workers of the rank had nothing to do for {} of their "
                      "time. {}",
                      advice.model.input().name(most->first), worker, rank, share_text(share, 1),
                      by_python ? "Make more and shorter tasks, or start more ranks with fewer "
                                  "workers each: Python 3.12 and newer moves no task"
                                : "Leave tasks unbound, or spread them over the workers"),
          {held_on(advice, rank, worker) * (load.workers - 1) / load.workers});
    }
  }
}

/// Name of most tasks that have waited for something.
std::string name_of_parked(const Advice& advice, NameId reason) {
  Sums sums;
  for (const Park& park : advice.model.parks) {
    if (park.reason == reason) sums[advice.model.tasks[park.task].name] += park.end - park.begin;
  }
  return advice.largest(sums);
}

void locks(Advice& advice) {
  constexpr double kMuch = 0.1;
  for (const auto& [rank, load] : advice.analysis.loads) {
    for (const auto& [lock, ns] : load.locks) {
      const double share = number(ns) / (advice.duration() * load.workers);
      if (share < kMuch) continue;
      advice.add_timed(
          kMuch, {"contended-lock", share, name_of_parked(advice, lock), rank},
          fmt::format("tasks of rank {} wait in {} while workers have nothing else to do "
                      "for {} of their time: all want the same lock. Use several locks, "
                      "hold it for less, or let each worker have data of its own",
                      rank, advice.model.input().name(lock), share_text(share, 1)));
    }
  }
}

/// Name of most tasks that those of a name have made.
std::string name_of_made(const Advice& advice, NameId maker) {
  Sums sums;
  for (const Task& task : advice.model.tasks) {
    if (task.maker == kNone || advice.model.tasks[task.maker].name != maker) continue;
    ++sums[task.name];
  }
  return advice.largest(sums);
}

void insertion(Advice& advice) {
  constexpr double kMuch = 0.1;
  if (advice.has_hint("short-tasks")) return;
  for (const auto& [rank, load] : advice.analysis.loads) {
    for (const auto& [maker, ns] : load.insertion) {
      const double share = number(ns) / (advice.duration() * load.workers);
      if (share < kMuch) continue;
      advice.add_timed(
          kMuch, {"slow-insertion", share, name_of_made(advice, maker), rank},
          fmt::format("'{}' of rank {} makes tasks more slowly than the workers run them: "
                      "they wait for the next one for {} of their time. Do less between two "
                      "tasks, let several tasks make the others, or let each do more",
                      advice.model.input().name(maker), rank, share_text(share, 1)));
    }
  }
}

/// Leaves the waits in which at least one task ran for each worker.
void keep_steps(const Advice& advice, std::vector<const Park*>& waits, std::size_t workers) {
  std::vector<std::size_t> tasks(waits.size(), 0);
  for (const Segment& segment : advice.model.segments) {
    if (advice.model.is_main(advice.model.tasks[segment.task])) continue;
    const auto at = std::partition_point(waits.begin(), waits.end(), [&segment](const Park* park) {
      return park->end <= segment.begin;
    });
    if (at != waits.end() && (*at)->begin < segment.end) {
      ++tasks[static_cast<std::size_t>(at - waits.begin())];
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (tasks[i] >= workers) waits[kept++] = waits[i];
  }
  waits.resize(kept);
}

/// Times of the main functions in wait(), against the work of the rank that has most.
void steps(Advice& advice) {
  constexpr std::size_t kMany = 5;
  constexpr double kMuch = 0.1;
  std::uint32_t main = kNone;
  for (std::uint32_t i = 0; i < advice.model.tasks.size(); ++i) {
    const bool is_first = main == kNone || advice.model.rank_of(advice.model.tasks[i].track) <
                                               advice.model.rank_of(advice.model.tasks[main].track);
    if (advice.model.is_main(advice.model.tasks[i]) && is_first) main = i;
  }
  if (main == kNone) return;
  std::vector<const Park*> waits;
  int workers = 0;
  for (const auto& [rank, load] : advice.analysis.loads) workers += load.workers;
  for (const Park& park : advice.model.parks) {
    if (park.task == main && park.end < advice.model.duration) waits.push_back(&park);
  }
  keep_steps(advice, waits, static_cast<std::size_t>(workers));
  if (waits.size() < kMany) return;
  std::map<int, std::int64_t> busy;  // by rank, within the waits
  Sums of_names;                     // likewise
  std::int64_t waited = 0;
  std::int64_t longest = 0;
  for (const Park* const park : waits) {
    waited += park->end - park->begin;
    longest = std::max(longest, park->end - park->begin);
  }
  if (2 * longest > waited) return;  // one phase, and small ones around it
  for (const Segment& segment : advice.model.segments) {
    if (advice.model.is_main(advice.model.tasks[segment.task])) continue;
    auto at = std::partition_point(waits.begin(), waits.end(),
                                   [&](const Park* park) { return park->end <= segment.begin; });
    for (; at != waits.end() && (*at)->begin < segment.end; ++at) {
      const std::int64_t ns =
          std::min(segment.end, (*at)->end) - std::max(segment.begin, (*at)->begin);
      busy[advice.model.rank_of(segment.track)] += ns;
      of_names[advice.model.tasks[segment.task].name] += ns;
    }
  }
  double most = 0;
  for (const auto& [rank, ns] : busy) {
    const auto load = advice.analysis.loads.find(rank);
    if (load != advice.analysis.loads.end())
      most = std::max(most, number(ns) / load->second.workers);
  }
  const double lost = number(waited) - most;
  if (lost < kMuch * advice.duration()) return;
  advice.add_timed(
      kMuch, {"wait-per-step", lost / advice.duration(), advice.largest(of_names), -1},
      fmt::format("the main function stands still {} times ({}), each time until the last "
                  "task has ended: the steps take {}, and their tasks would need {} "
                  "without these waits. Make one graph of all steps, in which tasks wait "
                  "for those that they need",
                  waits.size(), advice.model.input().name(waits.front()->reason),
                  time_text(number(waited)), time_text(most)));
}

void handlers(Advice& advice) {
  constexpr double kMuch = 0.1;
  constexpr double kLongNs = 50'000;
  constexpr std::size_t kFew = 4;
  std::map<std::pair<int, NameId>, std::vector<double>> times;  // by rank and handler
  for (const auto& of_track : advice.model.busy) {
    for (const Stretch& stretch : of_track) {
      if (!stretch.is_handler) continue;
      const Interval& interval = advice.model.intervals[stretch.index];
      std::int64_t ns = interval.end - interval.begin;
      if (interval.value < advice.model.messages.size()) {
        ns -= std::min(advice.model.messages[interval.value].copied, ns);
      }
      times[{advice.model.rank_of(interval.track), interval.name}].push_back(number(ns));
    }
  }
  for (const auto& [key, all] : times) {
    const std::string& name = advice.model.input().name(key.second);
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    const double share = sum / advice.duration();
    const double least = std::max(kMuch, kLongNs * number(all.size()) / advice.duration());
    if (share < least || name.starts_with("shoal::")) continue;
    advice.add_timed(
        least, {"work-in-handlers", share, name, key.first},
        fmt::format("the handler '{}' takes {} each time, {} of the run on rank {}: "
                    "meanwhile the rank takes no other message, and its other workers "
                    "cannot help. Make it a task (Delivery::task)",
                    name, time_text(sum / number(all.size())), share_text(share, 1), key.first),
        {advice.held_of(all, kFew)});
  }
}

/// Number of tasks that run, over time.
class Concurrency {
 public:
  explicit Concurrency(const Model& model) {
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const Segment& segment : model.segments) {
      if (model.is_main(model.tasks[segment.task])) continue;
      changes.emplace_back(segment.begin, 1);
      changes.emplace_back(segment.end, -1);
    }
    std::sort(changes.begin(), changes.end());
    double sum = 0;
    int count = 0;
    std::int64_t now = 0;
    for (const auto& [time, by] : changes) {
      sum += number(time - now) * count;
      now = time;
      count += by;
      if (!times_.empty() && times_.back() == time) {
        counts_.back() = count;
        continue;
      }
      times_.push_back(time);
      sums_.push_back(sum);
      counts_.push_back(count);
    }
  }
  double mean(std::int64_t begin, std::int64_t end) const {
    return end > begin ? (until(end) - until(begin)) / number(end - begin) : 0;
  }

 private:
  double until(std::int64_t time) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), time);
    if (after == times_.begin()) return 0;
    const auto at = static_cast<std::size_t>(after - times_.begin()) - 1;
    return sums_[at] + number(time - times_[at]) * counts_[at];
  }
  std::vector<std::int64_t> times_;
  std::vector<double> sums_;  // of count and time, until then
  std::vector<int> counts_;   // from then on
};

/// Tasks of a name take longer when more tasks run at the time, whenever that is.
void memory_bound(Advice& advice) {
  constexpr std::size_t kEnough = 4;
  constexpr double kSlower = 1.4;
  constexpr double kAlone = 1.5;
  constexpr double kOnProcessors = 0.7;
  if (advice.disturbance.is_known && advice.disturbance.on_processors < kOnProcessors) return;
  const Concurrency running(advice.model);
  std::map<NameId, std::vector<std::pair<double, std::uint32_t>>> of_name;
  for (std::uint32_t i = 0; i < advice.model.tasks.size(); ++i) {
    const Task& task = advice.model.tasks[i];
    if (task.end == kNever || task.end - task.start != task.busy || task.busy == 0) continue;
    of_name[task.name].emplace_back(running.mean(task.start, task.end), i);
  }
  for (const auto& [name, all] : of_name) {
    double highest = 0;
    for (const auto& [beside, task] : all) highest = std::max(highest, beside);
    std::vector<std::int64_t> alone;
    std::vector<std::int64_t> together;
    std::int64_t first = advice.model.duration;
    std::int64_t last = 0;
    for (const auto& [beside, task] : all) {
      if (beside < std::max(2.0, 0.7 * highest)) continue;
      together.push_back(advice.model.tasks[task].busy);
      first = std::min(first, advice.model.tasks[task].start);
      last = std::max(last, advice.model.tasks[task].start);
    }
    // Before and after: tasks that become larger in the course of a run are something else.
    std::size_t before = 0;
    std::size_t after = 0;
    for (const auto& [beside, task] : all) {
      if (beside > kAlone) continue;
      alone.push_back(advice.model.tasks[task].busy);
      ++(2 * advice.model.tasks[task].start < first + last ? before : after);
    }
    if (std::min(before, after) < kEnough || together.size() < kEnough) continue;
    const double usual = number(upper_median(alone));
    const double slowed = number(upper_median(together));
    const double cost = (slowed - usual) * number(together.size()) / advice.worker_time();
    if (slowed < kSlower * usual || cost < kNoticeable) continue;
    advice.add_timed(
        kNoticeable, {"memory-bound", cost, advice.model.input().name(name), -1},
        fmt::format("tasks '{}' take {} when they run alone, and {} beside others (medians): "
                    "they share the bandwidth of the memory. More workers do not help: "
                    "use data again while it is in the cache, or mix them with other tasks",
                    advice.model.input().name(name), time_text(usual), time_text(slowed)));
  }
}

}  // namespace

void add_worker_hints(Advice& advice) {
  if (advice.knows_idleness()) short_tasks(advice);
  placement(advice);
  if (advice.knows_idleness()) {
    bound_tasks(advice);
    locks(advice);
    insertion(advice);
    steps(advice);
    handlers(advice);
  }
  memory_bound(advice);
}

}  // namespace shoal::trace_tool

// Advice that a colleague would give. Each hint needs its pattern to cost a noticeable part of the
// run, so that a healthy run gets none.

#include "trace_tool/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace shoal::trace_tool {

namespace {

constexpr double kNoticeable = 0.05;  // of the run
constexpr double kNegligible = 0.01;  // likewise

class Advisor {
 public:
  Advisor(const Model& model, const Analysis& analysis) : model_(model), analysis_(analysis) {}

  std::vector<Hint> all() {
    short_tasks();
    const bool slow = slow_ranks();
    if (!slow) overloaded_rank();
    missing_priority();
    full_windows();
    hot_link();
    slow_link();
    too_many_workers();
    lost_events();
    return std::move(hints_);
  }

 private:
  void add(const std::string& kind, std::string text) { hints_.push_back({kind, std::move(text)}); }

  [[nodiscard]] double worker_time() const {
    int workers = 0;
    for (const RankUsage& rank : analysis_.ranks) workers += rank.workers;
    return static_cast<double>(analysis_.duration) * workers;
  }

  /// Overhead of tasks that costs so much is worth a hint. It is compared with the work that it
  /// serves: the start of a short run, and workers that take turns on a processor, would hide it.
  [[nodiscard]] bool is_much_overhead(double cost) const {
    double measured = 0;
    double work = 0;
    for (const NameStatistics& name : analysis_.names) {
      measured += static_cast<double>(name.total);
      work += static_cast<double>(name.total_without_turns);
    }
    const double with_turns = measured > 0 ? work / measured : 1;  // the rest went to others
    return cost >= kNoticeable * (work + cost) && cost >= kNegligible * with_turns * worker_time();
  }

  /// Times between a task and the next one on its worker, where that one was ready already.
  struct Gaps {
    std::int64_t median = -1;                    // the price of a task; -1: there are few
    std::map<std::string, std::int64_t> before;  // sums, by the name of the next task
  };

  [[nodiscard]] Gaps gaps() const {
    std::map<NameId, std::int64_t> sums;
    std::vector<std::int64_t> all;
    for (const Segment& segment : model_.segments) {
      const Task& task = model_.tasks[segment.task];
      if (segment.previous_on_track == kNone || segment.previous_of_task != kNone) continue;
      const std::int64_t before = model_.segments[segment.previous_on_track].end;
      if (task.ready == kNever || task.ready > before) continue;
      all.push_back(segment.begin - before);
      sums[task.name] += segment.begin - before;
    }
    Gaps result;
    for (const auto& [name, sum] : sums) result.before[model_.input().name(name)] += sum;
    constexpr std::size_t kEnough = 100;
    if (all.size() < kEnough) return result;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    result.median = *middle;
    return result;
  }

  /// Median time that it takes to make a task, where a program makes several in a row; else 0.
  [[nodiscard]] std::int64_t creation() const {
    constexpr std::size_t kEnough = 100;
    std::vector<std::int64_t> all = model_.creations;
    if (all.size() < kEnough) return 0;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

  void short_tasks() {
    const Gaps between = gaps();
    if (between.median <= 0) return;
    const std::int64_t overhead = between.median + creation();
    constexpr std::int64_t kTimes = 20;  // then the overhead is no longer noticeable
    for (const NameStatistics& name : analysis_.names) {
      const auto sum = between.before.find(name.name);
      const double lost = sum == between.before.end() ? 0 : static_cast<double>(sum->second);
      const double cost =
          std::max(lost, static_cast<double>(overhead) * static_cast<double>(name.count));
      if (name.median >= kTimes * overhead || !is_much_overhead(cost)) continue;
      add("short-tasks",
          fmt::format(
              "{} tasks '{}' take {} each (median), and their overhead is {} each: let a task "
              "do more, at least {}",
              name.count, name.name, time_text(static_cast<double>(name.median)),
              time_text(static_cast<double>(overhead)),
              time_text(static_cast<double>(kTimes * overhead))));
    }
  }

  bool slow_ranks() {
    constexpr double kSlower = 1.4;
    std::map<int, std::pair<double, std::string>> worst;  // by rank: time lost, text
    for (const NameStatistics& name : analysis_.names) {
      if (name.by_rank.size() < 2 || name.name == kMainName) continue;
      std::vector<double> means;
      means.reserve(name.by_rank.size());
      for (const auto& [rank, sum] : name.by_rank) means.push_back(mean_of(sum));
      std::sort(means.begin(), means.end());
      const double usual = means[(means.size() - 1) / 2];
      for (const auto& [rank, sum] : name.by_rank) {
        const double lost =
            static_cast<double>(sum.second) - usual * static_cast<double>(sum.first);
        if (mean_of(sum) < kSlower * usual || lost <= worst[rank].first) continue;
        worst[rank] = {lost,
                       fmt::format("rank {} is slow: '{}' takes {} there, and {} on the "
                                   "others. Look at the other programs of its node, the clock of "
                                   "its cores, and the placement of its memory",
                                   rank, name.name, time_text(mean_of(sum)), time_text(usual))};
      }
    }
    bool any = false;
    for (const auto& [rank, found] : worst) {
      if (found.first < kNoticeable * static_cast<double>(analysis_.duration)) continue;
      add("slow-rank", found.second);
      any = true;
    }
    return any;
  }

  static double mean_of(const std::pair<std::uint64_t, std::int64_t>& sum) {
    return sum.first == 0 ? 0 : static_cast<double>(sum.second) / static_cast<double>(sum.first);
  }

  void overloaded_rank() {
    if (analysis_.ranks.size() < 2) return;
    double sum = 0;
    double most = 0;
    int rank = 0;
    for (const RankUsage& one : analysis_.ranks) {
      const double busy = static_cast<double>(one.sum.tasks + one.sum.handlers) / one.workers;
      sum += busy;
      if (busy <= most) continue;
      most = busy;
      rank = one.rank;
    }
    const double mean = sum / static_cast<double>(analysis_.ranks.size());
    const double lost = most - mean;
    constexpr double kMuch = 0.15;
    if (lost < kMuch * static_cast<double>(analysis_.duration) || most < 1.25 * mean) return;
    add("overloaded-rank",
        fmt::format("rank {} has more work than the others: its workers are busy for {}, those of "
                    "all ranks for {} on average. Distribute the work differently",
                    rank, time_text(most), time_text(mean)));
  }

  /// Longest chain of work that depends on each task, with the task. By the recorded causes.
  [[nodiscard]] std::vector<std::int64_t> chains() const {
    std::vector<std::uint32_t> order(model_.tasks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return model_.tasks[a].ready > model_.tasks[b].ready;
    });
    std::vector<std::int64_t> chain(model_.tasks.size(), 0);
    for (const std::uint32_t index : order) {  // effects come before their causes
      const Task& task = model_.tasks[index];
      chain[index] += task.busy;
      const std::uint32_t source = source_of(task);
      if (source != kNone) chain[source] = std::max(chain[source], chain[index]);
    }
    return chain;
  }

  [[nodiscard]] std::uint32_t source_of(const Task& task) const {
    Cause cause = task.cause;
    for (int hops = 0; cause.what == Cause::What::message && hops < 8; ++hops) {
      cause = model_.messages[cause.index].sender;
    }
    return cause.what == Cause::What::task ? cause.index : kNone;
  }

  void missing_priority() {
    struct Lost {
      std::int64_t ns = 0;
      std::uint64_t count = 0;
      std::map<NameId, std::int64_t> behind;
    };
    const std::vector<std::int64_t> chain = chains();
    std::map<NameId, Lost> lost;
    for (const PathStep& step : analysis_.path) {
      if (step.what != PathStep::What::task) continue;
      const Segment& segment = model_.segments[step.index];
      const Task& task = model_.tasks[segment.task];
      if (segment.previous_of_task != kNone || task.ready == kNever) continue;
      // Others that ran there although this one was ready and has more behind it.
      constexpr int kLookBack = 1000;  // a long queue of ready tasks makes this no slower
      std::uint32_t other = segment.previous_on_track;
      for (int i = 0; other != kNone && i < kLookBack;
           other = model_.segments[other].previous_on_track, ++i) {
        const Segment& ran = model_.segments[other];
        if (ran.begin < task.ready) break;
        const Task& before = model_.tasks[ran.task];
        const bool matters_less = 2 * chain[ran.task] < chain[segment.task];
        if (!matters_less || before.name == task.name || before.priority > task.priority) continue;
        Lost& sum = lost[task.name];
        sum.ns += ran.end - ran.begin;
        sum.behind[before.name] += ran.end - ran.begin;
        ++sum.count;
      }
    }
    for (const auto& [name, sum] : lost) {
      if (static_cast<double>(sum.ns) < kNoticeable * static_cast<double>(analysis_.duration)) {
        continue;
      }
      const auto most =
          std::max_element(sum.behind.begin(), sum.behind.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      add("missing-priority",
          fmt::format("tasks '{}' are on the critical path, and waited {} in all while workers ran "
                      "'{}', on which less depends: give '{}' a higher priority",
                      model_.input().name(name), time_text(static_cast<double>(sum.ns)),
                      model_.input().name(most->first), model_.input().name(name)));
    }
  }

  void full_windows() {
    for (const RankUsage& rank : analysis_.ranks) {
      const double whole = static_cast<double>(analysis_.duration) * rank.workers;
      if (static_cast<double>(rank.window_full) < kNoticeable * whole) continue;
      std::map<std::uint64_t, std::int64_t> targets;
      for (const Interval& interval : model_.intervals) {
        if (interval.what == Interval::What::window &&
            model_.rank_of(interval.track) == rank.rank) {
          targets[interval.value] += interval.end - interval.begin;
        }
      }
      const auto most =
          std::max_element(targets.begin(), targets.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      add("window-full",
          fmt::format("rank {} stood still for {} because a window of messages was full, most to "
                      "rank {}: that rank takes messages too slowly. Send less to it, in larger "
                      "messages, or enlarge the window",
                      rank.rank, time_text(static_cast<double>(rank.window_full)), most->first));
    }
  }

  void hot_link() {
    constexpr std::size_t kPairsMin = 4;
    constexpr double kTimesTheMean = 4;
    if (analysis_.pairs.size() < kPairsMin) return;
    std::uint64_t sum = 0;
    auto hottest = analysis_.pairs.begin();
    for (auto pair = analysis_.pairs.begin(); pair != analysis_.pairs.end(); ++pair) {
      sum += pair->second.bytes;
      if (pair->second.bytes > hottest->second.bytes) hottest = pair;
    }
    const auto bytes = static_cast<double>(hottest->second.bytes);
    const double others =
        (static_cast<double>(sum) - bytes) / static_cast<double>(analysis_.pairs.size() - 1);
    std::int64_t on_path = 0;
    for (const PathStep& step : analysis_.path) {
      if (step.what == PathStep::What::message) on_path += step.end - step.begin;
    }
    const bool matters =
        static_cast<double>(on_path) >= kNoticeable * static_cast<double>(analysis_.duration);
    if (bytes < kTimesTheMean * others || !matters) return;
    add("hot-link", fmt::format("rank {} sends {} to rank {}, {:.0f} times as much as other pairs "
                                "do on average, and messages are {} of the critical path: "
                                "distribute their common data differently",
                                hottest->first.first, bytes_text(bytes), hottest->first.second,
                                others > 0 ? bytes / others : bytes,
                                share_text(static_cast<double>(on_path),
                                           static_cast<double>(analysis_.duration))));
  }

  /// Mean duration of a message between two ranks against those of the other pairs.
  void slow_link() {
    constexpr std::size_t kPairsMin = 4;
    constexpr double kSlower = 4;
    std::vector<double> ways;
    auto slowest = analysis_.pairs.end();
    for (auto pair = analysis_.pairs.begin(); pair != analysis_.pairs.end(); ++pair) {
      if (pair->second.with_both_ends == 0) continue;
      ways.push_back(way_of(pair->second));
      if (slowest == analysis_.pairs.end() || way_of(pair->second) > way_of(slowest->second)) {
        slowest = pair;
      }
    }
    if (ways.size() < kPairsMin) return;
    const auto middle = ways.begin() + static_cast<std::ptrdiff_t>(ways.size() / 2);
    std::nth_element(ways.begin(), middle, ways.end());
    std::int64_t on_path = 0;
    for (const PathStep& step : analysis_.path) {
      if (step.what != PathStep::What::message) continue;
      const Message& message = model_.messages[step.index];
      if (std::pair(message.from, message.to) == slowest->first) on_path += step.end - step.begin;
    }
    const bool matters =
        static_cast<double>(on_path) >= kNoticeable * static_cast<double>(analysis_.duration);
    if (way_of(slowest->second) < kSlower * *middle || !matters) return;
    add("slow-link",
        fmt::format(
            "messages from rank {} to rank {} take {} (mean), between other ranks {}, and "
            "are {} of the critical path: look at the network between their nodes, or "
            "place ranks that exchange much on one node",
            slowest->first.first, slowest->first.second, time_text(way_of(slowest->second)),
            time_text(*middle),
            share_text(static_cast<double>(on_path), static_cast<double>(analysis_.duration))));
  }

  static double way_of(const PairStatistics& pair) {
    return static_cast<double>(pair.latency) / static_cast<double>(pair.with_both_ends);
  }

  void too_many_workers() {
    // Processors of each host, and the workers of all processes there.
    std::map<std::string, std::pair<int, int>> hosts;
    std::map<int, std::string> host_of;
    const auto processes = model_.input().identity().find("processes");
    if (processes == model_.input().identity().end()) return;
    for (const auto& process : *processes) {
      const std::string host = process.value("host", "");
      const std::string cores = process.value("cores", "");
      host_of[process.value("process", 0)] = host;
      const bool is_number = !cores.empty() && cores.size() < 7 &&
                             cores.find_first_not_of("0123456789") == std::string::npos;
      if (is_number) hosts[host].first = std::max(hosts[host].first, std::stoi(cores));
    }
    for (std::uint32_t track = 0; track < model_.usage.size(); ++track) {
      if (model_.usage[track].task_count == 0) continue;
      ++hosts[host_of[model_.input().track(track).process]].second;
    }
    for (const auto& [host, counts] : hosts) {
      if (counts.first == 0 || counts.second <= counts.first) continue;
      add("more-workers-than-cores",
          fmt::format("{} workers ran on {} processors of {}: they took turns. Start fewer ranks "
                      "there, or give --workers",
                      counts.second, counts.first, host.empty() ? "the node" : host));
    }
  }

  void lost_events() {
    std::uint64_t dropped = 0;
    for (const auto& [category, count] : model_.input().drops().items()) {
      if (count.is_number_unsigned()) dropped += count.get<std::uint64_t>();
    }
    if (dropped == 0) return;
    add("events-lost",
        fmt::format("{} events were dropped because buffers were full, so this report has gaps. "
                    "Record fewer categories, a region of interest, or with larger buffers",
                    dropped));
  }

  const Model& model_;
  const Analysis& analysis_;
  std::vector<Hint> hints_;
};

}  // namespace

std::vector<Hint> hints(const Model& model, const Analysis& analysis) {
  return Advisor(model, analysis).all();
}

}  // namespace shoal::trace_tool

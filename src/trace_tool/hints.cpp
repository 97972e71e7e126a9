// Advice that a colleague would give. Each hint needs its pattern to cost a noticeable part of the
// run, so that a healthy run gets none.

#include "trace_tool/analysis.hpp"
#include "trace_tool/loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <numeric>
#include <set>

namespace shoal::trace_tool {

namespace {

constexpr double kNoticeable = 0.05;  // of the run
constexpr double kNegligible = 0.01;  // likewise

double number(std::integral auto value) { return static_cast<double>(value); }

class Advisor {
 public:
  Advisor(const Model& model, const Analysis& analysis) : model_(model), analysis_(analysis) {}

  std::vector<Hint> all() {
    if (!model_.has(Category::task)) {
      lost_events();
      return std::move(hints_);
    }
    // Missing events would be taken for idleness, and for imbalance.
    if (!model_.has_losses()) {
      short_tasks();
      placement();
      bound_tasks();
      locks();
      insertion();
      steps();
      handlers();
      const bool slow = slow_ranks();
      outliers();
      if (!slow) overloaded_rank();
      missing_priority();
      memory_bound();
      if (model_.has(Category::message)) {
        busy_receiver();
        full_windows();
        hot_link();
        slow_link();
      }
      disturbed();
    }
    lost_events();
    return std::move(hints_);
  }

 private:
  void add(const std::string& kind, std::string text) { hints_.push_back({kind, std::move(text)}); }

  /// Adds a hint by times, of which `cost` is the share of the run, unless it may be due to other
  /// programs: at worst, one worker waits at a time, and all others for it. Returns whether it did.
  bool add_timed(const std::string& kind, double cost, std::string text) {
    if (cost < std::max(2, disturbance_.workers) * disturbance_.share) {
      left_out_.push_back(kind);
      return false;
    }
    add(kind, std::move(text));
    return true;
  }

  [[nodiscard]] bool has_hint(std::string_view kind) const {
    return std::any_of(hints_.begin(), hints_.end(),
                       [kind](const Hint& one) { return one.kind == kind; });
  }

  [[nodiscard]] double duration() const { return std::max(1.0, number(analysis_.duration)); }

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
    constexpr std::int64_t kOverheadNs = 10'000;  // a program that computes in between takes longer
    return *middle <= kOverheadNs ? *middle : 0;
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

  /// Masks that leave processors unused, and workers that share one.
  void placement() {
    for (const auto& [host, shape] : hosts_of(model_)) {
      if (shape.allowed == 0) continue;
      const std::string name = host.empty() ? "the node" : host;
      const bool is_crowded = shape.workers > shape.allowed;
      const bool is_narrow = shape.processors > shape.allowed;
      if (is_narrow && (is_crowded ? takes_turns() : is_busy())) {
        add("narrow-mask",
            fmt::format("the mask of the processes leaves {} of the {} processors of {} to {} "
                        "worker{}: look at taskset, at the cpuset, and at how the launcher binds "
                        "processes (mpirun --bind-to none, srun --cpu-bind=none)",
                        shape.allowed, shape.processors, name, shape.workers,
                        shape.workers == 1 ? "" : "s"));
      } else if (is_crowded && takes_turns()) {
        add("more-workers-than-cores",
            fmt::format("{} workers ran on {} processors of {}: they took turns. Start fewer ranks "
                        "there, or give --workers",
                        shape.workers, shape.allowed, name));
      }
    }
  }

  /// Workers that want more processors than there are; where the trace does not say, they do.
  [[nodiscard]] bool takes_turns() const {
    constexpr double kPressure = 0.7;
    if (!disturbance_.is_known) return true;
    return disturbance_.share >= kNoticeable && disturbance_.pressure >= kPressure;
  }
  [[nodiscard]] bool is_busy() const {
    constexpr double kMost = 0.7;
    return static_cast<double>(sum_of_busy()) >= kMost * worker_time();
  }
  [[nodiscard]] std::int64_t sum_of_busy() const {
    std::int64_t sum = 0;
    for (const auto& [rank, load] : analysis_.loads) sum += load.busy;
    return sum;
  }

  void bound_tasks() {
    constexpr double kMuch = 0.1;
    for (const auto& [rank, load] : analysis_.loads) {
      for (const auto& [worker, ns] : load.bound) {
        const double share = number(ns) / (duration() * load.workers);
        if (share < kMuch) continue;
        const auto names = load.bound_names.find(worker);
        if (names == load.bound_names.end()) continue;
        const auto most =
            std::max_element(names->second.begin(), names->second.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        add_timed(
            "bound-to-one-worker", share,
            fmt::format("tasks '{}' are bound to worker {} of rank {}: while they waited for "
                        "it, other workers of the rank had nothing to do for {} of their "
                        "time. Leave tasks unbound, or spread them over the workers",
                        model_.input().name(most->first), worker, rank, share_text(share, 1)));
      }
    }
  }

  void locks() {
    constexpr double kMuch = 0.1;
    for (const auto& [rank, load] : analysis_.loads) {
      for (const auto& [lock, ns] : load.locks) {
        const double share = number(ns) / (duration() * load.workers);
        if (share < kMuch) continue;
        add_timed("contended-lock", share,
                  fmt::format("tasks of rank {} wait in {} while workers have nothing else to do "
                              "for {} of their time: all want the same lock. Use several locks, "
                              "hold it for less, or let each worker have data of its own",
                              rank, model_.input().name(lock), share_text(share, 1)));
      }
    }
  }

  void insertion() {
    constexpr double kMuch = 0.1;
    if (has_hint("short-tasks")) return;
    for (const auto& [rank, load] : analysis_.loads) {
      for (const auto& [maker, ns] : load.insertion) {
        const double share = number(ns) / (duration() * load.workers);
        if (share < kMuch) continue;
        add_timed(
            "slow-insertion", share,
            fmt::format("'{}' of rank {} makes tasks more slowly than the workers run them: "
                        "they wait for the next one for {} of their time. Do less between two "
                        "tasks, let several tasks make the others, or let each do more",
                        model_.input().name(maker), rank, share_text(share, 1)));
      }
    }
  }

  /// Leaves the waits in which at least one task ran for each worker.
  void keep_steps(std::vector<const Park*>& waits, std::size_t workers) const {
    std::vector<std::size_t> tasks(waits.size(), 0);
    for (const Segment& segment : model_.segments) {
      if (model_.is_main(model_.tasks[segment.task])) continue;
      const auto at =
          std::partition_point(waits.begin(), waits.end(),
                               [&segment](const Park* park) { return park->end <= segment.begin; });
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
  void steps() {
    constexpr std::size_t kMany = 5;
    constexpr double kMuch = 0.1;
    std::uint32_t main = kNone;
    for (std::uint32_t i = 0; i < model_.tasks.size(); ++i) {
      const bool is_first = main == kNone || model_.rank_of(model_.tasks[i].track) <
                                                 model_.rank_of(model_.tasks[main].track);
      if (model_.is_main(model_.tasks[i]) && is_first) main = i;
    }
    if (main == kNone) return;
    std::vector<const Park*> waits;
    int workers = 0;
    for (const auto& [rank, load] : analysis_.loads) workers += load.workers;
    for (const Park& park : model_.parks) {
      if (park.task == main && park.end < model_.duration) waits.push_back(&park);
    }
    keep_steps(waits, static_cast<std::size_t>(workers));
    if (waits.size() < kMany) return;
    std::map<int, std::int64_t> busy;  // by rank, within the waits
    std::int64_t waited = 0;
    std::int64_t longest = 0;
    for (const Park* const park : waits) {
      waited += park->end - park->begin;
      longest = std::max(longest, park->end - park->begin);
    }
    if (2 * longest > waited) return;  // one phase, and small ones around it
    for (const Segment& segment : model_.segments) {
      if (model_.is_main(model_.tasks[segment.task])) continue;
      auto at = std::partition_point(waits.begin(), waits.end(),
                                     [&](const Park* park) { return park->end <= segment.begin; });
      for (; at != waits.end() && (*at)->begin < segment.end; ++at) {
        busy[model_.rank_of(segment.track)] +=
            std::min(segment.end, (*at)->end) - std::max(segment.begin, (*at)->begin);
      }
    }
    double most = 0;
    for (const auto& [rank, ns] : busy) {
      const auto load = analysis_.loads.find(rank);
      if (load != analysis_.loads.end()) most = std::max(most, number(ns) / load->second.workers);
    }
    const double lost = number(waited) - most;
    if (lost < kMuch * duration()) return;
    add_timed("wait-per-step", lost / duration(),
              fmt::format("the main function stands still {} times ({}), each time until the last "
                          "task has ended: the steps take {}, and their tasks would need {} "
                          "without these waits. Make one graph of all steps, in which tasks wait "
                          "for those that they need",
                          waits.size(), model_.input().name(waits.front()->reason),
                          time_text(number(waited)), time_text(most)));
  }

  void handlers() {
    constexpr double kMuch = 0.1;
    constexpr std::int64_t kLongNs = 50'000;
    struct Sum {
      std::int64_t ns = 0;
      std::int64_t count = 0;
    };
    std::map<std::pair<int, NameId>, Sum> sums;  // by rank and handler
    for (const auto& of_track : model_.busy) {
      for (const Stretch& stretch : of_track) {
        if (!stretch.is_handler) continue;
        const Interval& interval = model_.intervals[stretch.index];
        Sum& sum = sums[{model_.rank_of(interval.track), interval.name}];
        sum.ns += interval.end - interval.begin;
        if (interval.value < model_.messages.size()) {
          sum.ns -= std::min(model_.messages[interval.value].copied, interval.end - interval.begin);
        }
        ++sum.count;
      }
    }
    for (const auto& [key, sum] : sums) {
      const std::string& name = model_.input().name(key.second);
      const double share = number(sum.ns) / duration();
      if (share < kMuch || sum.ns < kLongNs * sum.count || name.starts_with("shoal::")) continue;
      add_timed("work-in-handlers", share,
                fmt::format("the handler '{}' takes {} each time, {} of the run on rank {}: "
                            "meanwhile the rank takes no other message, and its other workers "
                            "cannot help. Make it a task (Delivery::task)",
                            name, time_text(number(sum.ns) / number(sum.count)),
                            share_text(share, 1), key.first));
    }
  }

  /// A quantity of the tasks of a name on the ranks: that of the usual rank.
  static double usual_of(const NameStatistics& name, std::int64_t NameStatistics::OnRank::*part) {
    std::vector<std::int64_t> all;
    all.reserve(name.by_rank.size());
    for (const auto& [rank, here] : name.by_rank) all.push_back(here.*part);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
    std::nth_element(all.begin(), middle, all.end());
    return number(*middle);
  }

  /// All tasks of the name are longer on the rank, the shortest and the longest as well: ranks may
  /// have more of those that do more.
  static bool is_slower(const NameStatistics& name, const NameStatistics::OnRank& here,
                        double times) {
    using OnRank = NameStatistics::OnRank;
    for (std::int64_t OnRank::*part : {&OnRank::least, &OnRank::median, &OnRank::most}) {
      if (number(here.*part) < times * usual_of(name, part)) return false;
    }
    return true;
  }

  /// Tasks of every name take longer on a rank: those of one name may do more there.
  bool slow_ranks() {
    constexpr double kSlower = 1.4;
    constexpr double kNoFaster = 1.2;
    constexpr std::uint64_t kFew = 3;
    std::map<int, std::pair<double, std::string>> worst;  // by rank: time lost, text
    std::set<int> others;                                 // with names that are not slow
    for (const NameStatistics& name : analysis_.names) {
      if (name.by_rank.size() < 2 || name.name == kMainName) continue;
      const double usual = usual_of(name, &NameStatistics::OnRank::median);
      for (const auto& [rank, here] : name.by_rank) {
        if (here.count < kFew || here.median == 0) continue;
        const double lost = (number(here.median) - usual) * number(here.count);
        if (!is_slower(name, here, kNoFaster)) others.insert(rank);
        if (!is_slower(name, here, kSlower) || lost <= worst[rank].first) continue;
        worst[rank] = {
            lost, fmt::format("rank {} is slow: '{}' takes {} there, and {} on the "
                              "others (medians). If its tasks do no more than those of the "
                              "others, look at the clock of its cores, and the placement of "
                              "its memory",
                              rank, name.name, time_text(number(here.median)), time_text(usual))};
      }
    }
    bool any = false;
    for (const auto& [rank, found] : worst) {
      if (others.contains(rank)) continue;
      const auto load = analysis_.loads.find(rank);
      const int workers = load == analysis_.loads.end() ? 1 : std::max(load->second.workers, 1);
      const double cost = found.first / workers / duration();
      if (cost >= kNoticeable) any = add_timed("slow-rank", cost, found.second) || any;
    }
    return any;
  }

  /// Few tasks that take much longer than all others of their name, and that others waited for.
  void outliers() {
    constexpr std::size_t kEnough = 8;
    constexpr std::size_t kShare = 50;
    constexpr double kLonger = 3;
    std::map<NameId, std::vector<std::uint32_t>> of_name;
    for (std::uint32_t i = 0; i < model_.tasks.size(); ++i) {
      const Task& task = model_.tasks[i];
      if (task.end != kNever && !model_.is_main(task)) of_name[task.name].push_back(i);
    }
    std::map<std::uint32_t, std::int64_t> on_path;
    for (const PathStep& step : analysis_.path) {
      if (step.what == PathStep::What::task) {
        on_path[model_.segments[step.index].task] += step.end - step.begin;
      }
    }
    for (auto& [name, all] : of_name) {
      if (all.size() < kEnough) continue;
      std::stable_sort(all.begin(), all.end(), [this](std::uint32_t a, std::uint32_t b) {
        return model_.tasks[a].busy > model_.tasks[b].busy;
      });
      const std::size_t most = std::max<std::size_t>(1, all.size() / kShare);
      const double others = number(model_.tasks[all[most]].busy);
      double lost = 0;
      std::size_t count = 0;
      for (; count < most; ++count) {
        const Task& task = model_.tasks[all[count]];
        if (number(task.busy) < kLonger * others) break;
        const auto part = on_path.find(all[count]);
        if (part != on_path.end()) lost += std::max(0.0, number(part->second) - others);
      }
      if (lost < kNoticeable * duration()) continue;
      const Task& worst = model_.tasks[all.front()];
      const auto key = model_.keys.find(worst.id);
      add_timed("outlier", lost / duration(),
                fmt::format("{} of {} tasks '{}' take much longer than the others, and the run "
                            "waits for them: that of {} on rank {} takes {}, the others {} at most",
                            count, all.size(), model_.input().name(name),
                            key == model_.keys.end() ? "time " + time_text(number(worst.start))
                                                     : "key " + key->second,
                            model_.rank_of(worst.track), time_text(number(worst.busy)),
                            time_text(others)));
    }
  }

  /// Tasks wait on one rank, while others have nothing to do.
  void overloaded_rank() {
    if (analysis_.loads.size() < 2) return;
    double sum = 0;
    double most = 0;
    int rank = 0;
    int workers = 0;
    for (const auto& [of_rank, load] : analysis_.loads) {
      const double busy = number(load.busy) / load.workers;
      sum += busy;
      workers += load.workers;
      if (busy <= most) continue;
      most = busy;
      rank = of_rank;
    }
    const double mean = sum / number(analysis_.loads.size());
    const RankLoad& load = analysis_.loads.at(rank);
    constexpr double kMuch = 0.15;
    const double idle = number(load.others_idle) / (duration() * (workers - load.workers));
    const double cost = std::min((most - mean) / duration(), idle);
    if (cost < kMuch || most < 1.25 * mean) return;
    add_timed("overloaded-rank", cost,
              fmt::format("rank {} has more work than the others: its workers are busy for {}, "
                          "those of all ranks for {} on average, and while its tasks waited, the "
                          "others had nothing to do for {} of their time. Distribute the work "
                          "differently",
                          rank, time_text(most), time_text(mean), share_text(idle, 1)));
  }

  /// Tasks of a name take longer when more tasks run at the time, whenever that is.
  void memory_bound() {
    constexpr std::size_t kEnough = 4;
    constexpr double kSlower = 1.4;
    constexpr double kAlone = 1.5;
    constexpr double kOnProcessors = 0.7;
    if (disturbance_.is_known && disturbance_.on_processors < kOnProcessors) return;
    const Concurrency running(model_);
    std::map<NameId, std::vector<std::pair<double, std::uint32_t>>> of_name;
    for (std::uint32_t i = 0; i < model_.tasks.size(); ++i) {
      const Task& task = model_.tasks[i];
      if (task.end == kNever || task.end - task.start != task.busy || task.busy == 0) continue;
      of_name[task.name].emplace_back(running.mean(task.start, task.end), i);
    }
    for (const auto& [name, all] : of_name) {
      double highest = 0;
      for (const auto& [beside, task] : all) highest = std::max(highest, beside);
      std::vector<std::int64_t> alone;
      std::vector<std::int64_t> together;
      std::int64_t first = model_.duration;
      std::int64_t last = 0;
      for (const auto& [beside, task] : all) {
        if (beside < std::max(2.0, 0.7 * highest)) continue;
        together.push_back(model_.tasks[task].busy);
        first = std::min(first, model_.tasks[task].start);
        last = std::max(last, model_.tasks[task].start);
      }
      // Before and after: tasks that become larger in the course of a run are something else.
      std::size_t before = 0;
      std::size_t after = 0;
      for (const auto& [beside, task] : all) {
        if (beside > kAlone) continue;
        alone.push_back(model_.tasks[task].busy);
        ++(2 * model_.tasks[task].start < first + last ? before : after);
      }
      if (std::min(before, after) < kEnough || together.size() < kEnough) continue;
      const double usual = number(median_of(alone));
      const double slowed = number(median_of(together));
      const double cost = (slowed - usual) * number(together.size()) / worker_time();
      if (slowed < kSlower * usual || cost < kNoticeable) continue;
      add_timed(
          "memory-bound", cost,
          fmt::format("tasks '{}' take {} when they run alone, and {} beside others (medians): "
                      "they share the bandwidth of the memory. More workers do not help: "
                      "use data again while it is in the cache, or mix them with other tasks",
                      model_.input().name(name), time_text(usual), time_text(slowed)));
    }
  }

  static std::int64_t median_of(std::vector<std::int64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
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
    [[nodiscard]] double mean(std::int64_t begin, std::int64_t end) const {
      return end > begin ? (until(end) - until(begin)) / number(end - begin) : 0;
    }

   private:
    [[nodiscard]] double until(std::int64_t time) const {
      const auto after = std::upper_bound(times_.begin(), times_.end(), time);
      if (after == times_.begin()) return 0;
      const auto at = static_cast<std::size_t>(after - times_.begin()) - 1;
      return sums_[at] + number(time - times_[at]) * counts_[at];
    }
    std::vector<std::int64_t> times_;
    std::vector<double> sums_;  // of count and time, until then
    std::vector<int> counts_;   // from then on
  };

  /// Longest chain of work that depends on each task, with the task. By the recorded causes.
  [[nodiscard]] std::vector<std::int64_t> chains() const {
    std::vector<std::uint32_t> order(model_.tasks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      const std::int64_t ready_a = model_.tasks[a].ready;
      const std::int64_t ready_b = model_.tasks[b].ready;
      return ready_a != ready_b ? ready_a > ready_b : a > b;  // at one moment: the later one
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
    // Workers that always have something to do gain nothing by another order.
    const double idle = duration() - number(sum_of_busy()) * duration() / worker_time();
    for (const auto& [name, sum] : lost) {
      const double cost = std::min(number(sum.ns), idle) / duration();
      if (cost < kNoticeable) continue;
      const auto most =
          std::max_element(sum.behind.begin(), sum.behind.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      add_timed(
          "missing-priority", cost,
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
      add_timed(
          "window-full", static_cast<double>(rank.window_full) / whole,
          fmt::format("rank {} stood still for {} because a window of messages was full, most to "
                      "rank {}: that rank takes messages too slowly. Send less to it, in larger "
                      "messages, or enlarge the window",
                      rank.rank, time_text(static_cast<double>(rank.window_full)), most->first));
    }
  }

  /// The path waits for a rank that is busy and does not look for messages.
  void busy_receiver() {
    std::map<std::pair<NameId, int>, std::int64_t> sums;  // by task and rank
    for (const PathStep& step : analysis_.path) {
      if (step.what != PathStep::What::blocked || step.index == kNone) continue;
      sums[{step.name, step.rank}] += step.end - step.begin;
    }
    for (const auto& [key, ns] : sums) {
      const double cost = number(ns) / duration();
      if (cost < kNoticeable) continue;
      add_timed("busy-receiver", cost,
                fmt::format("messages to rank {} waited {} until its tasks '{}' let it look for "
                            "them, {} of the critical path: the network is not the reason. Make "
                            "these tasks shorter, call yield() in them, or give --progress thread",
                            key.second, time_text(number(ns)), model_.input().name(key.first),
                            share_text(cost, 1)));
    }
  }

  /// Time of the critical path for messages between two ranks, either way.
  [[nodiscard]] double on_path(int a, int b) const {
    std::int64_t sum = 0;
    for (const PathStep& step : analysis_.path) {
      if (step.what != PathStep::What::message) continue;
      const Message& message = model_.messages[step.index];
      const bool is_between =
          (message.from == a && message.to == b) || (message.from == b && message.to == a);
      if (is_between) sum += step.end - step.begin;
    }
    return number(sum) / duration();
  }

  /// One pair of ranks exchanges much more than any other: in the chain of a multicast, which shoal
  /// chooses, several do.
  void hot_link() {
    constexpr std::size_t kPairsMin = 3;
    constexpr double kTimesTheMean = 4;
    constexpr double kTimesTheNext = 2;
    std::map<std::pair<int, int>, std::uint64_t> bytes;  // smaller rank first
    std::uint64_t sum = 0;
    for (const auto& [pair, statistics] : analysis_.pairs) {
      if (pair.first == pair.second) continue;
      bytes[std::minmax(pair.first, pair.second)] += statistics.bytes;
      sum += statistics.bytes;
    }
    if (bytes.size() < kPairsMin) return;
    const auto hottest =
        std::max_element(bytes.begin(), bytes.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    std::uint64_t next = 0;
    for (auto pair = bytes.begin(); pair != bytes.end(); ++pair) {
      if (pair != hottest) next = std::max(next, pair->second);
    }
    const double most = number(hottest->second);
    const double others = (number(sum) - most) / number(bytes.size() - 1);
    const auto [a, b] = hottest->first;
    const double cost = on_path(a, b);
    if (most < kTimesTheMean * others || most < kTimesTheNext * number(next)) return;
    if (cost < kNoticeable) return;
    add_timed("hot-link", cost,
              fmt::format("rank {} sends {} to rank {} and back, {:.0f} times as much as other "
                          "pairs do on average, and these messages are {} of the critical path: "
                          "distribute their common data differently",
                          a, bytes_text(most), b, others > 0 ? most / others : most,
                          share_text(cost, 1)));
  }

  static int size_class_of(const Message& message) {
    return static_cast<int>(std::bit_width(message.size_bytes));
  }

  /// Time on the way of messages of like size, without the time in which their rank did not look.
  void slow_link() {
    constexpr std::size_t kPairsMin = 4;
    constexpr double kSlower = 4;
    using Pair = std::pair<int, int>;
    std::map<int, std::map<Pair, std::pair<double, double>>> ways;  // by size: sum, count
    for (const Message& message : model_.messages) {
      const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
      if (message.from < 0 || message.to < 0 || message.from == message.to) continue;
      if (message.sent == kNever || arrived == kNever) continue;
      const Blocked blocked = blocked_before(model_, message);
      const std::int64_t until = blocked.busy_since == kNever ? arrived : blocked.busy_since;
      auto& way = ways[size_class_of(message)][{message.from, message.to}];
      way.first += number(until - message.sent);
      way.second += 1;
    }
    Pair slowest{-1, -1};
    int of_size = 0;
    double worst = 0;
    std::pair<double, double> means;  // of that pair, and of the others
    for (const auto& [size, pairs] : ways) {
      if (pairs.size() < kPairsMin) continue;
      std::vector<double> all;
      for (const auto& [pair, way] : pairs) all.push_back(way.first / way.second);
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), middle, all.end());
      for (const auto& [pair, way] : pairs) {
        const double mean = way.first / way.second;
        const double lost = (mean - *middle) * way.second;
        if (mean < kSlower * *middle || lost <= worst) continue;
        worst = lost;
        slowest = pair;
        of_size = size;
        means = {mean, *middle};
      }
    }
    if (slowest.first < 0) return;
    std::int64_t sum = 0;
    for (const PathStep& step : analysis_.path) {
      if (step.what != PathStep::What::message) continue;
      const Message& message = model_.messages[step.index];
      // Small messages are slow behind large ones.
      const bool is_of_size = size_class_of(message) == of_size;
      if (is_of_size && Pair(message.from, message.to) == slowest) sum += step.end - step.begin;
    }
    const double cost = number(sum) / duration();
    if (cost < kNoticeable) return;
    add_timed("slow-link", cost,
              fmt::format("messages from rank {} to rank {} take {} (mean), those of their size "
                          "between other ranks {}, and are {} of the critical path: look at the "
                          "network between their nodes, or place ranks that exchange much on one "
                          "node",
                          slowest.first, slowest.second, time_text(means.first),
                          time_text(means.second), share_text(cost, 1)));
  }

  /// Other programs had the processors.
  void disturbed() {
    constexpr double kMuch = 0.1;
    if (has_hint("more-workers-than-cores") || has_hint("narrow-mask")) return;
    if (left_out_.empty() && disturbance_.share < kMuch) return;
    std::string text = fmt::format(
        "disturbed by other programs: workers were ready to run, and waited for a processor, for "
        "{} of the run. Record it again on a machine that runs nothing else",
        share_text(disturbance_.share, 1));
    if (!left_out_.empty()) {
      std::string all;
      for (const std::string& kind : left_out_) all += (all.empty() ? "" : ", ") + kind;
      text += fmt::format(" (it may explain what looks like {})", all);
    }
    add("disturbed", std::move(text));
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
  const Disturbance disturbance_ = disturbance_of(model_);
  std::vector<std::string> left_out_;  // kinds that other programs may explain
  std::vector<Hint> hints_;
};

}  // namespace

std::vector<Hint> hints(const Model& model, const Analysis& analysis) {
  return Advisor(model, analysis).all();
}

}  // namespace shoal::trace_tool

#pragma once
// Made-up runs: tasks with durations and dependencies over ranks, scheduled as a runtime would, and
// recorded through the recorder in virtual time.

#include <shoal/detail/env/env.hpp>
#include <shoal/trace.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/recorder.hpp"

namespace shoal::testing {

/// Time that a test sets.
class SetTime final : public env::Env {
 public:
  std::uint64_t now_ns() override { return now_ns_; }
  std::uint64_t random_seed() override { return 0; }
  std::unique_ptr<env::Parker> make_parker() override { return nullptr; }
  void yield() override {}
  void drive(const std::vector<env::Steppable*>& /*all*/) override {}
  void set(std::uint64_t now_ns) { now_ns_ = now_ns; }

 private:
  std::uint64_t now_ns_ = 0;
};

/// Options of a recording into `path` whose time a test sets.
inline trace::Options options_with(SetTime& time, const std::string& path) {
  trace::Options options;
  options.path = path;
  options.virtual_time = &time;
  return options;
}

/// Each rank has one worker, and a thread that handles messages, or none. Tasks are added after
/// those that they depend on. All times in nanoseconds.
class TraceWorld {
 public:
  explicit TraceWorld(int ranks)
      : ranks_(ranks),
        slowness_(static_cast<std::size_t>(ranks), 1),
        kept_waiting_ns_(static_cast<std::size_t>(ranks), 0) {}

  std::uint64_t latency_ns = 2000;
  std::uint64_t overhead_ns = 200;                            // before each task
  std::function<std::uint64_t(int from, int to)> link_ns;     // further latency of a link
  std::function<std::uint64_t(int from, int to)> link_bytes;  // beyond the 100 of each message
  trace::Identity identity = {{"program", "made up"}};
  std::uint32_t categories = trace::kAllCategories;
  bool has_progress_thread = true;  // without: the worker takes messages, between its tasks

  int add(const std::string& name, int rank, std::uint64_t duration_ns,
          std::vector<int> depends_on = {}, int priority = 0) {
    const auto number = static_cast<int>(tasks_.size());
    Task task;
    task.name = name;
    task.rank = rank;
    task.duration_ns = duration_ns;
    task.priority = priority;
    task.missing = depends_on.size();
    for (const int other : depends_on) tasks_[index(other)].successors.push_back(number);
    task.depends_on = std::move(depends_on);
    tasks_.push_back(std::move(task));
    return number;
  }
  /// Tasks of the rank take `times` as long.
  void slow_down(int rank, std::uint64_t times) { slowness_[index(rank)] = times; }
  /// Other programs have kept the worker of the rank waiting for a processor, within the durations
  /// of its tasks.
  void keep_waiting(int rank, std::uint64_t ns) { kept_waiting_ns_[index(rank)] = ns; }

  void record(const std::string& path) {
    schedule();
    SetTime time;
    trace::Options options = options_with(time, path);
    options.identity = identity;
    options.categories = categories;
    trace::Recorder recorder(options);
    std::vector<trace::Track> tracks;
    for (int rank = 0; rank < ranks_; ++rank) {
      tracks.push_back(recorder.make_track(rank, 0, "worker 0"));
      tracks.push_back(recorder.make_track(rank, 1, "progress"));
    }
    std::stable_sort(actions_.begin(), actions_.end(),
                     [](const Action& a, const Action& b) { return a.time_ns < b.time_ns; });
    const bool is_disturbed =
        *std::max_element(kept_waiting_ns_.begin(), kept_waiting_ns_.end()) > 0;
    const auto note_threads = [&](bool at_end) {
      if (!is_disturbed) return;
      for (int rank = 0; rank < ranks_; ++rank) {
        tracks[worker_track(rank)].enter();
        const std::uint64_t kept_ns = at_end ? kept_waiting_ns_[index(rank)] : 0;
        trace::thread_counter(trace::intern(trace::kRanName),
                              static_cast<double>(time.now_ns() - kept_ns));
        trace::thread_counter(trace::intern(trace::kKeptWaitingName), static_cast<double>(kept_ns));
      }
    };
    note_threads(false);
    for (const Action& action : actions_) {
      time.set(action.time_ns);
      tracks[action.track].enter();
      action.probe();
    }
    note_threads(true);
    trace::Track::leave();
    recorder.finish();
  }

 private:
  struct Task {
    std::string name;
    int rank = 0;
    std::uint64_t duration_ns = 0;
    int priority = 0;
    std::size_t missing = 0;
    std::vector<int> depends_on;
    std::vector<int> successors;
  };
  struct Action {
    std::uint64_t time_ns = 0;
    std::size_t track = 0;
    std::function<void()> probe;
  };
  enum class What { ends, arrives };
  /// Something that happens later: a task ends, or a message for a task arrives from a rank.
  struct Later {
    std::uint64_t time_ns = 0;
    std::uint64_t order = 0;
    What what = What::ends;
    int task = 0;
    int from = 0;
    std::uint64_t message = 0;
    bool operator>(const Later& other) const {
      return std::tie(time_ns, order) > std::tie(other.time_ns, other.order);
    }
  };

  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  static std::size_t worker_track(int rank) { return 2 * index(rank); }
  static std::uint64_t id_of(int task) { return index(task) + 1; }

  void at(std::uint64_t time_ns, std::size_t track, std::function<void()> probe) {
    actions_.push_back({time_ns, track, std::move(probe)});
  }
  void later(Later event) {
    event.order = order_++;
    queue_.push_back(event);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  void schedule() {
    waiting_.assign(index(ranks_), {});
    is_busy_.assign(index(ranks_), false);
    untaken_.assign(index(ranks_), {});
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
      if (tasks_[index(i)].missing > 0) continue;
      at(0, worker_track(tasks_[index(i)].rank), [i] { trace::task_ready(id_of(i), 0); });
      enqueue(i);
    }
    for (int rank = 0; rank < ranks_; ++rank) start_next(rank, 0);
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const Later now = queue_.back();
      queue_.pop_back();
      if (now.what == What::ends) {
        end(now.task, now.time_ns);
      } else {
        arrive(now);
      }
    }
  }

  void enqueue(int task) {
    const Task& one = tasks_[index(task)];
    waiting_[index(one.rank)].emplace(-one.priority, order_++, task);
  }

  void start_next(int rank, std::uint64_t now_ns) {
    auto& of_rank = waiting_[index(rank)];
    if (is_busy_[index(rank)] || of_rank.empty()) return;
    const int number = std::get<2>(*of_rank.begin());
    of_rank.erase(of_rank.begin());
    is_busy_[index(rank)] = true;
    const Task& task = tasks_[index(number)];
    const std::uint64_t begin_ns = now_ns + overhead_ns;
    at(begin_ns, worker_track(rank), [&task, number] {
      trace::describe_task(id_of(number), "(" + std::to_string(number) + ")");
      for (const int other : task.depends_on) trace::depends_on(id_of(number), id_of(other));
      trace::task_started(id_of(number), task.priority, trace::intern(task.name));
    });
    later({begin_ns + task.duration_ns * slowness_[index(rank)], 0, What::ends, number, 0, 0});
  }

  void end(int number, std::uint64_t now_ns) {
    const Task& task = tasks_[index(number)];
    const std::size_t track = worker_track(task.rank);
    for (const int next : task.successors) pass_on(next, task.rank, now_ns);
    at(now_ns, track, [number] { trace::task_ended(id_of(number)); });
    is_busy_[index(task.rank)] = false;
    for (Later& one : std::exchange(untaken_[index(task.rank)], {})) {
      one.time_ns = now_ns;
      take(one);
    }
    start_next(task.rank, now_ns);
  }

  void pass_on(int next, int from, std::uint64_t now_ns) {
    Task& task = tasks_[index(next)];
    if (task.rank == from) {
      if (--task.missing > 0) return;
      at(now_ns, worker_track(from), [next] { trace::task_ready(id_of(next), 0); });
      enqueue(next);
      return;
    }
    const std::uint64_t message = (std::uint64_t{1} << 32U) + ++messages_;
    const int to = task.rank;
    const std::uint64_t size_bytes = bytes_of(from, to);
    at(now_ns, worker_track(from), [message, to, size_bytes] {
      trace::message_sent(message, static_cast<std::uint32_t>(to), size_bytes,
                          trace::intern("fulfill"));
    });
    const std::uint64_t arrives_ns = now_ns + latency_ns + (link_ns ? link_ns(from, to) : 0);
    later({arrives_ns, 0, What::arrives, next, from, message});
  }

  void arrive(const Later& now) {
    const int rank = tasks_[index(now.task)].rank;
    if (!has_progress_thread && is_busy_[index(rank)]) {
      untaken_[index(rank)].push_back(now);
      return;
    }
    take(now);
    start_next(rank, now.time_ns);
  }

  void take(const Later& now) {
    Task& task = tasks_[index(now.task)];
    const bool is_last = --task.missing == 0;
    const std::size_t track = worker_track(task.rank) + (has_progress_thread ? 1 : 0);
    const std::uint64_t size_bytes = bytes_of(now.from, task.rank);
    at(now.time_ns, track, [now, is_last, size_bytes] {
      trace::message_received(now.message, static_cast<std::uint32_t>(now.from), size_bytes);
      trace::message_handled(now.message, trace::intern("fulfill"));
      if (is_last) trace::task_ready(id_of(now.task), 0);
      trace::message_done(now.message);
    });
    if (is_last) enqueue(now.task);
  }

  [[nodiscard]] std::uint64_t bytes_of(int from, int to) const {
    return 100 + (link_bytes ? link_bytes(from, to) : 0);
  }

  const int ranks_;
  std::vector<std::uint64_t> slowness_;         // by rank
  std::vector<std::uint64_t> kept_waiting_ns_;  // likewise
  std::vector<Task> tasks_;
  std::vector<Action> actions_;
  std::vector<Later> queue_;
  std::vector<std::set<std::tuple<int, std::uint64_t, int>>> waiting_;  // -priority, order, task
  std::vector<bool> is_busy_;                                           // by rank
  std::vector<std::vector<Later>> untaken_;  // messages that a busy worker takes later, by rank
  std::uint64_t order_ = 0;
  std::uint64_t messages_ = 0;
};

/// Rounds in which each rank's step needs all steps of the round before.
inline TraceWorld rounds_world(int ranks, int rounds, std::uint64_t step_ns) {
  TraceWorld world(ranks);
  std::vector<int> before;
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> now;
    for (int rank = 0; rank < ranks; ++rank) {
      now.push_back(world.add("step", rank, step_ns, before));
    }
    before = std::move(now);
  }
  return world;
}

/// A chain of panels on rank 0. Each makes ten updates of its rank ready, then the next panel, and
/// a task on rank 1. The updates hold up the next panel unless that has a priority.
inline TraceWorld panels_world(int panel_priority) {
  TraceWorld world(2);
  int last = -1;
  for (int panel = 0; panel < 20; ++panel) {
    const std::vector<int> after = last < 0 ? std::vector<int>{} : std::vector<int>{last};
    if (last >= 0) {
      for (int i = 0; i < 10; ++i) world.add("update", 0, 30'000, {last});
    }
    last = world.add("panel", 0, 20'000, after, panel_priority);
    world.add("solve", 1, 200'000, {last});
  }
  return world;
}

}  // namespace shoal::testing

#pragma once
// Made-up runs: tasks with durations and dependencies over ranks, scheduled as a runtime would, and
// recorded through the recorder in virtual time.

#include <shoal/env/env.hpp>
#include <shoal/trace/recorder.hpp>
#include <shoal/trace/trace.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

/// Each rank has one worker, and a thread that handles messages. Tasks are added after those that
/// they depend on. All times in nanoseconds.
class TraceWorld {
 public:
  explicit TraceWorld(int ranks) : ranks_(ranks), slowness_(static_cast<std::size_t>(ranks), 1) {}

  std::uint64_t latency_ns = 2000;
  std::uint64_t overhead_ns = 200;                            // before each task
  std::function<std::uint64_t(int from, int to)> link_ns;     // further latency of a link
  std::function<std::uint64_t(int from, int to)> link_bytes;  // beyond the 100 of each message
  trace::Identity identity = {{"program", "made up"}};

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

  void record(const std::string& path) {
    schedule();
    SetTime time;
    trace::Options options;
    options.path = path;
    options.virtual_time = &time;
    options.identity = identity;
    trace::Recorder recorder(options);
    std::vector<trace::Track> tracks;
    for (int rank = 0; rank < ranks_; ++rank) {
      tracks.push_back(recorder.make_track(rank, 0, "worker 0"));
      tracks.push_back(recorder.make_track(rank, 1, "progress"));
    }
    std::stable_sort(actions_.begin(), actions_.end(),
                     [](const Action& a, const Action& b) { return a.time_ns < b.time_ns; });
    for (const Action& action : actions_) {
      time.set(action.time_ns);
      tracks[action.track].enter();
      action.probe();
    }
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
  /// Something that happens later: a task becomes ready, or a worker becomes free.
  struct Later {
    std::uint64_t time_ns = 0;
    std::uint64_t order = 0;
    int rank = 0;
    int task = -1;  // -1: the worker is free
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
  void later(std::uint64_t time_ns, int rank, int task) {
    queue_.push_back({time_ns, order_++, rank, task});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  void schedule() {
    std::vector<bool> is_free(index(ranks_), true);
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
      const Task& task = tasks_[index(i)];
      if (task.missing > 0) continue;
      at(0, worker_track(task.rank), [i] { trace::task_ready(id_of(i), 0); });
      later(0, task.rank, i);
    }
    std::uint64_t sequence = 0;
    // Of each rank: (-priority, order, task).
    std::vector<std::vector<std::tuple<int, std::uint64_t, int>>> waiting(index(ranks_));
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const Later now = queue_.back();
      queue_.pop_back();
      auto& of_rank = waiting[index(now.rank)];
      if (now.task < 0) {
        is_free[index(now.rank)] = true;
      } else {
        of_rank.emplace_back(-tasks_[index(now.task)].priority, sequence++, now.task);
      }
      if (!is_free[index(now.rank)] || of_rank.empty()) continue;
      const auto next = std::min_element(of_rank.begin(), of_rank.end());
      const int task = std::get<2>(*next);
      of_rank.erase(next);
      is_free[index(now.rank)] = false;
      run(task, now.time_ns + overhead_ns);
    }
  }

  void run(int number, std::uint64_t begin_ns) {
    const Task& task = tasks_[index(number)];
    const std::size_t track = worker_track(task.rank);
    const std::uint64_t end_ns = begin_ns + task.duration_ns * slowness_[index(task.rank)];
    at(begin_ns, track, [&task, number] {
      trace::describe_task(id_of(number), "(" + std::to_string(number) + ")");
      for (const int other : task.depends_on) trace::depends_on(id_of(number), id_of(other));
      trace::task_started(id_of(number), task.priority, trace::intern(task.name));
    });
    for (const int next : task.successors) pass_on(next, task.rank, end_ns);
    at(end_ns, track, [number] { trace::task_ended(id_of(number)); });
    later(end_ns, task.rank, -1);
  }

  void pass_on(int next, int from, std::uint64_t now_ns) {
    Task& task = tasks_[index(next)];
    const bool is_last = --task.missing == 0;
    if (task.rank == from) {
      if (!is_last) return;
      at(now_ns, worker_track(from), [next] { trace::task_ready(id_of(next), 0); });
      later(now_ns, from, next);
      return;
    }
    const std::uint64_t message = (std::uint64_t{1} << 32U) + ++messages_;
    const int to = task.rank;
    const std::uint64_t size_bytes = 100 + (link_bytes ? link_bytes(from, to) : 0);
    at(now_ns, worker_track(from), [message, to, size_bytes] {
      trace::message_sent(message, static_cast<std::uint32_t>(to), size_bytes,
                          trace::intern("fulfill"));
    });
    const std::uint64_t arrives_ns = now_ns + latency_ns + (link_ns ? link_ns(from, to) : 0);
    at(arrives_ns, worker_track(to) + 1, [message, from, next, is_last, size_bytes] {
      trace::message_received(message, static_cast<std::uint32_t>(from), size_bytes);
      trace::message_handled(message, trace::intern("fulfill"));
      if (is_last) trace::task_ready(id_of(next), 0);
    });
    at(arrives_ns + 100, worker_track(to) + 1, [message] { trace::message_done(message); });
    if (is_last) later(arrives_ns, to, next);
  }

  const int ranks_;
  std::vector<std::uint64_t> slowness_;
  std::vector<Task> tasks_;
  std::vector<Action> actions_;
  std::vector<Later> queue_;
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

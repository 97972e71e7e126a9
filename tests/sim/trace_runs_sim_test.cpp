// Traces of simulated programs: the critical path of those whose path is known, and the events of
// every probe.

#include <shoal/event.hpp>
#include <shoal/shoal.hpp>
#include <shoal/trace/merge.hpp>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "support/trace_files.hpp"
#include "trace_tool/analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace shoal::trace_tool;  // NOLINT(google-build-using-namespace): what is tested
using shoal::Cost;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::testing::sim_config;
using shoal::testing::sized;
using shoal::testing::TemporaryFolder;
using shoal::testing::TraceContent;

constexpr double kMs = 1e-3;
constexpr std::int64_t kMsInNs = 1'000'000;

class TraceRuns : public ::testing::Test {
 protected:
  /// Records a simulated run; the path of its trace.
  std::string record(Config config, const std::function<void(World&)>& program) {
    config.trace_path = folder_.file("run.trace");
    {
      SimulatedWorld world(config);
      world.run([&](World& of_rank) {
        program(of_rank);
        return 0;
      });
    }
    return config.trace_path;
  }

 private:
  TemporaryFolder folder_;
};

/// The critical path of a trace.
struct Path {
  explicit Path(const std::string& file) : input(file), model(input), steps(critical_path(model)) {
    input.for_each_key([this](std::uint64_t task, std::string_view key) { keys[task] += key; });
  }
  /// Keys of the tasks on the path, each once.
  [[nodiscard]] std::vector<std::string> tasks() const {
    std::vector<std::string> found;
    for (const PathStep& step : steps) {
      if (step.what != PathStep::What::task) continue;
      const auto key = keys.find(model.tasks[model.segments[step.index].task].id);
      if (key == keys.end() || (!found.empty() && found.back() == key->second)) continue;
      found.push_back(key->second);
    }
    return found;
  }
  [[nodiscard]] std::int64_t ns_of(PathStep::What what) const {
    std::int64_t sum = 0;
    for (const PathStep& step : steps) {
      if (step.what == what) sum += step.end - step.begin;
    }
    return sum;
  }
  Input input;
  Model model;
  std::vector<PathStep> steps;
  std::map<std::uint64_t, std::string> keys;
};

/// Tasks that need some with smaller numbers. Each has a duration and a rank.
struct Dag {
  std::vector<int> ms;
  std::vector<int> rank;
  std::vector<std::vector<int>> before;
  std::vector<std::vector<int>> after;

  [[nodiscard]] int size() const { return static_cast<int>(ms.size()); }
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Dag random_dag(std::uint64_t seed, int tasks, int ranks) {
  std::mt19937_64 random(seed);
  Dag dag;
  dag.before.resize(at(tasks));
  dag.after.resize(at(tasks));
  for (int task = 0; task < tasks; ++task) {
    dag.ms.push_back(1 + static_cast<int>(random() % 1000));
    dag.rank.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(ranks)));
    for (int earlier = 0; earlier < task; ++earlier) {
      if (random() % 6 != 0) continue;
      dag.before[at(task)].push_back(earlier);
      dag.after[at(earlier)].push_back(task);
    }
  }
  return dag;
}

/// The chain with the largest sum of durations; `is_unique`: no other has as much.
std::vector<std::string> longest_chain(const Dag& dag, bool& is_unique) {
  std::vector<int> until(dag.ms.size());
  std::vector<int> previous(dag.ms.size(), -1);
  is_unique = true;
  int last = 0;
  for (int task = 0; task < dag.size(); ++task) {
    int best = 0;
    for (const int earlier : dag.before[at(task)]) {
      if (until[at(earlier)] == best) is_unique = false;
      if (until[at(earlier)] <= best) continue;
      best = until[at(earlier)];
      previous[at(task)] = earlier;
    }
    until[at(task)] = best + dag.ms[at(task)];
    if (task > 0 && until[at(task)] == until[at(last)]) is_unique = false;
    if (until[at(task)] > until[at(last)]) last = task;
  }
  std::vector<std::string> chain;
  for (int task = last; task >= 0; task = previous[at(task)]) {
    chain.push_back(std::to_string(task));
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// Runs a DAG as a task graph over ranks.
void run_dag(World& world, const Dag& dag) {
  TaskGraph<int> graph(world, "step");
  graph.set_rank([&](int k) { return Rank(dag.rank[at(k)]); })
      .set_indegree([&](int k) { return std::max(1, static_cast<int>(dag.before[at(k)].size())); })
      .set_mapping([&](int k) { return k % world.worker_count(); })
      .set_task([&](int k) {
        shoal::compute(Cost::of_seconds(dag.ms[at(k)] * kMs), [] {});
        for (const int next : dag.after[at(k)]) graph.fulfill(next);
      });
  for (int k = 0; k < dag.size(); ++k) {
    if (dag.before[at(k)].empty() && dag.rank[at(k)] == world.rank()) graph.fulfill(k);
  }
  world.wait();
}

// Tasks never wait for a worker here, and messages take microseconds beside milliseconds.
TEST_F(TraceRuns, RandomDags_TheCriticalPathIsTheLongestChain) {
  constexpr int kTasks = 24;
  constexpr int kRanks = 3;
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= sized(30, 8); ++seed) {
    SCOPED_TRACE(seed);
    const Dag dag = random_dag(seed, kTasks, kRanks);
    bool is_unique = false;
    const std::vector<std::string> expected = longest_chain(dag, is_unique);
    if (!is_unique) continue;
    ++checked;
    const Path path(
        record(sim_config(kRanks, kTasks, seed), [&](World& world) { run_dag(world, dag); }));
    EXPECT_EQ(path.tasks(), expected);
    std::int64_t end = 0;
    for (const PathStep& step : path.steps) {
      EXPECT_EQ(step.begin, end) << "the steps join";
      end = step.end;
    }
    EXPECT_EQ(end, path.model.duration);
  }
  EXPECT_GT(checked, 3);
}

// One worker runs 0 before 1, which alone has a successor; 3 is long, and nothing depends on it.
TEST_F(TraceRuns, ATaskThatWaitsForItsWorker_HasTheOneBeforeOnThePath) {
  const Dag dag{{20, 30, 40, 60}, {0, 0, 1, 2}, {{}, {}, {1}, {}}, {{}, {2}, {}, {}}};
  const Path path(record(sim_config(3, 1, 7), [&](World& world) {
    TaskGraph<int> graph(world, "step");
    graph.set_rank([&](int k) { return Rank(dag.rank[at(k)]); })
        .set_indegree([](int) { return 1; })
        .set_mapping([](int) { return 0; })
        .set_priority([](int k) { return -k; })
        .set_task([&](int k) {
          shoal::compute(Cost::of_seconds(dag.ms[at(k)] * kMs), [] {});
          if (k == 1) graph.fulfill(2);
        });
    for (const int k : {0, 1, 3}) {
      if (dag.rank[at(k)] == world.rank()) graph.fulfill(k);
    }
    world.wait();
  }));
  EXPECT_EQ(path.tasks(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_GE(path.ns_of(PathStep::What::task), 90 * kMsInNs);
  EXPECT_LT(path.model.duration, 91 * kMsInNs);
}

// A chain over three ranks of tasks of 1 ms, whose messages take 5 ms each.
TEST_F(TraceRuns, SlowMessages_AreOnThePathWithTheirTime) {
  Dag dag;
  constexpr int kTasks = 9;
  for (int k = 0; k < kTasks; ++k) {
    dag.ms.push_back(1);
    dag.rank.push_back(k % 3);
    dag.before.push_back(k > 0 ? std::vector{k - 1} : std::vector<int>());
    dag.after.push_back(k + 1 < kTasks ? std::vector{k + 1} : std::vector<int>());
  }
  Config config = sim_config(3, 2, 3);
  config.sim_net = "fixed:5ms,10G";
  const Path path(record(config, [&](World& world) { run_dag(world, dag); }));
  EXPECT_EQ(path.tasks().size(), at(kTasks));
  const std::int64_t messages = path.ns_of(PathStep::What::message);
  EXPECT_GE(messages, (kTasks - 1) * 5 * kMsInNs);
  EXPECT_LT(messages, (kTasks - 1) * 6 * kMsInNs);
  EXPECT_GE(path.ns_of(PathStep::What::task), kTasks * kMsInNs);
}

std::map<shoal::trace::Kind, std::uint64_t> counts_of(const TraceContent& content) {
  std::map<shoal::trace::Kind, std::uint64_t> counts;
  for (const auto& event : content.events) ++counts[event.kind()];
  return counts;
}

TEST_F(TraceRuns, EveryProbe_RecordsWhatHappened) {
  constexpr int kRanks = 3;
  constexpr int kTasks = 40;
  const TraceContent content = shoal::testing::read_trace(shoal::trace::part_path(
      record(sim_config(kRanks, 4, 5),
             [](World& world) {
               // All in the deque of one worker: the others steal.
               world.spawn([&world] {
                 for (int i = 0; i < kTasks; ++i) {
                   world.spawn([] { shoal::compute(Cost::of_seconds(kMs), [] {}); });
                 }
               });
               static_cast<void>(world.allreduce(1, std::plus<>()));
               world.barrier();
               shoal::Events events(world);
               if (world.rank() == 0) {
                 events.submit({{shoal::all, "part"}}, [](shoal::EventList&) {});
               }
               events.fire(Rank(0), "part", world.rank());
               world.wait();
             }),
      0));
  const auto counts = counts_of(content);
  using shoal::trace::Kind;
  const auto count = [&counts](Kind kind) {
    const auto found = counts.find(kind);
    return found == counts.end() ? 0U : found->second;
  };
  EXPECT_GE(count(Kind::task_ended), std::uint64_t{kRanks} * (kTasks + 1));
  EXPECT_EQ(count(Kind::task_started), count(Kind::task_ended));
  EXPECT_EQ(count(Kind::message_sent), count(Kind::message_received));
  EXPECT_EQ(count(Kind::message_handled), count(Kind::message_done));
  EXPECT_GT(count(Kind::steal), 0U);
  EXPECT_GT(count(Kind::sleep), 0U);
  EXPECT_GT(count(Kind::wake), 0U);
  EXPECT_LE(count(Kind::wake), count(Kind::sleep));
  EXPECT_GT(count(Kind::wave), 0U);
  EXPECT_EQ(count(Kind::collective_begin), 2U * kRanks);
  EXPECT_EQ(count(Kind::collective_end), 2U * kRanks);
  EXPECT_EQ(count(Kind::event_fired), std::uint64_t{kRanks});
  EXPECT_EQ(count(Kind::event_matched), std::uint64_t{kRanks});
  std::set<std::uint64_t> fired;
  for (const auto& event : content.of(Kind::event_fired)) fired.insert(event.id);
  for (const auto& event : content.of(Kind::event_matched)) EXPECT_TRUE(fired.contains(event.id));
  std::set<std::string> collectives;
  for (const auto& event : content.of(Kind::collective_begin)) {
    collectives.insert(content.names.at(event.name));
  }
  EXPECT_EQ(collectives.size(), 2U);
  for (const auto& event : content.of(Kind::steal)) EXPECT_LT(event.value, 4U);  // the victim
}

}  // namespace

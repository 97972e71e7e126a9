// Traces of simulated programs: the critical path of those whose path is known, and the events of
// every probe.

#include <shoal/event.hpp>
#include <shoal/loops.hpp>
#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "support/trace_files.hpp"
#include "trace/clocks.hpp"
#include "trace/merge.hpp"
#include "trace_tool/analysis.hpp"
#include "trace_tool/convert.hpp"
#include "trace_tool/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trace_runs_sim_test {

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
using ::testing::HasSubstr;

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

 protected:
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

/// Runs a DAG as a task graph over ranks, some times.
void run_dag(World& world, const Dag& dag, bool is_dense = false, int rounds = 1) {
  TaskGraph<int> graph(world, "step");
  graph.set_rank([&](int k) { return Rank(dag.rank[at(k)]); })
      .set_indegree([&](int k) { return std::max(1, static_cast<int>(dag.before[at(k)].size())); })
      .set_mapping([&](int k) { return k % world.worker_count(); })
      .set_task([&](int k) {
        shoal::compute(Cost::of_seconds(dag.ms[at(k)] * kMs), [] {});
        for (const int next : dag.after[at(k)]) graph.fulfill(next);
      });
  if (is_dense) graph.set_dense(dag.ms.size(), [](int k) { return at(k); });
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < dag.size(); ++k) {
      if (dag.before[at(k)].empty() && dag.rank[at(k)] == world.rank()) graph.fulfill(k);
    }
    world.wait();
    if (round + 1 == rounds) return;
    graph.reset();
    world.barrier();
  }
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

/// Dependencies between tasks, by name and key: "a > b".
std::multiset<std::string> edges_of(const Model& model) {
  const auto text = [&](std::uint32_t task) {
    const auto key = model.keys.find(model.tasks[task].id);
    return model.name_of(model.tasks[task]) + (key == model.keys.end() ? "" : key->second);
  };
  std::multiset<std::string> edges;
  for (std::uint32_t task = 0; task < model.tasks.size(); ++task) {
    for (const Cause& need : model.needs_of(task)) {
      const std::uint32_t source = model.source_of(need);
      if (source == kNone || model.is_main(model.tasks[source])) continue;
      edges.insert(text(source) + " > " + text(task));
    }
  }
  return edges;
}

using Edges = std::multiset<std::string>;

/// Waits of tasks in their middle, without the main function: "a > b", where b waits for a.
Edges waits_of(const Model& model) {
  Edges edges;
  for (std::uint32_t i = 0; i < model.segments.size(); ++i) {
    const std::uint32_t task = model.segments[i].task;
    for (const Wait& wait : model.waits_of(i)) {
      const std::uint32_t source = model.source_of(wait.cause);
      if (model.is_main(model.tasks[task])) continue;
      edges.insert(model.name_of(model.tasks[source]) + " > " + model.name_of(model.tasks[task]));
    }
  }
  return edges;
}

TEST_F(TraceRuns, RandomDags_EveryDependencyIsRecorded) {
  constexpr int kTasks = 24;
  for (const int ranks : {1, 3}) {
    for (const bool is_dense : {false, true}) {
      for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, dense " << is_dense << ", " << seed);
        const Dag dag = random_dag(seed, kTasks, ranks);
        const Path path(record(sim_config(ranks, 2, seed),
                               [&](World& world) { run_dag(world, dag, is_dense, 2); }));
        Edges expected;
        for (int k = 0; k < dag.size(); ++k) {
          for (const int before : dag.before[at(k)]) {
            const std::string edge =
                "step" + std::to_string(before) + " > step" + std::to_string(k);
            expected.insert(edge);  // in each of two rounds
            expected.insert(edge);
          }
        }
        EXPECT_EQ(edges_of(path.model), expected);
      }
    }
  }
}

const Edges kDiamond = {"a > b", "a > c", "b > d", "c > d"};

Edges without_keys(const Edges& edges) {
  Edges plain;
  for (const std::string& edge : edges) {
    const std::size_t arrow = edge.find(" > ");
    const std::string to = edge.substr(arrow + 3);
    plain.insert(edge.substr(0, std::min(edge.find('('), arrow)) + " > " +
                 to.substr(0, to.find('(')));
  }
  return plain;
}

void work_ms(int ms) {
  shoal::compute(Cost::of_seconds(ms * kMs), [] {});
}

// With a task before the insertion of the others, it has ended when they are inserted.
TEST_F(TraceRuns, DiamondInAFlow_HasFourEdges) {
  for (const bool is_late : {false, true}) {
    for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
      const Path path(record(sim_config(1, 3, seed), [is_late](World& world) {
        shoal::Flow flow(world, "f");
        const auto x = flow.data(0, {.name = "x"});
        const auto y = flow.data(0, {.name = "y"});
        const auto z = flow.data(0, {.name = "z"});
        const shoal::Codelet a("a", [](int& /*x*/) { work_ms(1); });
        const shoal::Codelet b("b", [](const int& /*x*/, int& /*y*/) { work_ms(2); });
        const shoal::Codelet c("c", [](const int& /*x*/, int& /*z*/) { work_ms(3); });
        const shoal::Codelet d("d", [](const int& /*y*/, const int& /*z*/) { work_ms(1); });
        flow.insert(a, write(x));
        if (is_late) flow.wait();
        flow.insert(b, read(x), write(y));
        flow.insert(c, read(x), write(z));
        if (is_late) flow.wait();
        flow.insert(d, read(y), read(z));
        flow.wait();
      }));
      EXPECT_EQ(without_keys(edges_of(path.model)), kDiamond) << seed;
    }
  }
}

// Names of transfers are without the indices of the data.
TEST_F(TraceRuns, DiamondInAFlowOverRanks_HasItsTransfers) {
  for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
    const Path path(record(sim_config(2, 2, seed), [](World& world) {
      shoal::Flow flow(world, "f");
      const auto x = flow.data(0, {.owner = Rank(0), .name = "x[1]"});
      const auto y = flow.data(0, {.owner = Rank(0), .name = "y"});
      const auto z = flow.data(0, {.owner = Rank(1), .name = "z 7"});
      const shoal::Codelet a("a", [](int& /*x*/) { work_ms(1); });
      const shoal::Codelet b("b", [](const int& /*x*/, int& /*y*/) { work_ms(2); });
      const shoal::Codelet c("c", [](const int& /*x*/, int& /*z*/) { work_ms(3); });
      const shoal::Codelet d("d", [](int& /*y*/, const int& /*z*/) { work_ms(1); });
      flow.insert(a, write(x));
      flow.insert(b, read(x), write(y));
      flow.insert(c, read(x), write(z));
      flow.insert(d, read_write(y), read(z));
      flow.wait();
    }));
    const Edges expected = {"a > b", "a > sending x", "sending x > receiving x", "receiving x > c",
                            "b > d", "c > sending z", "sending z > receiving z", "receiving z > d"};
    EXPECT_EQ(without_keys(edges_of(path.model)), expected) << seed;
  }
}

// A value that is acquired in between: the reader waits for what the main function waited for.
TEST_F(TraceRuns, AcquireInAFlow_PassesDependenciesOn) {
  const Path path(record(sim_config(1, 2, 3), [](World& world) {
    shoal::Flow flow(world, "f");
    const auto x = flow.data(0, {.name = "x"});
    const shoal::Codelet a("a", [](int& /*x*/) { work_ms(1); });
    const shoal::Codelet b("b", [](const int& /*x*/) { work_ms(1); });
    flow.insert(a, write(x));
    {
      auto held = flow.acquire(read_write(x));
      *held += 1;
    }
    flow.insert(b, read(x));
    flow.wait();
  }));
  EXPECT_EQ(without_keys(edges_of(path.model)), Edges{"a > b"});
}

// Its tasks do not run. A value that another rank reads is a transfer.
TEST_F(TraceRuns, GraphOfAFlow_IsWrittenWithoutARun) {
  for (const int ranks : {1, 2}) {
    Config config = sim_config(ranks, 2, 3);
    config.flow_dag = folder_.file("dag.dot");
    std::atomic<int> calls = 0;
    record(config, [&calls](World& world) {
      for (int i = 0; i < 2; ++i) {
        shoal::Flow flow(world, "f");
        const auto x = flow.data(0, {.name = "x"});
        const auto y = flow.data(0, {.name = "y"});
        const auto z = flow.data(0, {.owner = Rank(world.size() - 1), .name = "z"});
        const shoal::Codelet a("a", [&](int& /*x*/) { ++calls; });
        const shoal::Codelet b("b", [&](const int& /*x*/, int& /*y*/) { ++calls; });
        const shoal::Codelet c("c", [&](const int& /*x*/, int& /*z*/) { ++calls; });
        const shoal::Codelet d("d", [&](int& /*y*/, const int& /*z*/) { ++calls; });
        flow.insert(a, write(x));
        flow.insert(b, read(x), write(y));
        flow.insert(c, read(x), write(z));
        flow.insert(d, read_write(y), read(z));
        flow.wait();
      }
    });
    EXPECT_EQ(calls, 0);
    for (const char* const name : {"dag.dot", "dag.dot.2"}) {
      std::ifstream in(folder_.file(name));
      const std::string dot{std::istreambuf_iterator<char>(in), {}};
      EXPECT_THAT(dot, HasSubstr("t2 [label=\"b\\nread x, write y\\nrank 0\"]"));
      const std::string size = std::to_string(sizeof(int));
      const std::string to_c =
          ranks == 1 ? "t1 -> t3;"
                     : "t1 -> t3 [style=dashed label=\"x, " + size + " B, rank 0 to 1\"];";
      const std::string to_d =
          ranks == 1 ? "t3 -> t4;"
                     : "t3 -> t4 [style=dashed label=\"z, " + size + " B, rank 1 to 0\"];";
      for (const std::string& edge :
           {std::string("t1 -> t2;"), std::string("t2 -> t4;"), to_c, to_d}) {
        EXPECT_THAT(dot, HasSubstr(edge));
      }
      EXPECT_EQ(std::count(dot.begin(), dot.end(), '>'), 4) << dot;
    }
  }
}

// Tasks that are ready together have their own names, whichever worker begins them.
TEST_F(TraceRuns, EventTasks_HaveTheirOwnNames) {
  for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
    const Path path(record(sim_config(1, 3, seed), [](World& world) {
      shoal::Events events(world);
      for (int i = 0; i < 12; ++i) {
        events.submit({{shoal::self, "go"}}, [i](shoal::EventList&) { work_ms(1 + i); },
                      {.name = "task " + std::to_string(i)});
      }
      for (int i = 0; i < 12; ++i) events.fire(shoal::self, "go");
      world.wait();
    }));
    std::map<std::string, std::int64_t> busy;
    for (const Task& task : path.model.tasks) {
      if (!path.model.is_main(task)) busy[path.model.name_of(task)] += task.busy;
    }
    EXPECT_EQ(busy.size(), 12U);
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(busy["task " + std::to_string(i)], (1 + i) * kMsInNs) << seed;
    }
  }
}

TEST_F(TraceRuns, PlacesAndColours_AreKnownByName) {
  const Path path(record(sim_config(1, 2, 3), [](World& world) {
    world.spawn([] { work_ms(1); }, {.name = "cell"});
    const auto message = world.make_am([](int) {}, {.name = "greeting"});
    message.send(Rank(0), 1);
    run_dag(world, {{1, 1}, {0, 0}, {{}, {0}}, {{1}, {}}});
    shoal::Flow flow(world, "f");
    const auto x = flow.data(0, {.name = "x[1]"});
    shoal::Codelet a("a", [](int& /*x*/) { work_ms(1); });
    a.set_colour(0x336699);
    flow.insert(a, write(x));
    flow.wait();
  }));
  const auto here = ::testing::MatchesRegex(".*trace_runs_sim_test.cpp:[0-9]+");
  for (const char* const name : {"cell", "greeting", "step"}) {
    EXPECT_THAT(path.model.places.find(name)->second, ::testing::ElementsAre(here));
  }
  // Where its task was inserted, and the codelet made.
  EXPECT_THAT(path.model.places.find("a")->second, ::testing::ElementsAre(here, here));
  EXPECT_EQ(path.model.colours, (std::map<std::string, std::string, std::less<>>{{"a", "336699"}}));
}

TEST_F(TraceRuns, DiamondOfEvents_HasFourEdges) {
  for (const int ranks : {1, 2}) {
    for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
      const Path path(record(sim_config(ranks, 3, seed), [](World& world) {
        shoal::Events events(world);
        const Rank last(world.size() - 1);
        if (world.rank() == 0) {
          events.submit({},
                        [&](shoal::EventList&) {
                          work_ms(1);
                          events.fire(shoal::self, "to b");
                          events.fire(last, "to c");
                        },
                        {.name = "a"});
          events.submit({{shoal::any, "to b"}},
                        [&](shoal::EventList&) {
                          work_ms(2);
                          events.fire(last, "b to d");
                        },
                        {.name = "b"});
        }
        if (world.rank() == last) {
          events.submit({{shoal::any, "to c"}},
                        [&](shoal::EventList&) {
                          work_ms(3);
                          events.fire(shoal::self, "c to d");
                        },
                        {.name = "c"});
          events.submit({{shoal::any, "b to d"}, {shoal::any, "c to d"}},
                        [](shoal::EventList&) { work_ms(1); }, {.name = "d"});
        }
        world.wait();
      }));
      EXPECT_EQ(edges_of(path.model), kDiamond) << ranks << " ranks, seed " << seed;
    }
  }
}

TEST_F(TraceRuns, ContinuationsOfFutures_NeedAllOfThem) {
  for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
    const Path path(record(sim_config(1, 3, seed), [](World& world) {
      auto b = world.async([] { work_ms(2); }, {.name = "b"});
      auto c = world.async([] { work_ms(3); }, {.name = "c"});
      auto e = world.async([] { work_ms(1); }, {.name = "e"});
      shoal::when_all(shoal::when_all(std::move(b), std::move(c)), std::move(e))
          .then([] { work_ms(1); }, "d")
          .get();
    }));
    EXPECT_EQ(edges_of(path.model), (Edges{"b > d", "c > d", "e > d"})) << seed;
  }
}

// Also parts that have ended before a task waits for all of them.
TEST_F(TraceRuns, FinishedPartsOfFutures_AreDependencies) {
  for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
    const Path path(record(sim_config(1, 4, seed), [](World& world) {
      auto b = world.async([] { work_ms(2); }, {.name = "b"});
      auto c = world.async([] { work_ms(3); }, {.name = "c"});
      auto inner = shoal::when_all(std::move(b), std::move(c));
      shoal::sleep_for(std::chrono::milliseconds(10));
      auto e = world.async([] { work_ms(30); }, {.name = "e"});
      shoal::when_all(std::move(inner), std::move(e)).then([] { work_ms(1); }, "d").get();
      std::vector<shoal::Future<void>> some;
      some.push_back(world.async([] { work_ms(1); }, {.name = "f"}));
      some.push_back(world.async([] { work_ms(90); }, {.name = "late"}));
      shoal::sleep_for(std::chrono::milliseconds(10));
      shoal::when_any(std::move(some))
          .then([](const shoal::AnyReady<void>& /*any*/) { work_ms(1); }, "g")
          .get();
    }));
    EXPECT_EQ(edges_of(path.model), (Edges{"b > d", "c > d", "e > d", "f > g"})) << seed;
  }
}

// A worker may run the awaited task on the stack of the one that waits.
TEST_F(TraceRuns, WaitsInTheMiddleOfTasks_AreOnThePathAndInTheGraph) {
  for (std::uint64_t seed = 1; seed <= sized(20, 5); ++seed) {
    const std::string file = record(sim_config(1, 3, seed), [](World& world) {
      world.spawn(
          [&world] {
            auto a = world.async([] { work_ms(5); }, {.name = "a"});
            work_ms(1);
            a.get();
            auto b = world.async([] { work_ms(2); }, {.name = "b"});
            auto c = world.async([] { work_ms(4); }, {.name = "c"});
            shoal::when_all(std::move(b), std::move(c)).get();
            work_ms(2);
          },
          {.name = "m"});
      world.wait();
    });
    const Path path(file);
    EXPECT_EQ(waits_of(path.model), (Edges{"a > m", "b > m", "c > m"})) << seed;
    const std::int64_t chain = analyse(path.model).bounds.chain;
    EXPECT_GE(chain, 11 * kMsInNs) << seed;  // a, c, and the end of m
    EXPECT_LE(chain, 11 * kMsInNs + kMsInNs / 10) << seed;
    EXPECT_GE(path.ns_of(PathStep::What::task), 11 * kMsInNs) << seed;
    Input input(file);
    to_dot(input, folder_.file("waits.dot"));
    std::ifstream dot(folder_.file("waits.dot"));
    const std::string text{std::istreambuf_iterator<char>(dot), {}};
    std::size_t waits = 0;
    for (std::size_t at = 0; (at = text.find("[style=dotted]", at)) != std::string::npos; ++at) {
      ++waits;
    }
    EXPECT_EQ(waits, 3U) << text;
  }
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

/// Shares of a trace's messages and path.
struct Facts {
  explicit Facts(const std::string& file) : input(file), model(input), found(analyse(model)) {}
  Input input;
  Model model;
  Analysis found;
};

TEST_F(TraceRuns, LargeMessages_CountAllOfTheirBytes) {
  constexpr std::size_t kNumbers = 300'000;
  const Facts facts(record(sim_config(4, 1, 3), [](World& world) {
    std::vector<double> place(kNumbers);
    const auto large = world.make_large_am<double>([&](std::size_t) { return std::span(place); },
                                                   [](std::span<double>) {}, [] {});
    const std::vector<double> numbers(kNumbers, 1.0);
    if (world.rank() == 0) large.send(Rank(1), std::span<const double>(numbers));
    world.wait();
  }));
  constexpr std::uint64_t kBytes = kNumbers * sizeof(double);
  EXPECT_GE(facts.found.pairs.at({0, 1}).bytes, kBytes);
  EXPECT_LT(facts.found.pairs.at({0, 1}).bytes, kBytes + 1000);
}

// Of every model: multicasts in segments, collective operations, teams, graphs, flows, events,
// objects, global memory, loops.
TEST_F(TraceRuns, TasksAndMessages_HaveNamesThatAProgramKnows) {
  class Cell : public shoal::DistributedObject<Cell> {
   public:
    explicit Cell(shoal::Team& team) : DistributedObject(team) {}
    int twice(int x) const { return 2 * x; }
  };
  const Facts facts(record(sim_config(4, 2, 3), [](World& world) {
    constexpr std::size_t kNumbers = 100'000;
    std::vector<double> place(kNumbers);
    const auto large = world.make_large_am<double>([&](std::size_t) { return std::span(place); },
                                                   [](std::span<double>) {}, [] {});
    const auto call = world.make_function([](int x) { return x + 1; }, {.name = "next"});
    TaskGraph<int> graph(world, "graph");
    graph.set_rank([](int k) { return Rank(k % 4); })
        .set_indegree([](int) { return 1; })
        .set_task([&graph](int k) {
          if (k < 8) graph.fulfill(k + 1);
        });
    shoal::Events events(world);
    const std::vector<double> numbers(kNumbers, 1.0);
    if (world.rank() == 0) {
      large.multicast(shoal::Recipients({Rank(1), Rank(2), Rank(3)}, {shoal::TreeShape::chain}),
                      std::span<const double>(numbers));
      EXPECT_EQ(call.call(Rank(1), 1).get(), 2);
      graph.fulfill(0);
    }
    const int next = (world.rank().value() + 1) % 4;
    events.submit({{Rank((world.rank().value() + 3) % 4), "go"}}, [](shoal::EventList&) {});
    events.fire(Rank(next), "go");
    static_cast<void>(world.gather(numbers, Rank(0)));
    static_cast<void>(world.allreduce(world.rank().value(), std::plus<>()));
    world.wait();
    shoal::Flow flow(world, "flow");
    const auto x = flow.data(0, {.owner = Rank(0), .name = "x"});
    const auto y = flow.data(0, {.owner = Rank(1), .name = "y"});
    flow.insert([](int& value) { value = 1; }, write(x));
    flow.insert([](const int& from, int& to) { to = from; }, read(x), write(y));
    flow.wait();
    {
      Cell cell(world);
      EXPECT_EQ(cell.sync<&Cell::twice>(Rank(1), 4), 8);
      cell.fence();
    }
    {
      shoal::GlobalMemory memory(world, {.name = "m"});
      shoal::GlobalVector<int> vector(memory, 4);
      vector.put(at(next), 1).wait();
      world.barrier();
      EXPECT_EQ(vector.get(at(world.rank().value())), 1);
      world.wait();
    }
    shoal::parallel_for(0, 100, [](int) {});
    world.wait();
  }));
  std::set<std::string> names;
  for (const Task& task : facts.model.tasks) names.insert(facts.input.name(task.name));
  for (const Message& message : facts.model.messages) {
    names.insert(facts.input.name(message.name));
  }
  EXPECT_GT(names.size(), 10U);
  EXPECT_TRUE(names.contains("a large multicast"));
  for (const std::string& name : names) {  // types of the interface are known, namespaces are not
    EXPECT_THAT(name, ::testing::Not(::testing::ContainsRegex("shoal::[a-z]")));
  }
}

// The third task writes where the value of the first one is still on its way.
TEST_F(TraceRuns, AWriteBehindItsOwnSend_HasTheTasksBeforeItOnThePath) {
  constexpr std::size_t kNumbers = 1'000'000;
  Config config = sim_config(2, 1, 5);
  config.sim_net = "fixed:1ms,1G";
  const Facts facts(record(config, [](World& world) {
    shoal::Flow flow(world, "values");
    const auto values = flow.vector<double>(nullptr, kNumbers, {.name = "values"});
    const auto sum = flow.data(0.0, {.owner = Rank(1), .name = "sum"});
    const shoal::Codelet make(
        "make", [](std::span<double>) { shoal::compute(Cost::of_seconds(2 * kMs), [] {}); });
    const shoal::Codelet use("use", [](std::span<const double>, double&) {});
    const shoal::Codelet again(
        "again", [](std::span<double>) { shoal::compute(Cost::of_seconds(3 * kMs), [] {}); });
    flow.insert(make, write(values));
    flow.insert(use, read(values), write(sum));
    flow.insert(again, write(values));
    flow.wait();
  }));
  std::map<std::string, std::int64_t> parts;
  for (const PathShare& share : facts.found.path_shares) {
    if (share.what == PathStep::What::task) parts[share.name] += share.ns;
    if (share.what == PathStep::What::begin) parts["begin"] += share.ns;
  }
  EXPECT_EQ(parts["again"], 3 * kMsInNs) << path_text(facts.found);
  EXPECT_EQ(parts["make"], 2 * kMsInNs) << path_text(facts.found);
  EXPECT_LT(parts["begin"], kMsInNs / 2) << path_text(facts.found);
  std::set<std::string> keys;
  for (const auto& [task, key] : facts.model.keys) keys.insert(key);
  EXPECT_TRUE(keys.contains("(values, sum)")) << "the data of a task are its key";
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

TEST_F(TraceRuns, InvocationsOfObjects_AreSpansOfTheirMethods) {
  using shoal::trace::Kind;
  class Cell : public shoal::DistributedObject<Cell> {
   public:
    explicit Cell(shoal::Team& team) : DistributedObject(team) {}
    int twice(int x) const { return 2 * x; }
    int around(int x) { return sync<&Cell::twice>(Rank(1 - rank().value()), x); }
  };
  const TraceContent content = shoal::testing::read_trace(
      shoal::trace::part_path(record(sim_config(2, 1, 3),
                                     [](World& world) {
                                       Cell cell(world);
                                       if (world.rank() == 0) {
                                         EXPECT_EQ(cell.sync<&Cell::around>(Rank(1), 4), 8);
                                       }
                                       cell.fence();
                                     }),
                              0));
  std::map<std::string, std::uint64_t> begun;
  std::set<std::uint64_t> open;
  for (const auto& event : content.of(Kind::span_begin)) {
    const std::string& name = content.names.at(event.name);
    if (name.find("Cell::") == std::string::npos) continue;
    ++begun[name.substr(name.find("Cell::"))];
    EXPECT_EQ(event.value, 1U) << "number of the object";
    open.insert(event.id);
  }
  EXPECT_EQ(begun, (std::map<std::string, std::uint64_t>{{"Cell::around", 1}, {"Cell::twice", 1}}));
  for (const auto& event : content.of(Kind::span_end)) open.erase(event.id);
  EXPECT_TRUE(open.empty());
}

TEST_F(TraceRuns, CallsOfLoops_AreSpans_AlsoWhereNobodyTakesPart) {
  using shoal::trace::Kind;
  for (const int workers : {1, 2}) {
    const TraceContent content = shoal::testing::read_trace(shoal::trace::part_path(
        record(sim_config(1, workers, 3),
               [](World&) {
                 shoal::parallel_for(0, 1, [](int) {});  // no worker could take part
                 try {
                   shoal::parallel_for(0, 3, [](int) { throw 1; }, {.name = "fails"});
                 } catch (int) {
                   return;
                 }
               }),
        0));
    std::map<std::string, int> begun;
    std::set<std::uint64_t> open;
    for (const auto& event : content.of(Kind::span_begin)) {
      ++begun[content.names.at(event.name)];
      open.insert(event.id);
    }
    for (const auto& event : content.of(Kind::span_end)) open.erase(event.id);
    EXPECT_EQ(begun, (std::map<std::string, int>{{"parallel_for", 1}, {"fails", 1}}));
    EXPECT_TRUE(open.empty()) << "a call that throws ends";
  }
}

TEST_F(TraceRuns, PartsOfLoops_AreTasksWithTheirIterations) {
  using shoal::trace::Kind;
  const TraceContent content = shoal::testing::read_trace(shoal::trace::part_path(
      record(sim_config(1, 2, 3),
             [](World&) {
               shoal::parallel_for(0, 100,
                                   [](int) { shoal::compute(Cost::of_seconds(1e-5), [] {}); },
                                   {.name = "sweep"});
             }),
      0));
  std::set<std::uint64_t> parts;
  for (const auto& event : content.of(Kind::task_created)) {
    if (content.names.at(event.name) == "sweep") parts.insert(event.id);
  }
  EXPECT_GE(parts.size(), 1U);
  for (const Kind kind : {Kind::task_ready, Kind::task_started, Kind::task_ended}) {
    std::set<std::uint64_t> seen;
    for (const auto& event : content.of(kind)) seen.insert(event.id);
    for (const std::uint64_t part : parts) EXPECT_TRUE(seen.contains(part));
  }
  std::size_t keys = 0;
  for (const auto& detail : content.details) {
    if (!parts.contains(detail.id)) continue;
    const std::string key(detail.bytes.data(), detail.length);
    EXPECT_THAT(key, testing::MatchesRegex("[0-9]+ to [0-9]+"));
    ++keys;
  }
  EXPECT_EQ(keys, parts.size());
}

TEST_F(TraceRuns, LargeMessagesWindowsAndWaits_AreRecordedWithBothEnds) {
  constexpr std::size_t kBytes = 100'000;
  Config config = sim_config(2, 1, 9);
  config.sim_net = "fixed:10us,1G";
  config.window_bytes = config.packet_bytes;
  const TraceContent content = shoal::testing::read_trace(shoal::trace::part_path(
      record(config,
             [](World& world) {
               std::vector<char> place(kBytes);
               const auto large = world.make_large_am<char>(
                   [&](std::size_t) { return std::span(place); }, [](std::span<char>) {}, [] {});
               const auto small = world.make_am([](int) {});
               const std::vector<char> bytes(kBytes, 'x');
               if (world.rank() == 0) {
                 large.send(Rank(1), std::span<const char>(bytes));
                 for (int i = 0; i < 5000; ++i) small.send(Rank(1), i);
                 world.spawn([] { shoal::sleep_for(std::chrono::milliseconds(1)); });
               }
               world.wait();
             }),
      0));
  using shoal::trace::Event;
  using shoal::trace::Kind;
  std::vector<std::string> phases;
  std::set<std::uint64_t> messages;
  std::uint64_t before = 0;
  for (const Event& event : content.of(Kind::large_phase)) {
    phases.push_back(content.names.at(event.name));
    messages.insert(event.id);
    EXPECT_GE(event.time, before);
    before = event.time;
    const bool knows_size =
        phases.back() == "payload announced" || phases.back() == "payload awaited";
    EXPECT_EQ(shoal::trace::size_bytes_of(event.value), knows_size ? kBytes : 0U) << phases.back();
    const bool is_sender =
        phases.back() == "payload announced" || phases.back() == "payload released";
    EXPECT_EQ(shoal::trace::peer_of(event.value), is_sender ? 1U : 0U) << phases.back();
  }
  EXPECT_THAT(phases, ::testing::UnorderedElementsAre("payload announced", "payload awaited",
                                                      "payload arrived", "payload released"));
  ASSERT_FALSE(phases.empty());
  EXPECT_EQ(phases.front(), "payload announced");
  ASSERT_EQ(messages.size(), 1U) << "all phases are of one message";
  std::set<std::uint64_t> sent;
  for (const Event& event : content.of(Kind::message_sent)) sent.insert(event.id);
  EXPECT_TRUE(sent.contains(*messages.begin()));

  const auto counts = counts_of(content);
  EXPECT_GT(counts.at(Kind::window_full), 0U);
  EXPECT_EQ(counts.at(Kind::window_full), counts.at(Kind::window_open));
  for (const Event& event : content.of(Kind::window_full)) EXPECT_EQ(event.value, 1U);
  std::set<std::string> reasons;
  for (const Event& event : content.of(Kind::task_parked)) {
    reasons.insert(content.names.at(event.name));
  }
  EXPECT_THAT(reasons, ::testing::IsSupersetOf({"sleep_for(0.001 s)", "send() to rank 1"}));
  EXPECT_EQ(counts.at(Kind::task_parked), counts.at(Kind::task_resumed));
}

TEST_F(TraceRuns, AWaitThatAMessageAtHandEnds_IsNotParked) {
  using shoal::trace::Kind;
  const TraceContent content = shoal::testing::read_trace(shoal::trace::part_path(
      record(sim_config(1, 1, 1),
             [](World& w) {
               shoal::Promise<int> promise;
               shoal::Future<int> future = promise.future();
               const auto am = w.make_am([&promise](int value) { promise.set_value(value); });
               am.send(Rank(0), 7);
               EXPECT_EQ(future.get(), 7);
               shoal::Promise<int> later;
               shoal::Future<int> of_task = later.future();
               w.spawn([&later] {
                 shoal::sleep_for(std::chrono::milliseconds(1));
                 later.set_value(8);
               });
               EXPECT_EQ(of_task.get(), 8);
             }),
      0));
  std::vector<std::string> reasons;
  for (const Event& event : content.of(Kind::task_parked)) {
    reasons.push_back(content.names.at(event.name));
  }
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "get() of 'promise of int'"), 1)
      << "only the second wait is one for something that is not there";
}

// ---- clocks that disagree. Virtual time is the truth: every rank gets a clock that is a known
// function of it, and compares it with that of its parent by messages of the simulated network.

struct SkewedClock {
  double offset_ns = 0;
  double drift = 0;
  double ticks_per_ns = 1;

  [[nodiscard]] double raw_ns(std::uint64_t t) const {
    return offset_ns + static_cast<double>(t) * (1 + drift);
  }
  [[nodiscard]] std::uint64_t ticks(std::uint64_t t) const {
    return static_cast<std::uint64_t>(std::llround(raw_ns(t) * ticks_per_ns));
  }
};

constexpr double kSecondNs = 1e9;
constexpr int kClockRanks = 4;
constexpr int kSeconds = 60;
constexpr int kRoundSeconds = 2;

std::vector<SkewedClock> draw_clocks(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<SkewedClock> clocks;
  for (int rank = 0; rank < kClockRanks; ++rank) {
    const double drift = (rank % 2 == 0 ? 1 : -1) * (30e-6 + 20e-6 * share(random));
    clocks.push_back({(10 + 50 * share(random)) * kSecondNs, drift, 1 + 3 * share(random)});
  }
  return clocks;
}

int parent_of(int rank) { return (rank - 1) / 2; }

/// The sync points of each rank, in the order in which they were measured.
using Comparisons = std::vector<std::vector<shoal::trace::SyncPoint>>;

/// A token goes round, again and again; between, every rank compares its clock with its parent's.
void run_ring(World& world, const std::vector<SkewedClock>& clocks, Comparisons& found) {
  using shoal::trace::PingPong;
  constexpr std::size_t kTrips = 30;
  constexpr int kHops = 20;
  const SkewedClock& mine = clocks[at(world.rank().value())];
  std::vector<PingPong> trips;
  const auto now = [&] { return mine.ticks(world.now_ns()); };
  std::function<void()> ask;
  const auto answer = world.make_am([&](std::uint64_t start, std::uint64_t remote) {
    trips.push_back({start, remote, now()});
    if (trips.size() < kTrips) ask();
  });
  const auto question =
      world.make_am([&](int from, std::uint64_t start) { answer.send(Rank(from), start, now()); });
  const int parent = parent_of(world.rank().value());
  ask = [&] { question.send(Rank(parent), world.rank().value(), now()); };
  std::function<void(int)> pass;
  const auto token = world.make_am([&](int hops) { pass(hops); });
  pass = [&](int hops) {
    if (hops > 0) token.send(Rank((world.rank().value() + 1) % world.size()), hops - 1);
  };
  for (int second = 0; second <= kSeconds; ++second) {
    if (second % kRoundSeconds == 0 && world.rank() != 0) {
      trips.clear();
      ask();
    }
    world.wait();
    if (!trips.empty()) {
      shoal::trace::SyncPoint point =
          shoal::trace::best_of(trips, static_cast<std::uint32_t>(parent));
      std::swap(point.local_ticks, point.reference_ticks);  // this rank has started them
      const double ratio = clocks[at(parent)].ticks_per_ns / mine.ticks_per_ns;
      point.uncertainty_ticks = static_cast<std::uint64_t>(  // in ticks of the parent
          std::ceil(static_cast<double>(point.uncertainty_ticks) * ratio));
      found[at(world.rank().value())].push_back(point);
      trips.clear();
    }
    if (world.rank() == 0) pass(kHops);
    world.wait();
    shoal::sleep_for(std::chrono::seconds(1));
  }
}

/// The part of one rank, on its own clock, of a trace in virtual time.
void write_part(const std::string& path, const TraceContent& content, int rank,
                const SkewedClock& clock, const std::vector<shoal::trace::SyncPoint>& sync) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): of a file
  FileHeader header;
  header.process = static_cast<std::uint32_t>(rank);
  header.processes = kClockRanks;
  header.clock = ClockKind::tsc;
  FileWriter file(path, header);
  const nlohmann::json identity = {{"program", "ring"}, {"host", "host " + std::to_string(rank)}};
  file.write_text(ChunkType::identity, identity.dump());
  std::string tracks = content.tracks;
  for (std::size_t i = 0; (i = tracks.find("][", i)) != std::string::npos;)
    tracks.replace(i, 2, ",");
  std::set<std::uint32_t> mine;
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& track : nlohmann::json::parse(tracks)) {
    if (track.at("rank") != rank) continue;
    mine.insert(track.at("track").get<std::uint32_t>());
    rows.push_back(track);
  }
  file.write_text(ChunkType::tracks, rows.dump());
  for (const auto& [id, name] : content.names) file.write_name(id, name);
  std::map<std::uint32_t, std::vector<Event>> events;
  std::uint64_t last = 0;
  for (Event event : content.events) {
    if (!mine.contains(event.track())) continue;
    last = std::max(last, event.time);
    event.time = clock.ticks(event.time);
    events[event.track()].push_back(event);
  }
  for (const auto& [track, all] : events) {
    for (std::size_t i = 0; i < all.size(); i += kChunkRecordsMax) {
      const std::size_t count = std::min(kChunkRecordsMax, all.size() - i);
      file.write_records(ChunkType::events, std::span<const Event>(all).subspan(i, count), track);
    }
  }
  std::vector<shoal::env::TickSample> samples;
  for (std::uint64_t t = 0; t < last + 1'000'000'000; t += 1'000'000'000) {
    samples.push_back({clock.ticks(t), static_cast<std::uint64_t>(clock.raw_ns(t)), 10});
  }
  file.write_records(ChunkType::clock, std::span<const shoal::env::TickSample>(samples));
  file.write_records(ChunkType::sync, std::span<const SyncPoint>(sync));
  file.write_text(ChunkType::end, "{}");
  file.close();
}

/// The largest difference between an event's time in a merged trace and the true one, which is that
/// on the clock of rank 0.
double largest_error_ns(const TraceContent& truth, const TraceContent& merged,
                        const SkewedClock& reference) {
  std::map<std::pair<std::uint64_t, shoal::trace::Kind>, std::uint64_t> sent_or_received;
  const auto is_end = [](const shoal::trace::Event& event) {
    return event.kind() == shoal::trace::Kind::message_sent ||
           event.kind() == shoal::trace::Kind::message_received;
  };
  for (const auto& event : truth.events) {
    if (is_end(event)) sent_or_received[{event.id, event.kind()}] = event.time;
  }
  std::optional<double> first;  // of rank 0: its time is exact
  std::vector<double> errors;
  for (const auto& event : merged.events) {
    if (!is_end(event)) continue;
    const std::uint64_t true_ns = sent_or_received.at({event.id, event.kind()});
    errors.push_back(static_cast<double>(event.time) - reference.raw_ns(true_ns));
    const bool is_of_root =
        shoal::trace::rank_of_id(event.id) == 0 && event.kind() == shoal::trace::Kind::message_sent;
    if (is_of_root && !first.has_value()) first = errors.back();
  }
  double largest = 0;
  for (const double error : errors) largest = std::max(largest, std::abs(error - first.value()));
  return largest;
}

TEST_F(TraceRuns, SkewedClocks_EventsHaveTheirTrueTimesAfterMerging) {
  for (std::uint64_t seed = 1; seed <= sized(20, 3); ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<SkewedClock> clocks = draw_clocks(seed);
    Comparisons found(kClockRanks);
    Config config = sim_config(kClockRanks, 1, seed);
    config.sim_net = "fixed:1500ns,10G";
    config.sim_faults = "delay:p=0.3,by=3us;delay:p=0.05,by=40us";  // jitter
    const TraceContent truth = shoal::testing::read_trace(shoal::trace::part_path(
        record(config, [&](World& world) { run_ring(world, clocks, found); }), 0));
    const auto merge_with = [&](const std::string& name, const Comparisons& comparisons) {
      for (int rank = 0; rank < kClockRanks; ++rank) {
        write_part(shoal::trace::part_path(folder_.file(name), static_cast<std::uint32_t>(rank)),
                   truth, rank, clocks[at(rank)], comparisons[at(rank)]);
      }
      return shoal::trace::merge(shoal::trace::find_parts(folder_.file(name)), folder_.file(name));
    };
    const auto report = merge_with("all", found);
    EXPECT_TRUE(report.unsynchronized.empty());
    EXPECT_LT(report.uncertainty_ns, 10'000U);  // half of the fastest round trips, along the tree
    const TraceContent merged = shoal::testing::read_trace(folder_.file("all"));
    EXPECT_EQ(merged.events.size(), truth.events.size());
    EXPECT_LT(largest_error_ns(truth, merged, clocks[0]), 1000);
    Input input(folder_.file("all"));
    const CheckResult checked = check(input, 0);
    EXPECT_TRUE(checked.passed) << ::testing::PrintToString(checked.lines);
    // Compared at the begin only, the clocks drift apart by milliseconds.
    for (auto& points : found) points.resize(std::min<std::size_t>(points.size(), 1));
    merge_with("begin", found);
    const TraceContent apart = shoal::testing::read_trace(folder_.file("begin"));
    EXPECT_GT(largest_error_ns(truth, apart, clocks[0]), 2e6);
  }
}

}  // namespace trace_runs_sim_test

// Memory of simulated nodes, and the limit of memory-bound tasks beside large transfers.

#include "runtime/simulated_world.hpp"

#include "support/contention_tables.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <shoal/contention/advice.hpp>
#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sim_memory_test {

using shoal::Codelet;
using shoal::Cost;
using shoal::Data;
using shoal::Flow;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::contention::Bandwidths;
using shoal::contention::Model;
using shoal::contention::published_models;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::sim::OrderKind;
using shoal::testing::sim_config;
using shoal::testing::sized;
using testing::AllOf;
using testing::HasSubstr;

Model machine(const std::string& name) {
  for (const Model& one : published_models()) {
    if (one.machine == name) return one;
  }
  ADD_FAILURE() << "no machine " << name;
  return {};
}

/// The file of a model, gone with the object.
class ModelFile {
 public:
  explicit ModelFile(const std::string& text)
      : path_(testing::TempDir() + "shoal_memory_" + std::to_string(getpid()) + ".json") {
    std::ofstream(path_) << text;
  }
  explicit ModelFile(const Model& model) : ModelFile(to_json(model)) {}
  ~ModelFile() { std::remove(path_.c_str()); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

/// Rank 1 sends payloads to rank 0, which begins to compute when the first one is about to arrive.
/// Work is not done: only its time counts. One worker must be left to handle what arrives.
struct Program {
  int tasks = 0;
  double task_bytes = 0;
  double task_flops = 0;
  int payloads = 0;
  std::size_t payload_bytes = 0;
};
/// Since the begin of the tasks.
struct Times {
  double arrival_s = 0;  // of the last payload
  double work_s = 0;     // end of the last task
};

Times run_program(const Config& config, const Program& program) {
  SimulatedWorld simulation(config);
  Times times;
  double begin_s = -1;
  const auto now_s = [&] { return static_cast<double>(simulation.now_ns()) * 1e-9; };
  std::vector<char> from(program.payload_bytes);
  std::vector<char> to(program.payload_bytes);
  simulation.run([&](World& world) {
    const auto work = [&] {
      shoal::compute(Cost::of_traffic(program.task_bytes, program.task_flops), [] {});
      times.work_s = now_s() - begin_s;
    };
    const auto begin = [&] {
      if (begin_s >= 0) return;
      begin_s = now_s();
      for (int i = 0; i < program.tasks; ++i) world.spawn(work, {.memory_bound = true});
    };
    const auto payload = world.make_large_am<char>(
        [&](std::size_t count) {
          begin();
          return std::span(to).first(count);
        },
        [&](std::span<char>) { times.arrival_s = now_s() - begin_s; }, [] {});
    if (world.rank() == 1) {
      for (int i = 0; i < program.payloads; ++i) payload.send(Rank(0), from);
    } else if (program.payloads == 0) {
      begin();
    }
    world.wait();
    return 0;
  });
  return times;
}

Config with_memory(const ModelFile& file, int workers, int node = -2) {
  Config config = sim_config(2, workers, 1);
  config.sim_memory = file.path();
  if (node >= 0) config.buffer_node = node;
  return config;
}

constexpr double kMB = 1e6;
constexpr double kNear = 0.01;  // of times: messages and steps take some, too

TEST(SimMemory, TasksAlone_ShareTheBandwidthOfEquation66) {
  for (const Model& model : published_models()) {
    const ModelFile file(model);
    const std::vector<Bandwidths> at = predict(model, {0, 0});
    for (const int cores : {1, 2, model.cores / 2, model.cores}) {
      const Times times =
          run_program(with_memory(file, cores), {.tasks = cores, .task_bytes = 100 * kMB});
      const double expected_s =
          100 * cores / at[static_cast<std::size_t>(cores) - 1].computation_alone_mb_s;
      EXPECT_NEAR(times.work_s, expected_s, kNear * expected_s) << model.machine << ' ' << cores;
    }
  }
}

TEST(SimMemory, APayloadBesideTasks_GetsTheBandwidthOfEquation64_OnEachNode) {
  for (const Model& model : published_models()) {
    const ModelFile file(model);
    for (int node = 0; node < model.nodes; ++node) {
      const std::vector<Bandwidths> at = predict(model, {0, node});
      for (const int cores : {1, model.cores / 2, model.cores - 1}) {
        const Bandwidths& both = at[static_cast<std::size_t>(cores) - 1];
        const Times times =
            run_program(with_memory(file, cores + 1, node), {.tasks = cores,
                                                             .task_bytes = 20'000 * kMB,
                                                             .payloads = 1,
                                                             .payload_bytes = 20'000'000});
        const double expected_s = 20 / both.communication_mb_s;
        EXPECT_NEAR(times.arrival_s, expected_s, kNear * expected_s)
            << model.machine << ' ' << cores << " node " << node;
        const double work_s = 20'000 / (both.computation_alone_mb_s / cores);
        EXPECT_NEAR(times.work_s, work_s, kNear * work_s) << model.machine;
      }
    }
  }
}

TEST(SimMemory, TasksBesidePayloads_GetTheBandwidthOfEquation63) {
  const Model model = machine("henrisubnuma");
  const ModelFile file(model);
  const int cores = model.cores - 1;
  const Bandwidths both = predict(model, {0, 0})[static_cast<std::size_t>(cores) - 1];
  // The payloads outlast the tasks.
  const Times times = run_program(
      with_memory(file, model.cores),
      {.tasks = cores, .task_bytes = 20 * kMB, .payloads = 6, .payload_bytes = 20'000'000});
  const double expected_s = 20 * cores / both.computation_mb_s;
  EXPECT_NEAR(times.work_s, expected_s, kNear * expected_s);
  EXPECT_GT(times.arrival_s, times.work_s);
}

TEST(SimMemory, ComputeBoundWork_IsNotSlowed_AndSlowsLittle) {
  const Model model = machine("henri");
  const ModelFile file(model);
  // 10 s of operations with 1 MB of traffic each.
  const Times times = run_program(with_memory(file, model.cores), {.tasks = model.cores - 1,
                                                                   .task_bytes = kMB,
                                                                   .task_flops = 100e9,
                                                                   .payloads = 1,
                                                                   .payload_bytes = 20'000'000});
  EXPECT_NEAR(times.work_s, 10, 0.1);
  EXPECT_NEAR(times.arrival_s, 20 / model.local.network_mb_s, 0.01 * 20 / model.local.network_mb_s);
}

TEST(SimMemory, WithoutAModel_TrafficTakesNoTime) {
  const Times times = run_program(sim_config(2, 1, 1), {.tasks = 1, .task_bytes = 1e15});
  EXPECT_LT(times.work_s, 1e-3);
}

// --- the limit

/// Ways to mark tasks. `begin` and `end` stand around the work of each.
using Steps = std::function<void(World&, int tasks, const std::function<void()>& begin,
                                 const std::function<void()>& end)>;
const Cost kWork = Cost::of_traffic(kMB);

void by_options(World& world, int tasks, const std::function<void()>& begin,
                const std::function<void()>& end) {
  for (int i = 0; i < tasks && world.rank() == 0; ++i) {
    world.spawn(
        [&] {
          begin();
          shoal::compute(kWork, [] {});
          end();
        },
        {.priority = i % 3 - 1, .memory_bound = true});
  }
  world.wait();
}

void by_graph(World& world, int tasks, bool by_cost, const std::function<void()>& begin,
              const std::function<void()>& end) {
  TaskGraph<int> graph(world);
  graph.set_indegree([](int) { return 1; })
      .set_mapping([&](int k) { return k % world.worker_count(); })
      .set_binding([](int k) { return k % 4 == 0; })
      .set_task([&](int) {
        begin();
        shoal::compute(kWork, [] {});
        end();
      });
  if (by_cost) {
    graph.set_cost([](int) { return Cost::of_traffic(1); });
  } else {
    graph.set_memory_bound([](int) { return true; });
  }
  for (int i = 0; i < tasks && world.rank() == 0; ++i) graph.fulfill(i);
  world.wait();
}

/// Marked by its cost, or else by set_memory_bound(); without a scheduler, by that of the run.
struct FlowWay {
  bool by_cost = false;
  const char* scheduler = "";
};

void by_codelet(World& world, int tasks, const FlowWay& way, const std::function<void()>& begin,
                const std::function<void()>& end) {
  const std::string scheduler = way.scheduler;
  shoal::FlowOptions options;
  if (!scheduler.empty()) options.scheduler = shoal::make_flow_scheduler(scheduler);
  Flow flow(world, "moves", options);
  std::vector<Data<int>> data;
  data.reserve(static_cast<std::size_t>(tasks));
  for (int i = 0; i < tasks; ++i) data.push_back(flow.data(i));
  Codelet move("move", [&](int& x) {
    begin();
    shoal::compute(kWork, [&x] { ++x; });
    end();
  });
  if (way.by_cost) {
    move.set_cost([](const int& x) { return Cost::of_traffic(1 + x); });
  } else {
    move.set_memory_bound();
  }
  for (const Data<int>& one : data) {
    flow.insert(move, shoal::on_rank(Rank(0)), shoal::read_write(one));
  }
  flow.wait();
}

struct Way {
  const char* name;
  Steps run;
  bool by_cost;  // which is spent before the task says that it runs
};
const Way kWays[] = {
    {"options", by_options, false},
    {"graph", [](auto& w, int n, auto& b, auto& e) { by_graph(w, n, false, b, e); }, false},
    {"graph cost", [](auto& w, int n, auto& b, auto& e) { by_graph(w, n, true, b, e); }, true},
    {"codelet", [](auto& w, int n, auto& b, auto& e) { by_codelet(w, n, {}, b, e); }, false},
    {"codelet cost", [](auto& w, int n, auto& b, auto& e) { by_codelet(w, n, {true}, b, e); },
     true},
    {"codelet, fifo",
     [](auto& w, int n, auto& b, auto& e) {
       by_codelet(w, n, {false, "fifo"}, b, e);
     },
     false},
    {"codelet, priority",
     [](auto& w, int n, auto& b, auto& e) {
       by_codelet(w, n, {false, "priority"}, b, e);
     },
     false},
    {"codelet, completion",
     [](auto& w, int n, auto& b, auto& e) {
       by_codelet(w, n, {false, "completion"}, b, e);
     },
     false},
};

/// Tasks that begin beside a transfer while others run.
struct Crowd {
  int running = 0;
  int done = 0;
  int most = 0;  // that ran when one began beside a transfer, with it
  bool arrives = false;
};

/// `way.run` while a payload of rank 1 arrives at rank 0, which runs the tasks.
Crowd run_crowd(const Config& config, const Way& way, int tasks) {
  constexpr std::size_t kPayload = 20'000'000;
  Crowd crowd;
  std::vector<char> from(kPayload);
  std::vector<char> to(kPayload);
  SimulatedWorld simulation(config);
  simulation.run([&](World& world) {
    const auto payload = world.make_large_am<char>(
        [&](std::size_t count) {
          crowd.arrives = true;
          return std::span(to).first(count);
        },
        [&](std::span<char>) { crowd.arrives = false; }, [] {});
    if (world.rank() == 1) payload.send(Rank(0), from);
    way.run(
        world, tasks,
        [&] {
          ++crowd.running;
          if (crowd.arrives) crowd.most = std::max(crowd.most, crowd.running);
        },
        [&] {
          --crowd.running;
          ++crowd.done;
        });
    return 0;
  });
  return crowd;
}

constexpr OrderKind kOrders[] = {OrderKind::time,      OrderKind::uniform,   OrderKind::priorities,
                                 OrderKind::slow_rank, OrderKind::slow_link, OrderKind::late};

// All tasks run in the end in every order: none of those that are held back is forgotten.
TEST(MemoryBoundLimit, InEveryOrder_AllTasksRun_AndTheLimitHolds) {
  constexpr int kTasks = 24;
  const ModelFile file(machine("henrisubnuma"));
  for (const Way& way : kWays) {
    int crowded = 0;
    for (const OrderKind order : kOrders) {
      for (std::uint64_t seed = 1; seed <= sized(3, 1); ++seed) {
        SCOPED_TRACE(testing::Message() << way.name << ", order " << int(order) << ", " << seed);
        Config config = sim_config(2, 6, seed);
        config.sim_memory = file.path();
        config.sim_order = order;
        config.memory_bound_max = 2;
        const Crowd crowd = run_crowd(config, way, kTasks);
        EXPECT_EQ(crowd.done, kTasks);
        EXPECT_LE(crowd.most, way.by_cost ? config.workers : 2);
        crowded += crowd.most > 0 ? 1 : 0;
      }
    }
    EXPECT_GT(crowded, 0) << way.name;
  }
}

// The transfer comes first here: no task has begun before.
TEST(MemoryBoundLimit, BesideATransfer_NoMoreThanTheLimitRun) {
  const ModelFile file(machine("henrisubnuma"));
  for (const int most : {1, 2, 5}) {
    Config config = sim_config(2, 6, 3);
    config.sim_memory = file.path();
    config.memory_bound_max = most;
    Crowd crowd;
    std::vector<char> from(10'000'000);
    std::vector<char> to(from.size());
    SimulatedWorld simulation(config);
    simulation.run([&](World& world) {
      const auto payload = world.make_large_am<char>(
          [&](std::size_t count) {
            crowd.arrives = true;
            for (int i = 0; i < 60; ++i) {
              world.spawn(
                  [&] {
                    ++crowd.running;
                    if (crowd.arrives) crowd.most = std::max(crowd.most, crowd.running);
                    shoal::compute(Cost::of_traffic(kMB), [] {});
                    --crowd.running;
                    ++crowd.done;
                  },
                  {.memory_bound = true});
            }
            return std::span(to).first(count);
          },
          [&](std::span<char>) { crowd.arrives = false; }, [] {});
      if (world.rank() == 1) payload.send(Rank(0), from);
      world.wait();
      return 0;
    });
    EXPECT_EQ(crowd.most, most);
    EXPECT_EQ(crowd.done, 60);
  }
}

// Two tasks that wait for each other's kind: without giving up its place, the first one would wait
// until the transfer has ended.
TEST(MemoryBoundLimit, ATaskThatWaits_GivesItsPlaceUp) {
  const ModelFile file(machine("henri"));
  Config config = sim_config(2, 2, 5);
  config.sim_memory = file.path();
  config.memory_bound_max = 1;
  std::vector<char> from(50'000'000);
  std::vector<char> to(from.size());
  bool arrived = false;
  bool ended_before = false;
  SimulatedWorld simulation(config);
  simulation.run([&](World& world) {
    const auto payload = world.make_large_am<char>(
        [&](std::size_t count) {
          world.spawn(
              [&] {
                auto inner = world.async([] { shoal::compute(Cost::of_traffic(kMB), [] {}); },
                                         {.memory_bound = true});
                inner.get();
                ended_before = !arrived;
              },
              {.memory_bound = true});
          return std::span(to).first(count);
        },
        [&](std::span<char>) { arrived = true; }, [] {});
    if (world.rank() == 1) payload.send(Rank(0), from);
    world.wait();
    return 0;
  });
  EXPECT_TRUE(arrived);
  EXPECT_TRUE(ended_before);
}

TEST(MemoryBoundLimit, AFailedWorld_DropsTasksThatAreHeldBack) {
  const ModelFile file(machine("henri"));
  for (std::uint64_t seed = 1; seed <= sized(24, 6); ++seed) {
    Config config = sim_config(2, 3, seed);
    config.sim_memory = file.path();
    config.memory_bound_max = 1;
    config.sim_order = OrderKind::uniform;
    std::vector<char> from(5'000'000);
    std::vector<char> to(from.size());
    SimulatedWorld simulation(config);
    simulation.run([&](World& world) {
      const auto payload = world.make_large_am<char>(
          [&](std::size_t count) {
            for (int i = 0; i < 10; ++i) {
              world.spawn(
                  [i] {
                    shoal::compute(Cost::of_traffic(kMB), [] {});
                    if (i == 1) throw std::runtime_error("spoiled");
                  },
                  {.memory_bound = true});
            }
            return std::span(to).first(count);
          },
          [&](std::span<char>) {}, [] {});
      if (world.rank() == 1) payload.send(Rank(0), from);
      EXPECT_THROW(world.wait(), shoal::TaskError);
      return 0;
    });
    EXPECT_TRUE(simulation.ranks().front()->failure().has_value());
  }
}

TEST(MemoryBoundLimit, Reports_SayHowManyTasksAreHeldBack) {
  const ModelFile file(machine("henri"));
  Config config = sim_config(2, 4, 1);
  config.sim_memory = file.path();
  config.memory_bound_max = 1;
  config.sim_limit_ns = 1'000'000;
  std::vector<char> from(100'000'000);  // arrives later
  std::vector<char> to(from.size());
  SimulatedWorld simulation(config);
  std::string text;
  try {
    simulation.run([&](World& world) {
      const auto payload = world.make_large_am<char>(
          [&](std::size_t count) {
            for (int i = 0; i < 5; ++i) {
              world.spawn([] { shoal::compute(Cost::of_traffic(1000 * kMB), [] {}); },
                          {.memory_bound = true});
            }
            return std::span(to).first(count);
          },
          [&](std::span<char>) {}, [] {});
      if (world.rank() == 1) payload.send(Rank(0), from);
      world.wait();
      return 0;
    });
  } catch (const shoal::Error& error) {
    text = error.what();
  }
  EXPECT_THAT(text,
              HasSubstr("held back: 4 memory-bound tasks, since 1 of this process run beside 1 "
                        "large transfer (--memory-bound-max 1)"));
}

TEST(MemoryBoundLimit, SameSeed_SameTrace) {
  const ModelFile file(machine("henrisubnuma"));
  Config config = with_memory(file, 6);
  config.memory_bound_max = 2;
  config.sim_order = OrderKind::uniform;
  std::uint64_t hashes[2];
  for (std::uint64_t& hash : hashes) {
    SimulatedWorld simulation(config);
    simulation.run([&](World& world) {
      by_options(
          world, 40, [] {}, [] {});
      return 0;
    });
    hash = simulation.trace().hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// Where all cores slow computation and the transfer down, a limit of the model's number lets both
// end sooner.
TEST(MemoryBoundLimit, OfTheModel_GainsOnHenriWithSubNumaClusters) {
  const Model model = machine("henrisubnuma");
  const ModelFile file(model);
  const Program program{
      .tasks = 400, .task_bytes = 10 * kMB, .payloads = 52, .payload_bytes = 20'000'000};
  Config config = with_memory(file, model.cores);
  const Times free = run_program(config, program);
  config.memory_bound_max = Config::kAuto;
  const Times limited = run_program(config, program);
  EXPECT_LT(limited.arrival_s, free.arrival_s);
  EXPECT_LT(std::max(limited.arrival_s, limited.work_s),
            0.97 * std::max(free.arrival_s, free.work_s));
}

// --- settings

std::string error_of(const Config& config) {
  try {
    SimulatedWorld simulation(config);
  } catch (const shoal::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryPlan, WrongFiles_AreRefusedByName) {
  Config config = sim_config(2, 1, 1);
  config.sim_memory = "/nowhere/model.json";
  EXPECT_THAT(error_of(config), AllOf(HasSubstr("--sim-memory: cannot read '/nowhere/model.json'"),
                                      HasSubstr("contention calibrate")));
  config.sim_memory = testing::TempDir();
  EXPECT_THAT(error_of(config), HasSubstr("it is a directory"));
  const ModelFile broken(std::string("{\"machine\": 3}"));
  config.sim_memory.clear();
  config.memory_model = broken.path();
  EXPECT_THAT(error_of(config), HasSubstr("--memory-model: '" + broken.path() + "': "));
}

TEST(MemoryPlan, AutoWithoutAModel_AndTooManyWorkersOrNodes_AreRefused) {
  Config config = sim_config(2, 1, 1);
  config.memory_bound_max = Config::kAuto;
  EXPECT_THAT(error_of(config), AllOf(HasSubstr("--memory-bound-max auto: there is no model"),
                                      HasSubstr("--memory-model FILE")));
  config.memory_bound_max.reset();
  config.buffer_node = Config::kAuto;
  EXPECT_THAT(error_of(config), HasSubstr("--buffer-node auto: there is no model"));
  const ModelFile file(machine("henri"));
  config = with_memory(file, 19);
  EXPECT_THAT(error_of(config), HasSubstr("the model of henri has 18 cores that compute"));
  config = with_memory(file, 18, 2);
  EXPECT_THAT(error_of(config), HasSubstr("there is no NUMA node 2: the model of henri has 2"));
}

TEST(MemoryPlan, Auto_IsTheAdviceOfTheModel) {
  for (const Model& model : published_models()) {
    const ModelFile file(model);
    Config config = with_memory(file, 1);
    config.buffer_node = Config::kAuto;
    config.memory_bound_max = Config::kAuto;
    const auto plan = shoal::runtime::plan_memory(config);
    const auto choice = advise_evenly(model);
    EXPECT_EQ(plan.buffer_node, choice.placement.communication_node) << model.machine;
    const auto there = advise_evenly(model, {.communication_node = plan.buffer_node});
    EXPECT_EQ(plan.memory_bound_max, std::max(1, there.cores)) << model.machine;
    EXPECT_THAT(plan.describe_limit(4), HasSubstr("auto: model of " + model.machine));
    EXPECT_EQ(plan.limit_of(1000), plan.memory_bound_max);
    EXPECT_EQ(plan.limit_of(4), 3);  // one worker is left for messages
    EXPECT_EQ(plan.limit_of(1), 1);
  }
}

TEST(MemoryPlan, Buffers_GoToTheNodeFromTheWorkersSocketOn) {
  shoal::runtime::MemoryPlan plan;
  EXPECT_EQ(place_buffers(plan, {0, 1}).text, "");
  plan.buffer_node = 1;
  const auto alone = place_buffers(plan, {0});
  EXPECT_FALSE(alone.node.has_value());
  EXPECT_THAT(alone.text, HasSubstr("this machine has one NUMA node"));
  const auto other = place_buffers(plan, {1, 0});  // the workers are on the second socket
  EXPECT_EQ(other.node, 0);
  EXPECT_THAT(other.text, HasSubstr("bound to NUMA node 0"));
  plan.buffer_node = 2;
  EXPECT_THROW(static_cast<void>(place_buffers(plan, {0, 1})), shoal::ConfigError);
}

}  // namespace sim_memory_test

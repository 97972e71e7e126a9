// Simulated worlds: the same seed gives the same run, every order gives the same results, and what
// time things take is what the model says.

#include "runtime/simulated_world.hpp"
#include "sim/simulator.hpp"

#include "support/random_collectives.hpp"
#include "support/random_dag.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "team/messenger.hpp"

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sim_world_test {

using shoal::Rank;
using shoal::RankSet;
using shoal::Team;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::sim::OrderKind;
using shoal::testing::run_with;
using shoal::testing::sim_config;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

constexpr OrderKind kOrders[] = {OrderKind::time,      OrderKind::uniform,   OrderKind::priorities,
                                 OrderKind::slow_rank, OrderKind::slow_link, OrderKind::late};

/// Tasks and messages that make each other, until hops are used up.
int storm(World& world) {
  std::unique_ptr<shoal::ActiveMessage<int, std::uint64_t>> hop;
  hop = std::make_unique<shoal::ActiveMessage<int, std::uint64_t>>(
      world.make_am([&](int left, std::uint64_t path) {
        if (left == 0) return;
        const auto next = static_cast<int>(path % static_cast<std::uint64_t>(world.size()));
        const auto go_on = [&, left, path, next] { hop->send(Rank(next), left - 1, path / 3 + 7); };
        if (path % 2 == 0) {
          world.spawn(go_on);
        } else {
          go_on();
        }
      }));
  for (std::uint64_t i = 0; i < 20; ++i) hop->send(Rank(world.rank()), 10, i * 1'000'003);
  world.wait();
  return 0;
}

// Three steps of the same worker may be chosen, one right after the other.
TEST(Order, SetBacksOfOneWorker_DoNotAddUp) {
  constexpr std::uint64_t kStepNs = 1000;
  std::uint64_t longest = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    shoal::sim::Order order(OrderKind::priorities, seed, 1, 1);
    for (int step = 0; step < 24; ++step) longest = std::max(longest, order.step_ns(0, 0, kStepNs));
  }
  EXPECT_EQ(longest, 32 * 256 * kStepNs);
}

std::vector<std::string> log_of(bool detection) {
  SimulatedWorld world(sim_config(2, 1, 7));
  world.keep_log(200, detection);
  world.run([](World& rank) {
    const auto take = rank.make_am([](int) {}, {.name = "take"});
    if (rank.rank() == 0) {
      rank.spawn(
          [&take] {
            shoal::yield();
            take.send(Rank(1), 1);
          },
          {.name = "sender"});
    }
    rank.wait();
    return 0;
  });
  return world.log_lines();
}

/// The time at the begin of a line of a log.
double time_of(const std::string& line) { return std::stod(line); }

TEST(Log, NamesTasksAndMessages_InTheOrderOfTime) {
  std::vector<std::string> lines = log_of(false);
  EXPECT_THAT(lines, IsSupersetOf({HasSubstr("rank 0 worker 0 begins 'sender'"),
                                   HasSubstr("rank 0 worker 0 parks 'sender' in 'yield()'"),
                                   HasSubstr("rank 0 worker 0 goes on with 'sender'"),
                                   HasSubstr("rank 0 worker 0 ends 'sender'"),
                                   HasSubstr("packet 0 of rank 0 for rank 1 leaves: take"),
                                   HasSubstr("packet 0 of rank 0 arrives at rank 1: take"),
                                   HasSubstr("rank 1 worker 0 handles 'take'")}));
  EXPECT_THAT(lines, Each(Not(HasSubstr("shoal::report"))));
  lines.erase(lines.begin());  // the title
  EXPECT_TRUE(std::ranges::is_sorted(lines, {}, time_of));
}

TEST(Log, NamesMessages_ThatTheirTargetIsStillToMake) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedWorld world(sim_config(2, 1, seed));
    world.keep_log(200, false);
    world.run([](World& rank) {
      const auto fill = rank.make_am([](int) {}, {.name = "fill"});
      fill.send(Rank(1 - rank.rank().value()), 5);
      rank.wait();
      return 0;
    });
    EXPECT_THAT(world.log_lines(), Contains(HasSubstr("leaves: fill")).Times(2)) << seed;
  }
}

class Diary : public shoal::DistributedObject<Diary> {
 public:
  explicit Diary(Team& team) : DistributedObject(team) {}
  void note(int /*number*/) {}
};

TEST(Log, NamesTheMethod_OfAnInvocationThatRank0OfTheTeamPassesOn) {
  SimulatedWorld world(sim_config(3, 1, 7));
  world.keep_log(1000, false);
  world.run([](World& rank) {
    Team team(rank, {Rank(1), Rank(2)});
    std::optional<Diary> diary;
    if (team.is_member()) diary.emplace(team);
    const auto handle = rank.broadcast(diary ? diary->handle() : shoal::Handle<Diary>(), Rank(1));
    rank.barrier();
    if (rank.rank() == 0) handle.async<&Diary::note>(Rank(1), 5);
    rank.wait();
    rank.barrier();
    return 0;
  });
  const std::string method = ".*Diary::note, invoked by rank 0 of the world on object 1";
  EXPECT_THAT(world.log_lines(),
              IsSupersetOf({ContainsRegex("of rank 0 for rank 1 leaves: " + method),
                            ContainsRegex("of rank 1 for rank 2 leaves: " + method)}));
}

TEST(Log, OfDetection_OnRequest) {
  EXPECT_THAT(log_of(true), Contains(HasSubstr("handles 'shoal::report'")));
}

std::uint64_t trace_of(const Config& config) {
  SimulatedWorld world(config);
  world.run(storm);
  return world.trace().hash();
}

TEST(Simulation, OfOneSeed_IsTheSameEveryTime) {
  for (const OrderKind order : kOrders) {
    Config config = sim_config(5, 2, 7);
    config.sim_order = order;
    EXPECT_EQ(trace_of(config), trace_of(config));
  }
}

TEST(Simulation, OfOtherSeeds_TakesOtherOrders) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) hashes.insert(trace_of(sim_config(5, 2, seed)));
  EXPECT_EQ(hashes.size(), 20U);
}

TEST(Simulation, RandomGraphs_HaveTheSameValuesInEveryOrder) {
  constexpr int kSeeds = sized_on_one_thread(40, 8);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const shoal::testing::DagOptions options{
        .seed = seed, .nodes = 300, .ranks = 1 + static_cast<int>(seed % 7), .workers = 2};
    const shoal::testing::Dag dag = shoal::testing::make_dag(options);
    for (const OrderKind order : kOrders) {
      Config config = sim_config(options.ranks, options.workers, seed);
      config.sim_order = order;
      config.packet_bytes = 1024;
      config.window_bytes = 4096;
      shoal::testing::DagRun run(dag);
      SimulatedWorld world(config);
      world.run([&](World& mine) {
        run.run(mine, {.dense = seed % 2 == 0});
        return 0;
      });
      EXPECT_EQ(run.difference(), "") << "seed " << seed << ", order " << static_cast<int>(order);
    }
  }
}

// Members are in processes of their own, so large values and arrays are payloads.
TEST(Simulation, CollectiveOperations_GiveTheKnownResultsInEveryOrder) {
  for (std::uint64_t seed = 0; seed < sized_on_one_thread(240, 12); ++seed) {
    Config config =
        sim_config(2 + static_cast<int>(seed % 5), 1 + static_cast<int>(seed % 2), seed);
    config.sim_order = kOrders[seed % std::size(kOrders)];
    SimulatedWorld simulated(config);
    simulated.run([&](World& world) {
      EXPECT_EQ(shoal::testing::run_random_collectives(world, seed, 15), "") << seed;
      world.wait();
      return 0;
    });
    if (HasFailure()) return;
  }
}

// 1 to 9 members, in the world and in a section, on arrays at and above the sizes of the pipelined
// algorithms.
TEST(Simulation, PipelinedCollectiveOperations_GiveTheKnownResultsInEveryOrder) {
  for (std::uint64_t seed = 0; seed < sized_on_one_thread(108, 9); ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 9);
    Config config = sim_config(ranks, 1 + static_cast<int>(seed % 2), seed);
    config.sim_order = kOrders[seed / 9 % std::size(kOrders)];
    SimulatedWorld simulated(config);
    simulated.run([&](World& world) {
      const Rank first(static_cast<int>(seed / 9) % ranks);
      EXPECT_EQ(shoal::testing::run_pipelined_collectives(world, seed, first), "") << seed;
      world.wait();
      return 0;
    });
    EXPECT_EQ(simulated.ranks().front()->error(), nullptr) << seed;
    if (HasFailure()) return;
  }
}

// One 8-byte message there and one back, in packets of their own.
TEST(Simulation, RoundTrip_TakesTwiceTheLatency) {
  Config config = sim_config(2, 1, 1);
  config.sim_net = "fixed:1ms,1000G";
  config.sim_step_ns = 1;
  std::uint64_t round_trip_ns = 0;
  SimulatedWorld world(config);
  world.run([&](World& mine) {
    std::uint64_t begin_ns = 0;
    auto pong = mine.make_am([&] { round_trip_ns = mine.now_ns() - begin_ns; });
    auto ping = mine.make_am([&] { pong.send(Rank(0)); });
    mine.barrier();
    begin_ns = mine.now_ns();
    if (mine.rank() == 0) ping.send(Rank(1));
    mine.wait();
    return 0;
  });
  EXPECT_GE(round_trip_ns, 2'000'000U);
  EXPECT_LE(round_trip_ns, 2'000'100U);
}

TEST(Simulation, LargePayload_TakesItsSizeOverTheBandwidth) {
  Config config = sim_config(2, 1, 1);
  config.sim_net = "loggp:1us,0ns,0ns,1ns,0";  // a byte takes a nanosecond
  config.sim_step_ns = 1;
  constexpr std::size_t kBytes = 10'000'000;
  std::uint64_t arrived_ns = 0;
  SimulatedWorld world(config);
  world.run([&](World& mine) {
    std::vector<char> place(kBytes);
    const auto large =
        mine.make_large_am<char>([&](std::size_t) { return std::span(place); },
                                 [&](std::span<char>) { arrived_ns = mine.now_ns(); }, [] {});
    const std::vector<char> bytes(kBytes, 'x');
    if (mine.rank() == 0) large.send(Rank(1), std::span<const char>(bytes));
    mine.wait();
    EXPECT_EQ(place, std::vector<char>(kBytes, mine.rank() == 1 ? 'x' : '\0'));
    return 0;
  });
  EXPECT_GE(arrived_ns, kBytes);
  EXPECT_LE(arrived_ns, kBytes + 10'000);
}

// --- what work costs

/// The virtual time of a run.
std::uint64_t time_of(const Config& config, const shoal::runtime::MainFunction& main_function) {
  SimulatedWorld world(config);
  world.run(main_function);
  EXPECT_EQ(world.ranks().front()->error(), nullptr);
  return world.now_ns();
}

Config config_of_costs(int ranks, int workers) {
  Config config = sim_config(ranks, workers, 1);
  config.sim_net = "zero";
  config.sim_step_ns = 1;
  return config;
}

constexpr double kMillisecond = 1e-3;

TEST(Costs, TasksOnDifferentWorkers_TakeTheirTimeSideBySide) {
  const auto eight_tasks = [](World& world) {
    for (int i = 0; i < 8; ++i) {
      world.spawn([] { shoal::compute(shoal::Cost::of_seconds(kMillisecond), [] {}); });
    }
    world.wait();
    return 0;
  };
  for (const int workers : {1, 2, 4, 8}) {
    const std::uint64_t expected = 8'000'000 / static_cast<unsigned>(workers);
    const std::uint64_t time = time_of(config_of_costs(1, workers), eight_tasks);
    EXPECT_GE(time, expected);
    EXPECT_LE(time, expected + 1000);
  }
}

// Effects of a task after its work become visible to others at the end of the work.
TEST(Costs, WhatFollowsWork_HappensAfterIt) {
  std::vector<std::uint64_t> times;
  static_cast<void>(time_of(config_of_costs(1, 2), [&](World& world) {
    shoal::TaskGraph<int> chain(world, "chain");
    chain.set_indegree([](int) { return 1; })
        .set_mapping([](int k) { return k % 2; })
        .set_task([&](int k) {
          shoal::compute(shoal::Cost::of_seconds(kMillisecond), [] {});
          times.push_back(world.now_ns());
          if (k < 4) chain.fulfill(k + 1);
        });
    chain.fulfill(1);
    world.wait();
    return 0;
  }));
  ASSERT_EQ(times.size(), 4U);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_GE(times[i], (i + 1) * 1'000'000);
    EXPECT_LE(times[i], (i + 1) * 1'000'000 + 1000);
  }
}

TEST(Costs, OfTasksOfAGraph_AndInFlops_AndInHandlers) {
  Config config = config_of_costs(2, 1);
  config.sim_flops = 1e9;
  const std::uint64_t time = time_of(config, [](World& world) {
    shoal::TaskGraph<int> graph(world);
    graph.set_indegree([](int) { return 1; })
        .set_mapping([](int) { return 0; })
        .set_cost([](int k) { return shoal::Cost::of_seconds(k * kMillisecond); })
        .set_task([](int) { shoal::compute(shoal::Cost::of_flops(1e6), [] {}); });
    const auto message = world.make_am([&](int k) {
      shoal::compute({kMillisecond, 1e6}, [] {});
      graph.fulfill(k);
    });
    if (world.rank() == 0) message.send(Rank(1), 3);
    world.wait();
    return 0;
  });
  EXPECT_GE(time, 6'000'000U);  // 2 in the handler, 3 + 1 in the task
  EXPECT_LE(time, 6'001'000U);
}

TEST(Costs, WhenDry_WorkTakesItsTimeAndIsNotDone) {
  Config config = config_of_costs(2, 1);
  config.sim_dry = true;
  int done = 0;
  const std::uint64_t time = time_of(config, [&](World& world) {
    EXPECT_TRUE(world.is_dry());
    std::vector<char> place(4, '-');
    const auto large = world.make_large_am<char>([&](std::size_t) { return std::span(place); },
                                                 [](std::span<char>) {}, [] {});
    const std::vector<char> bytes(4, 'x');
    if (world.rank() == 0) large.send(Rank(1), std::span<const char>(bytes));
    world.spawn([&] { shoal::compute(shoal::Cost::of_seconds(kMillisecond), [&] { ++done; }); });
    world.wait();
    EXPECT_EQ(place, std::vector<char>(4, '-'));
    return 0;
  });
  EXPECT_EQ(done, 0);
  EXPECT_GE(time, 1'000'000U);
}

TEST(Costs, WhenDry_LargeValuesOfCollectiveOperationsArrive) {
  Config config = config_of_costs(5, 1);
  config.sim_dry = true;
  time_of(config, [](World& world) {
    const auto text_of = [](int rank) {
      return std::string(20'000, static_cast<char>('a' + rank));
    };
    const std::string mine = text_of(world.rank().value());
    std::vector<std::string> all;
    for (int rank = 0; rank < world.size(); ++rank) all.push_back(text_of(rank));
    const auto larger = [](const std::string& a, const std::string& b) { return std::max(a, b); };
    EXPECT_EQ(world.broadcast(mine, Rank(1)), all[1]);
    EXPECT_EQ(world.gather(mine, Rank(2)), world.rank() == 2 ? all : std::vector<std::string>());
    EXPECT_EQ(world.allgather(mine), all);
    EXPECT_EQ(world.reduce(mine, larger, Rank(3)).value_or(all[4]), all[4]);
    EXPECT_EQ(world.allreduce(mine, larger), all[4]);
    EXPECT_EQ(world.scan(mine, larger), mine);
    EXPECT_EQ(world.alltoall(std::vector<std::string>(5, mine)), all);
    return 0;
  });
}

TEST(Costs, WhenMeasured_AreTheRealTime) {
  Config config = config_of_costs(1, 1);
  config.sim_cost = shoal::sim::CostKind::measured;
  const auto host = shoal::env::make_thread_env();
  std::uint64_t real_ns = 0;
  const std::uint64_t time = time_of(config, [&](World& world) {
    world.spawn([&] {
      const std::uint64_t begin = host->now_ns();
      while (real_ns < 2'000'000) real_ns = host->now_ns() - begin;
      shoal::compute(shoal::Cost::of_seconds(1000), [] {});  // what is declared does not count
    });
    world.wait();
    return 0;
  });
  EXPECT_GE(time, real_ns);
  EXPECT_LT(time, 1'000'000'000'000U);
}

TEST(Costs, OutOfRange_AreRefused) {
  for (const double bad : {-1.0, 1e7, std::nan(""), HUGE_VAL}) {
    SimulatedWorld world(config_of_costs(1, 1));
    world.run([&](World&) {
      shoal::compute(shoal::Cost::of_seconds(bad), [] {});
      return 0;
    });
    EXPECT_THAT(shoal::describe(world.ranks().front()->error()), HasSubstr("a cost of"));
  }
}

TEST(Costs, OutsideSimulations_SayNothing) {
  int done = 0;
  EXPECT_EQ(run_with({"--ranks", "1"},
                     [&](World& world) {
                       shoal::compute(shoal::Cost::of_seconds(1e6), [&] { ++done; });
                       EXPECT_FALSE(world.is_dry());
                     }),
            0);
  shoal::compute(shoal::Cost::of_seconds(1e6), [&] { ++done; });  // on a thread of the program
  EXPECT_EQ(done, 2);
}

// Messages between nodes share the interface of their node; within a node each process has its own.
TEST(Costs, RanksOfANode_AreNearAndShareTheWayOut) {
  Config config = config_of_costs(4, 1);
  config.sim_net = "loggp:1ms,0ns,1ms,0ns,0";
  config.sim_node_net = "loggp:1us,0ns,1us,0ns,0";
  config.sim_node_ranks = 2;
  constexpr std::uint64_t kBeginNs = 100'000'000;
  std::vector<std::uint64_t> near_ns;
  std::vector<std::uint64_t> far_ns;
  static_cast<void>(time_of(config, [&](World& world) {
    const auto message = world.make_am([&](int from, std::uint64_t begin_ns) {
      (from / 2 == world.rank() / 2 ? near_ns : far_ns).push_back(world.now_ns() - begin_ns);
    });
    world.barrier();
    // Ranks leave a barrier at times of their own.
    shoal::sleep_for(std::chrono::nanoseconds(kBeginNs - world.now_ns()));
    if (world.rank() < 2) {
      message.send(Rank(1 - world.rank()), world.rank(), world.now_ns());
      message.send(Rank(2), world.rank(), world.now_ns());
    }
    world.wait();
    return 0;
  }));
  ASSERT_EQ(near_ns.size(), 2U);
  for (const std::uint64_t ns : near_ns) EXPECT_LT(ns, 10'000U);
  std::ranges::sort(far_ns);
  ASSERT_EQ(far_ns.size(), 2U);
  EXPECT_GE(far_ns[0], 2'000'000U);
  EXPECT_GE(far_ns[1], far_ns[0] + 900'000);
}

TEST(Options, MeasuredCosts_DoNotGoWithWhatMustBeTheSameTwice) {
  for (const char* option : {"--sim-check", "--sim-dry"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_with({"--sim-cost", "measured", option}, storm), 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr(std::string("does not go with ") + option));
  }
}

TEST(Options, ProcessesOnTwoNodes_AreRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--sim", "--ranks", "6", "--ranks-per-process", "2", "--sim-node-ranks", "3"},
                     storm),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--sim-node-ranks 3"));
}

// --- budgets

// Tasks stop sending at the window; only messages that are already decided when it fills exceed it:
// one of each worker.
TEST(Budget, OfBytesInFlight_IsKeptInEveryOrder) {
  for (std::uint64_t seed = 1; seed <= std::uint64_t{sized_on_one_thread(30, 6)}; ++seed) {
    Config config = sim_config(3, 2, seed);
    config.sim_order = kOrders[seed % std::size(kOrders)];
    config.packet_bytes = 1024;
    config.window_bytes = 4096;
    SimulatedWorld world(config);
    std::size_t most_bytes = 0;
    std::size_t received = 0;
    const auto look = [&] {
      for (const auto& rank : world.ranks()) {
        for (const auto& link : rank->messenger().fabric().link_states(rank->rank())) {
          most_bytes = std::max(most_bytes, link.in_flight_bytes);
        }
      }
    };
    world.run([&](World& mine) {
      const auto message = mine.make_am([&](const std::vector<char>&) {
        ++received;
        look();
      });
      for (int worker = 0; worker < 2; ++worker) {
        mine.spawn([&] {
          for (int i = 0; i < 200; ++i) {
            message.send(Rank((mine.rank() + 1) % mine.size()), std::vector<char>(200));
            look();
          }
        });
      }
      mine.wait();
      return 0;
    });
    EXPECT_EQ(received, 3U * 2 * 200);
    EXPECT_GT(most_bytes, config.window_bytes / 2) << "seed " << seed;  // it was a flood
    EXPECT_LE(most_bytes, config.window_bytes + 2 * 256) << "seed " << seed;
  }
}

// --- completion

// After the last task: a report up the tree, a wave down and up, and the news down.
TEST(Completion, IsFoundSoonAfterTheLastTask) {
  constexpr std::uint64_t kHop_ns = 5'000;  // 1 us on the way, the rest in steps
  for (int depth = 0, size = 1; depth < 5; ++depth, size = 4 * size + 1) {
    for (std::uint64_t seed = 1; seed <= std::uint64_t{sized_on_one_thread(5, 2)}; ++seed) {
      Config config = sim_config(size, 2, seed);
      config.sim_net = "fixed:1us,100G";
      std::uint64_t task_ended_ns = 0;
      std::uint64_t last_returned_ns = 0;
      SimulatedWorld world(config);
      world.run([&](World& mine) {
        if (mine.rank() == mine.size() - 1) {
          mine.spawn([&] {
            shoal::compute(shoal::Cost::of_seconds(kMillisecond), [] {});
            task_ended_ns = mine.now_ns();
          });
        }
        mine.wait();
        EXPECT_GT(task_ended_ns, 0U) << "returned too early";
        last_returned_ns = std::max(last_returned_ns, mine.now_ns());
        return 0;
      });
      EXPECT_LE(last_returned_ns - task_ended_ns,
                kHop_ns * (4 * static_cast<std::uint64_t>(depth) + 1))
          << size << " ranks, seed " << seed;
    }
  }
}

TEST(Simulation, OfAThousandRanks_Ends) {
  SimulatedWorld world(sim_config(sized(1024, 64), 1, 1));
  world.run([](World& mine) {
    EXPECT_EQ(mine.allreduce(1, [](int a, int b) { return a + b; }), mine.size());
    return 0;
  });
}

TEST(Simulation, Hang_IsAnErrorWithTheSeedAndTheLastEvents) {
  SimulatedWorld world(sim_config(2, 1, 77));
  try {
    world.run([](World& mine) {
      if (mine.rank() == 1) {
        shoal::sched::block(mine.core().scheduler().env(), "nobody wakes this",
                            [](shoal::sync::Waiter&) { return true; });
      }
      return 0;
    });
    ADD_FAILURE() << "ended";
  } catch (const shoal::Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("hangs"), HasSubstr("--sim-seed 77"),
                                    HasSubstr("rank 1 worker 0")));
  }
}

// --- the options

TEST(Options, Sim_RunsTheProgramInVirtualTime) {
  testing::internal::CaptureStderr();
  const int code = run_with({"--sim", "--ranks", "3", "--sim-seed", "5"}, [](World& world) {
    EXPECT_EQ(world.launch(), shoal::Launch::simulated);
    EXPECT_EQ(world.size(), 3);
    EXPECT_EQ(world.worker_count(), 1);
    return storm(world);
  });
  EXPECT_EQ(code, 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("simulated 3 ranks with seed 5"), HasSubstr("trace hash")));
}

TEST(Options, SimCheck_AcceptsAProgramThatOnlyTheSeedDecides) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--sim-check", "--ranks", "4"}, storm), 0);
  testing::internal::GetCapturedStderr();
}

TEST(Options, SimCheck_FindsWhatElseDecides) {
  testing::internal::CaptureStderr();
  const pid_t this_process = getpid();
  const int code = run_with({"--sim-check", "--ranks", "2"}, [&](World& world) {
    const auto message = world.make_am([] {});
    if (getpid() != this_process) message.send(Rank(1 - world.rank()));
    world.wait();
  });
  EXPECT_EQ(code, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the same seed gave two runs"));
}

// They came by links of the same process, in whose full windows senders wait.
TEST(SimulatedWorld, ThatIsGivenUp_WhileMessagesWait_EndsWithItsReport) {
  testing::internal::CaptureStderr();
  const auto late = [](World& world) {
    if (world.rank() == 1) shoal::sleep_for(std::chrono::seconds(10));
    const auto message = world.make_am([](std::span<const int>) {});
    for (int i = 0; i < 1000; ++i) message.send(Rank(1), std::vector<int>(100));
  };
  EXPECT_EQ(run_with({"--sim", "--sim-limit", "1ms", "--ranks", "2", "--ranks-per-process", "2",
                      "--window-bytes", "8192", "--packet-bytes", "512"},
                     late),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--sim-limit"));
}

TEST(Options, RanksThatDoNotFillTheProcesses_AreRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--sim", "--ranks", "3", "--ranks-per-process", "2"}, storm), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("not a multiple"));
}

// One rank makes a team of its node, and one of the first ranks of all nodes.
TEST(SimulatedWorld, TeamsOfALevelOfTheMachine) {
  static std::map<std::string, std::vector<int>> members;
  members.clear();
  Config config = sim_config(7, 1, 3);
  config.sim_node_ranks = 3;
  SimulatedWorld world(config);
  world.run([](World& world) {
    const auto note = [](Team& team, const std::string& name) {
      const std::vector<int> ranks = team.allgather(team.world_rank(team.rank()).value());
      if (team.rank() == 0) members[name] = ranks;
    };
    if (world.rank() == 4) {
      using shoal::MachineLevel;
      auto near = world.launch_team(world.ranks_sharing(MachineLevel::node), note, "node of 4");
      auto far = world.launch_team(world.ranks_sharing(MachineLevel::numa, Rank(6)), note, "of 6");
      auto first = world.launch_team(world.first_ranks(MachineLevel::node), note, "first");
      near.get();
      far.get();
      first.get();
    }
    world.wait();
    // Ranks of a team are its own.
    Team team(world, {Rank(6), Rank(5), Rank(4), Rank(0)}, "some");
    if (team.rank() == 0) {
      EXPECT_EQ(team.ranks_sharing(shoal::MachineLevel::socket, Rank(1)),
                RankSet({Rank(1), Rank(2)}));
      EXPECT_EQ(team.first_ranks(shoal::MachineLevel::socket),
                RankSet({Rank(0), Rank(1), Rank(3)}));
    }
    return 0;
  });
  EXPECT_THAT(members["node of 4"], testing::ElementsAre(3, 4, 5));
  EXPECT_THAT(members["of 6"], testing::ElementsAre(6));
  EXPECT_THAT(members["first"], testing::ElementsAre(0, 3, 6));
}

}  // namespace sim_world_test

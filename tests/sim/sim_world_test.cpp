// Simulated worlds: the same seed gives the same run, every order gives the same results, and what
// time things take is what the model says.

#include "runtime/simulated_world.hpp"

#include "support/random_dag.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

using shoal::Rank;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::sim::OrderKind;
using shoal::testing::run_with;
using shoal::testing::sized;
using testing::AllOf;
using testing::HasSubstr;

constexpr OrderKind kOrders[] = {OrderKind::time,      OrderKind::uniform,   OrderKind::priorities,
                                 OrderKind::slow_rank, OrderKind::slow_link, OrderKind::late};

Config config_of(int ranks, int workers, std::uint64_t seed) {
  Config config;
  config.ranks = ranks;
  config.workers = workers;
  config.sim_seed = seed;
  config.stack_bytes = std::size_t{256} << 10;
  config.args = {"test"};
  return config;
}

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

std::uint64_t trace_of(const Config& config) {
  SimulatedWorld world(config);
  world.run(storm);
  return world.trace().hash();
}

TEST(Simulation, OfOneSeed_IsTheSameEveryTime) {
  for (const OrderKind order : kOrders) {
    Config config = config_of(5, 2, 7);
    config.sim_order = order;
    EXPECT_EQ(trace_of(config), trace_of(config));
  }
}

TEST(Simulation, OfOtherSeeds_TakesOtherOrders) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) hashes.insert(trace_of(config_of(5, 2, seed)));
  EXPECT_EQ(hashes.size(), 20U);
}

TEST(Simulation, RandomGraphs_HaveTheSameValuesInEveryOrder) {
  constexpr int kSeeds = sized(40, 8);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const shoal::testing::DagOptions options{
        .seed = seed, .nodes = 300, .ranks = 1 + static_cast<int>(seed % 7), .workers = 2};
    const shoal::testing::Dag dag = shoal::testing::make_dag(options);
    for (const OrderKind order : kOrders) {
      Config config = config_of(options.ranks, options.workers, seed);
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

// One 8-byte message there and one back, in packets of their own.
TEST(Simulation, RoundTrip_TakesTwiceTheLatency) {
  Config config = config_of(2, 1, 1);
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
  Config config = config_of(2, 1, 1);
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

TEST(Simulation, OfAThousandRanks_Ends) {
  SimulatedWorld world(config_of(sized(1024, 128), 1, 1));
  world.run([](World& mine) {
    EXPECT_EQ(mine.allreduce(1, [](int a, int b) { return a + b; }), mine.size());
    return 0;
  });
}

TEST(Simulation, Hang_IsAnErrorWithTheSeedAndTheLastEvents) {
  SimulatedWorld world(config_of(2, 1, 77));
  try {
    world.run([](World& mine) {
      if (mine.rank() == 1) {
        shoal::sched::block(mine.scope().scheduler().env(), "nobody wakes this",
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

TEST(Options, RanksThatDoNotFillTheProcesses_AreRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--sim", "--ranks", "3", "--ranks-per-process", "2"}, storm), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("not a multiple"));
}

}  // namespace

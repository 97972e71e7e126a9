// Faults in simulated worlds: what a network may do changes no result; what a reliable one must not
// do is noticed, and ends the world with an error that says so.

#include "runtime/simulated_world.hpp"

#include "support/random_dag.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(SHOAL_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sim_faults_test {

using shoal::Rank;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::testing::sized;
using testing::AnyOf;
using testing::HasSubstr;

/// Worlds that a fault ends in the middle abandon what was under way, as an abort of MPI does: what
/// is allocated here, on the one thread of a simulation, is no leak.
class Faults : public testing::Test {
#if defined(SHOAL_ASAN)
  __lsan::ScopedDisabler abandons_memory_;
#endif
};

Config config_of(int ranks, std::uint64_t seed, const std::string& faults) {
  Config config = shoal::testing::sim_config(ranks, 2, seed);
  config.sim_faults = faults;
  if (seed % 2 == 0) {  // senders wait for room
    config.packet_bytes = 512;
    config.window_bytes = 1024;
  }
  return config;
}

constexpr int kRounds = 20;
constexpr int kRanks = 4;

/// Every rank sends every other one numbered small messages and large ones. Returns what arrived at
/// all ranks together: the sum of what was sent, if all is well.
int exchange(World& world, std::uint64_t& sum) {
  std::vector<int> next(static_cast<std::size_t>(world.size()));
  std::vector<std::vector<std::uint64_t>> places;
  const auto small = world.make_am([&](int source, int number) {
    EXPECT_EQ(next[static_cast<std::size_t>(source)]++, number) << "out of order";
    sum += static_cast<std::uint64_t>(number);
  });
  const auto large = world.make_large_am<std::uint64_t>(
      [&](std::size_t count) {
        places.emplace_back(count);
        return std::span(places.back());
      },
      [&](std::span<std::uint64_t> values) {
        sum = std::accumulate(values.begin(), values.end(), sum);
      },
      [] {});
  const std::vector<std::uint64_t> payload(100, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (int target = 0; target < world.size(); ++target) {
      small.send(Rank(target), world.rank().value(), round);
      large.send(Rank(target), std::span<const std::uint64_t>(payload));
    }
    if (round % 5 == 0) world.barrier();
  }
  world.wait();
  return 0;
}

constexpr std::uint64_t kExpectedSum =
    std::uint64_t{kRanks} * kRanks * (kRounds * (kRounds - 1) / 2 + 100 * kRounds);

/// How an exchange ended: without a value if well, else with the error.
std::optional<std::string> error_of(const Config& config) {
  std::uint64_t sum = 0;
  SimulatedWorld world(config);
  try {
    world.run([&](World& mine) { return exchange(mine, sum); });
  } catch (const shoal::TransportError& error) {
    return error.what();
  }
  for (const auto& rank : world.ranks()) {
    if (rank->error() != nullptr) return shoal::describe(rank->error());
  }
  EXPECT_EQ(sum, kExpectedSum) << "seed " << config.sim_seed;
  return std::nullopt;
}

TEST_F(Faults, ThatARealNetworkMayShow_ChangeNoResult) {
  constexpr std::uint64_t kSeeds = sized(60, 10);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_EQ(
        error_of(config_of(kRanks, seed,
                           "delay:p=0.3,by=200us;delay:p=0.01,by=20ms;"
                           "clog:from=1,to=2,at=20us,for=5ms;clog:from=2,to=0,at=50us,for=1ms;"
                           "pause:rank=3,at=30us,for=10ms;pause:rank=0,at=100us,for=3ms")),
        std::nullopt)
        << "seed " << seed;
  }
}

TEST_F(Faults, ThatARealNetworkMayShow_ChangeNoRandomGraph) {
  constexpr std::uint64_t kSeeds = sized(40, 8);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const shoal::testing::DagOptions options{.seed = seed, .nodes = 300, .ranks = 3, .workers = 2};
    const shoal::testing::Dag dag = shoal::testing::make_dag(options);
    Config config = config_of(
        3, seed, "delay:p=0.2,by=1ms;pause:rank=1,at=10us,for=2ms;clog:from=0,to=2,at=0s,for=1ms");
    config.packet_bytes = 1024;
    config.window_bytes = 4096;
    shoal::testing::DagRun run(dag);
    SimulatedWorld world(config);
    world.run([&](World& mine) {
      run.run(mine, {.dense = seed % 2 == 0});
      return 0;
    });
    EXPECT_EQ(run.difference(), "") << "seed " << seed;
  }
}

// The strike is drawn from all packets and payloads that the exchange sends.
void expect_detected(const std::string& kind, const testing::Matcher<std::string>& error) {
  constexpr std::uint64_t kSeeds = sized(200, 30);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string plan = kind + ":n=" + std::to_string(seed % 97);
    const std::optional<std::string> text = error_of(config_of(kRanks, seed, plan));
    ASSERT_TRUE(text.has_value()) << plan << ", seed " << seed << ": nobody noticed";
    EXPECT_THAT(*text, error) << plan << ", seed " << seed;
  }
}

TEST_F(Faults, Drop_IsDetected) {
  expect_detected("drop", AnyOf(HasSubstr("arrived where"), HasSubstr("the network lost")));
}

TEST_F(Faults, Duplicate_IsDetected) { expect_detected("duplicate", HasSubstr("arrived where")); }

TEST_F(Faults, OvertakingInALane_IsDetected) {
  constexpr std::uint64_t kSeeds = sized(200, 30);
  int detected = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::optional<std::string> text =
        error_of(config_of(kRanks, seed, "reorder:n=" + std::to_string(seed % 97)));
    if (!text.has_value()) continue;  // nothing came behind it in its lane
    EXPECT_THAT(*text, HasSubstr("arrived where"));
    ++detected;
  }
  EXPECT_GT(detected, static_cast<int>(kSeeds) / 4);
}

TEST_F(Faults, Corruption_IsDetected) {
  expect_detected("corrupt", HasSubstr("corrupt pa"));  // packet, payload
}

TEST_F(Faults, DeathOfARank_EndsTheWorld) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::optional<std::string> text = error_of(config_of(kRanks, seed, "die:rank=2,at=30us"));
    EXPECT_THAT(text.value_or("nothing"), HasSubstr("the process of rank 2 died"));
  }
}

TEST_F(Faults, AreInTheTrace_AndComeAgainWithTheirSeed) {
  const auto trace_of = [](std::uint64_t seed, const std::string& faults) {
    std::uint64_t sum = 0;
    SimulatedWorld world(config_of(kRanks, seed, faults));
    world.run([&](World& mine) { return exchange(mine, sum); });
    return world.trace().hash();
  };
  const std::string plan = "delay:p=0.1,by=1us";
  EXPECT_EQ(trace_of(3, plan), trace_of(3, plan));
  EXPECT_NE(trace_of(3, plan), trace_of(3, ""));
}

TEST(Options, SimFaults_AreRefusedWhenTheyAreWrong) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(shoal::testing::run_with({"--sim", "--sim-faults", "drop:q=1"}, [](World&) {}), 1);
  EXPECT_EQ(shoal::testing::run_with({"--sim", "--sim-faults", "die:rank=1,at=1us"}, [](World&) {}),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("'q=1' does not belong there"),
                             HasSubstr("rank 1 is out of range")));
}

// --check-payloads, where the bytes change because the program writes to what it has sent.
TEST(Options, CheckPayloads_NoticesWhatTheProgramChanges) {
  Config config = config_of(2, 1, "");
  SimulatedWorld world(config);
  world.run([](World& mine) {
    std::vector<char> place(8);
    const auto large = mine.make_large_am<char>([&](std::size_t) { return std::span(place); },
                                                [](std::span<char>) {}, [] {});
    std::vector<char> bytes(8, 'x');
    if (mine.rank() == 0) large.send(Rank(1), std::span<const char>(bytes));
    bytes[3] = 'y';
    mine.wait();
    return 0;
  });
  EXPECT_THAT(shoal::describe(world.ranks()[0]->error()),
              HasSubstr("it was changed before its release function ran"));
}

}  // namespace sim_faults_test

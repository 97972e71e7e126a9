// Times of patterns of messages in simulated networks, computed by hand from LogGP: one to one, one
// to many, many to one, all to all.

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sim_network_sim_test {

using shoal::Rank;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::testing::sim_config;
using testing::ElementsAre;

// L = 10 us, o = 3 us, g = 5 us: a packet keeps an interface busy for o + g, and is L + o on its
// way.
constexpr const char* kPackets = "loggp:10us,3us,5us,0ns,0";
constexpr std::uint64_t kBusy = 8000;
constexpr std::uint64_t kWay = 13'000;
// A byte of a payload takes 1 ns.
constexpr const char* kBytes = "loggp:10us,0ns,0ns,1ns,0";
constexpr const char* kEagerBytes = "loggp:10us,0ns,0ns,1ns,16M";
constexpr std::size_t kPayload = 1'000'000;
constexpr std::uint64_t kBegin = 10'000'000;  // when all send

/// Targets of a rank, in the order in which it sends.
using Targets = std::function<std::vector<int>(int rank)>;
/// Times at which messages arrive at each rank, from the begin on.
using Times = std::map<int, std::vector<std::uint64_t>>;

Config config_of(const std::string& net, int ranks) {
  Config config = sim_config(ranks, 1, 1);
  config.sim_net = net;
  config.sim_step_ns = 0;
  return config;
}

void sleep_until(World& world, std::uint64_t time_ns) {
  shoal::sleep_for(std::chrono::nanoseconds(time_ns - world.now_ns()));
}

/// Messages alone: ranks begin at once, and do nothing else until all have arrived.
Times packets(const Config& config, const Targets& targets) {
  Times times;
  SimulatedWorld simulated(config);
  simulated.run([&](World& world) {
    const auto message =
        world.make_am([&] { times[world.rank()].push_back(world.now_ns() - kBegin); });
    world.barrier();
    sleep_until(world, kBegin);
    std::uint64_t free_ns = kBegin;  // else the seed says which target comes first
    for (const int target : targets(world.rank())) {
      message.send(Rank(target));
      sleep_until(world, free_ns += kBusy);
    }
    sleep_until(world, 2 * kBegin);
    world.wait();
    return 0;
  });
  return times;
}

Times payloads(const Config& config, std::size_t bytes, const Targets& targets) {
  Times times;
  SimulatedWorld simulated(config);
  simulated.run([&](World& world) {
    std::vector<std::vector<char>> places;
    const auto message = world.make_large_am<char>(
        [&](std::size_t count) { return std::span(places.emplace_back(count)); },
        [&](std::span<char>) { times[world.rank()].push_back(world.now_ns() - kBegin); }, [] {});
    const std::vector<char> payload(bytes, 'x');
    places.reserve(static_cast<std::size_t>(world.size()));
    world.barrier();
    sleep_until(world, kBegin);
    for (const int target : targets(world.rank())) {
      message.send(Rank(target), std::span<const char>(payload));
      shoal::sleep_for(std::chrono::microseconds(2));  // announcements in this order
    }
    sleep_until(world, 3 * kBegin);
    world.wait();
    return 0;
  });
  return times;
}

std::vector<int> one_to_one(int rank) { return rank == 1 ? std::vector{0} : std::vector<int>(); }
std::vector<int> one_to_many(int rank) {
  return rank == 0 ? std::vector{1, 2, 3} : std::vector<int>();
}
std::vector<int> many_to_one(int rank) { return rank > 0 ? std::vector{0} : std::vector<int>(); }
/// First to 0, then to 1, ...
std::vector<int> all_to_all(int rank) {
  std::vector<int> targets;
  for (int target = 0; target < 4; ++target) {
    if (target != rank) targets.push_back(target);
  }
  return targets;
}
/// Each first to the next one.
std::vector<int> all_to_all_in_turn(int rank) {
  return {(rank + 1) % 4, (rank + 2) % 4, (rank + 3) % 4};
}

TEST(SimulatedNetwork, OneToOne_TakesBusyAndWay) {
  EXPECT_THAT(packets(config_of(kPackets, 2), one_to_one)[0], ElementsAre(kBusy + kWay));
}

TEST(SimulatedNetwork, OneToMany_LeavesOneAfterTheOther) {
  Times times = packets(config_of(kPackets, 4), one_to_many);
  EXPECT_THAT(times[1], ElementsAre(1 * kBusy + kWay));
  EXPECT_THAT(times[2], ElementsAre(2 * kBusy + kWay));
  EXPECT_THAT(times[3], ElementsAre(3 * kBusy + kWay));
}

TEST(SimulatedNetwork, ManyToOne_ArriveOneAfterTheOther) {
  EXPECT_THAT(packets(config_of(kPackets, 5), many_to_one)[0],
              ElementsAre(1 * kBusy + kWay, 2 * kBusy + kWay, 3 * kBusy + kWay, 4 * kBusy + kWay));
}

// Each rank receives while it sends, and no two send to one rank at a time.
TEST(SimulatedNetwork, AllToAllInTurn_TakesAsLongAsOneToMany) {
  Times times = packets(config_of(kPackets, 4), all_to_all_in_turn);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(times[rank], ElementsAre(1 * kBusy + kWay, 2 * kBusy + kWay, 3 * kBusy + kWay));
  }
}

// All begin with rank 0. First bytes arrive at rank 0 three times at 0 (behind the way), at 1 at 0,
// 8, 8, at 2 at 8, 8, 16, and at 3 three times at 16.
TEST(SimulatedNetwork, AllToAllInOneOrder_WaitsAtTheReceivers) {
  Times times = packets(config_of(kPackets, 4), all_to_all);
  EXPECT_THAT(times[0], ElementsAre(1 * kBusy + kWay, 2 * kBusy + kWay, 3 * kBusy + kWay));
  EXPECT_THAT(times[1], ElementsAre(1 * kBusy + kWay, 2 * kBusy + kWay, 3 * kBusy + kWay));
  EXPECT_THAT(times[2], ElementsAre(2 * kBusy + kWay, 3 * kBusy + kWay, 4 * kBusy + kWay));
  EXPECT_THAT(times[3], ElementsAre(3 * kBusy + kWay, 4 * kBusy + kWay, 5 * kBusy + kWay));
}

// Of ranks 2 and 4, on other nodes, to the two ranks of the first node: they share its interface.
TEST(SimulatedNetwork, RanksOfANode_ShareTheWayIn) {
  Config config = config_of(kPackets, 6);
  config.sim_node_ranks = 2;
  config.sim_node_net = "loggp:1us,0ns,1us,0ns,0";
  Times times = packets(config, [](int rank) {
    if (rank == 1) return std::vector{0};
    return rank == 2 || rank == 4 ? std::vector{rank / 2 - 1} : std::vector<int>();
  });
  ASSERT_EQ(times[0].size(), 2U);
  EXPECT_EQ(times[0][0], 2000U);  // of rank 1: g + L of the node
  std::vector<std::uint64_t> far{times[0][1], times[1].at(0)};
  std::ranges::sort(far);
  EXPECT_THAT(far, ElementsAre(1 * kBusy + kWay, 2 * kBusy + kWay));
}

/// Behind the announcements, of less than 500 bytes each, and answers.
void expect_about(std::uint64_t time_ns, std::uint64_t expected_ns) {
  EXPECT_GE(time_ns, expected_ns);
  EXPECT_LE(time_ns, expected_ns + 40'000);
}

TEST(SimulatedNetwork, Payloads_TakeTheirBytesAtBothSides) {
  for (const char* net : {kBytes, kEagerBytes}) {
    const auto last = [&](int ranks, const Targets& targets) {
      std::uint64_t time_ns = 0;
      for (const auto& [rank, times] : payloads(config_of(net, ranks), kPayload, targets)) {
        time_ns = std::max(time_ns, times.back());
      }
      return time_ns;
    };
    expect_about(last(2, one_to_one), 1 * kPayload);
    expect_about(last(4, one_to_many), 3 * kPayload);
    expect_about(last(5, many_to_one), 4 * kPayload);
    expect_about(last(4, all_to_all_in_turn), 3 * kPayload);
    expect_about(last(4, all_to_all), 5 * kPayload);
  }
}

// A payload that waits for its turn does not keep the receiver of a later one waiting.
TEST(SimulatedNetwork, AnInterfaceThatIsIdle_ReceivesWhatComesFirst) {
  const Times times = payloads(config_of(kBytes, 4), kPayload, [](int rank) {
    if (rank == 1) return std::vector{2, 3, 0};  // to 0 as the last
    return rank == 2 ? std::vector{0} : std::vector<int>();
  });
  expect_about(times.at(0)[0], 1 * kPayload);
  expect_about(times.at(0)[1], 3 * kPayload);
}

// 10G are 10 * 2^30 bytes per second.
TEST(SimulatedNetwork, Incast_TakesAllBytesOverTheBandwidthOfOne) {
  constexpr int kSenders = 127;
  constexpr std::size_t kBytesOfOne = 256UL << 10U;
  const std::vector<std::uint64_t> times =
      payloads(config_of("fixed:1us,10G", kSenders + 1), kBytesOfOne, many_to_one)[0];
  ASSERT_EQ(times.size(), std::size_t{kSenders});
  const std::uint64_t expected_ns = kSenders * kBytesOfOne * 1'000'000'000UL / (10UL << 30U);
  EXPECT_EQ(expected_ns, 3'100'585U);
  EXPECT_GE(times.back(), expected_ns);
  EXPECT_LE(times.back(), expected_ns + 10'000);
}

// Bytes enter the root of a gather at its bandwidth, whatever the algorithm.
TEST(SimulatedNetwork, Gather_TakesAtLeastTheBytesOfAllOthers) {
  constexpr int kRanks = 16;
  Config config = config_of(kBytes, kRanks);
  std::uint64_t time_ns = 0;
  SimulatedWorld simulated(config);
  simulated.run([&](World& world) {
    const std::vector<char> mine(kPayload, 'x');
    world.barrier();
    sleep_until(world, kBegin);
    EXPECT_EQ(world.gather(mine, Rank(0)).size(), world.rank() == 0 ? std::size_t{kRanks} : 0U);
    if (world.rank() == 0) time_ns = world.now_ns() - kBegin;
    world.wait();
    return 0;
  });
  EXPECT_GE(time_ns, (kRanks - 1) * kPayload);
  EXPECT_LE(time_ns, (kRanks - 1) * kPayload * 21 / 20);
}

}  // namespace sim_network_sim_test

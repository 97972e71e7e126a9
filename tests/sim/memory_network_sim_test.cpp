// Accesses to global memory of other processes take the time of the simulated network, and share
// its packets.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace memory_network_sim_test {

using shoal::GlobalMemory;
using shoal::GlobalPtr;
using shoal::Rank;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::testing::sim_config;

constexpr std::size_t kWords = 1U << 17U;  // 1 MiB

/// Runs `access` on rank 0, with words of rank 1; returns how long it took, in nanoseconds.
std::uint64_t time_of(const std::string& net,
                      const std::function<void(GlobalMemory&, GlobalPtr<std::uint64_t>)>& access) {
  Config config = sim_config(2, 1, 1);
  config.sim_net = net;
  config.sim_step_ns = 1;
  std::uint64_t time_ns = 0;
  SimulatedWorld(config).run([&](World& world) {
    GlobalMemory memory(world, {.checks = shoal::GlobalMemoryOptions::Checks::off});
    const auto far = memory.collective_allocate<std::uint64_t>(kWords).on(Rank(1));
    world.barrier();
    if (world.rank() == 0) {
      const std::uint64_t begin_ns = world.now_ns();
      access(memory, far);
      time_ns = world.now_ns() - begin_ns;
    }
    world.wait();
    return 0;
  });
  return time_ns;
}

void expect_near(std::uint64_t time_ns, std::uint64_t expected_ns) {
  EXPECT_GE(time_ns, expected_ns);
  EXPECT_LE(time_ns, expected_ns + expected_ns / 1000);
}

TEST(SimulatedMemory, GetAndRemoteCompletion_TakeARoundTrip_AndAPutNone) {
  constexpr std::uint64_t kRoundTrip = 2'000'000;
  const std::string net = "fixed:1ms,1000G";
  expect_near(time_of(net, [](auto& memory, auto far) { EXPECT_EQ(memory.get(far), 0U); }),
              kRoundTrip);
  expect_near(time_of(net, [](auto& memory, auto far) { memory.put(far, 1).wait(); }), kRoundTrip);
  expect_near(time_of(net, [](auto& memory, auto far) { memory.fetch_add(far, 1); }), kRoundTrip);
  expect_near(time_of(net,
                      [](auto& memory, auto far) {
                        for (int i = 0; i < 10; ++i) {
                          static_cast<void>(memory.put(far + i, 1));
                        }
                        memory.quiet();
                      }),
              kRoundTrip);
  EXPECT_LE(time_of(net, [](auto& memory, auto far) { static_cast<void>(memory.put(far, 1)); }),
            1000U);
}

TEST(SimulatedMemory, LargeGet_TakesItsSizeOverTheBandwidth) {
  const std::string net = "loggp:1us,0ns,0ns,1ns,0";  // a byte takes a nanosecond
  const std::uint64_t time_ns = time_of(net, [](auto& memory, auto far) {
    std::vector<std::uint64_t> words(kWords);
    memory.get(far, std::span(words));
  });
  EXPECT_GE(time_ns, kWords * 8);
  EXPECT_LE(time_ns, kWords * 8 + 10'000);
}

/// Packets between the processes of a run in which rank 0 accesses `count` words of rank 1 at once.
unsigned long long packets_of(std::size_t count) {
  SimulatedWorld simulation(sim_config(2, 1, 1));
  simulation.run([&](World& world) {
    GlobalMemory memory(world, {.checks = shoal::GlobalMemoryOptions::Checks::off});
    const auto far = memory.collective_allocate<std::uint64_t>(kWords).on(Rank(1));
    world.barrier();
    if (world.rank() == 0 && count > 0) {
      std::vector<GlobalPtr<std::uint64_t>> places;
      for (std::size_t i = 0; i < count; ++i) places.push_back(far + static_cast<long>(7 * i));
      std::vector<std::uint64_t> values(count);
      std::iota(values.begin(), values.end(), 1U);
      memory.scatter(places, values).wait();
      memory.gather(places, std::span(values));
      EXPECT_EQ(values.back(), count);
    }
    world.wait();
    return 0;
  });
  unsigned long long packets = 0;
  for (const std::string& line : simulation.summary()) {
    std::sscanf(line.c_str(), "between processes: %*u bytes in %llu packets", &packets);
  }
  return packets;
}

// A request or an answer takes at most 100 bytes, and a packet has room for 8 KiB.
TEST(SimulatedMemory, RequestsToOneRankSharePackets_AndSoDoAnswers) {
  constexpr std::size_t kRequests = 10'000;
  const unsigned long long alone = packets_of(0);
  const unsigned long long all = packets_of(kRequests);
  EXPECT_GT(all, alone);
  EXPECT_LE(all - alone, 4 * kRequests * 100 / 8192 + 50);
}

}  // namespace memory_network_sim_test

// Priorities of tasks reach the messages with their data.

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using shoal::Data;
using shoal::Flow;
using shoal::Rank;
using shoal::read;
using shoal::read_write;
using shoal::with_priority;
using shoal::World;

// The urgent value is computed when many others are on their way over a slow network.
TEST(FlowPriority, SmallValueForAnUrgentTask_OvertakesThoseUnderWay) {
  constexpr std::size_t kValues = 200;
  std::uint64_t urgent_ns = 0;
  std::uint64_t last_ns = 0;
  shoal::runtime::Config config = shoal::testing::sim_config(2, 1, 1);
  config.sim_net = "fixed:1us,1G";
  shoal::runtime::SimulatedWorld world(config);
  world.run([&](World& world) {
    Flow flow(world);
    const auto urgent = flow.data(0);
    std::vector<Data<std::vector<char>>> values;
    std::vector<Data<int>> sums;
    for (std::size_t i = 0; i <= kValues; ++i) {
      values.push_back(flow.data(std::vector<char>(8000)));
      sums.push_back(flow.data(0, {.owner = Rank(1)}));
    }
    for (std::size_t i = 0; i < kValues; ++i) {
      flow.insert([&](const std::vector<char>&, int&) { last_ns = world.now_ns(); },
                  read(values[i]), read_write(sums[i]));
    }
    flow.insert([](int& value) { ++value; }, read_write(urgent), with_priority(-100));
    flow.insert([&](const int&, int&) { urgent_ns = world.now_ns(); }, read(urgent),
                read_write(sums.back()), with_priority(100));
    flow.wait();
    return 0;
  });
  EXPECT_GT(urgent_ns, 0U);
  EXPECT_LT(urgent_ns, last_ns / 2);
}

}  // namespace

// Priorities of tasks reach the messages with their data.

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flow_priority_sim_test {

using shoal::Data;
using shoal::Flow;
using shoal::Rank;
using shoal::read;
using shoal::read_write;
using shoal::with_priority;
using shoal::World;

struct Times {
  std::uint64_t urgent_ns = 0;
  std::uint64_t last_ns = 0;
};

// The urgent value is computed when many others are on their way over a slow network.
Times times_of(std::uint64_t seed) {
  constexpr std::size_t kValues = 200;
  std::uint64_t urgent_ns = 0;
  std::uint64_t last_ns = 0;
  shoal::runtime::Config config = shoal::testing::sim_config(2, 1, seed);
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
  return {urgent_ns, last_ns};
}

// The seed says whether it comes before or behind the values that leave with the next room in the
// window.
TEST(FlowPriority, SmallValueForAnUrgentTask_OvertakesThoseUnderWay) {
  double earliest = 1;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Times times = times_of(seed);
    EXPECT_GT(times.urgent_ns, 0U);
    const double part = static_cast<double>(times.urgent_ns) / static_cast<double>(times.last_ns);
    EXPECT_LT(part, 0.8);
    earliest = std::min(earliest, part);
  }
  EXPECT_LT(earliest, 0.5);
}

// Share of the run after which a task of rank 1 reads a value of rank 0, when the busy rank has
// many tasks that are more important than a transfer by itself.
double reading_begins(int busy, int priority_of_reader) {
  constexpr int kTasks = 50;
  const auto work = [](int& value) {
    shoal::compute(shoal::Cost::of_flops(1e6), [&] { ++value; });
  };
  std::uint64_t reader_ns = 0;
  std::uint64_t end_ns = 0;
  shoal::runtime::SimulatedWorld world(shoal::testing::sim_config(2, 1, 1));
  world.run([&](World& world) {
    Flow flow(world);
    const auto sent = flow.data(0);
    const auto received = flow.data(0, {.owner = Rank(1)});
    flow.insert(work, read_write(sent), with_priority(5));
    for (int i = 0; i < kTasks; ++i) {
      flow.insert(work, read_write(flow.data(0, {.owner = Rank(busy)})), with_priority(4));
    }
    flow.insert([&](const int&, int&) { reader_ns = world.now_ns(); }, read(sent),
                read_write(received), with_priority(priority_of_reader));
    flow.wait();
    end_ns = world.now_ns();
    return 0;
  });
  EXPECT_GT(reader_ns, 0U);
  return static_cast<double>(reader_ns) / static_cast<double>(end_ns);
}

TEST(FlowPriority, SendingComesBeforeTasks) { EXPECT_LT(reading_begins(0, 0), 0.1); }
TEST(FlowPriority, ReceivingComesBeforeTasks) { EXPECT_LT(reading_begins(1, 5), 0.1); }

}  // namespace flow_priority_sim_test

// Names of 0.1: programs that use them do what they did.

#include <shoal/object.hpp>
#include <shoal/runtime/team.hpp>
#include <shoal/shoal.hpp>
#include <shoal/trace/trace.hpp>

#include "support/run_world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <span>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace runtime_names_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;

std::atomic<int> sum{0};
void add(int value) { sum += value; }

TEST(NamesOfTheFirstVersion, OfCallsWithTheFunctionFirst_SendTheSame) {
  sum = 0;
  run_world(2, 1, [](World& world) {
    auto message = world.make_am([](int value) { add(value); });
    auto large = world.make_large_am<int>(
        [](std::size_t size) { return std::span<int>(new int[size], size); },
        [](std::span<int> values) {
          add(values[0]);
          delete[] values.data();
        },
        [] {});
    const std::vector<int> payload(100, 10000000);
    if (world.rank() == 0) {
      world.send(shoal::am<add>, Rank(1), 1);
      world.send([](int value) { add(value); }, Rank(1), 10);
      world.send_urgent(shoal::am<add>, Rank(1), 100);
      world.send(world.handle(), shoal::am<add>, Rank(1), 1000);
      world.multicast(shoal::am<add>, {Rank(0), Rank(1)}, 10000);
      world.multicast([](int value) { add(value); }, {Rank(1)}, 100000);
      world.multicast(message, {Rank(1)}, 1000000);
      world.multicast(large, {Rank(1)}, payload);
    }
    world.wait();
  });
  EXPECT_EQ(sum, 11121111);
}

struct Adder : shoal::DistributedObject<Adder> {
  explicit Adder(World& world) : DistributedObject(world) {}
  int rank() const { return shoal::DistributedObject<Adder>::rank().value(); }
};

TEST(NamesOfTheFirstVersion, OfCallsOfModels_DoTheSame) {
  sum = 0;
  run_world(2, 1, [](World& world) {
    Adder adder(world);
    EXPECT_EQ(adder.call_all<&Adder::rank>().get(), (std::vector{0, 1}));
    shoal::Executor executor(world);
    executor.submit_with_priority<add>(3, 1);
    executor.submit<add>(10);
    executor.wait();
    shoal::Flow flow(world);
    const shoal::Flow::TransferCounts counts = flow.transfer_counts();
    EXPECT_EQ(counts.recipients, flow.statistics().recipients);
  });
  EXPECT_EQ(sum, 22);
}

TEST(NamesOfTheFirstVersion, OfTypes_AreTheSameTypes) {
  static_assert(std::is_same_v<shoal::Counter, shoal::Latch>);
  static_assert(std::is_same_v<shoal::Condition, shoal::ConditionVariable>);
  static_assert(std::is_same_v<shoal::Stats, shoal::Statistics>);
  static_assert(std::is_same_v<shoal::distributed_array<int>, shoal::DistributedArray<int>>);
  static_assert(std::is_same_v<shoal::distributed_map<int, int>, shoal::DistributedMap<int, int>>);
  static_assert(std::is_same_v<shoal::composed_array<int>, shoal::ComposedArray<int>>);
  static_assert(std::is_same_v<shoal::external_thread, shoal::ExternalThread>);
  static_assert(std::is_same_v<shoal::flow::ParameterList<int, long>, shoal::TypeList<int, long>>);
  run_world(1, 1, [](World& world) {
    EXPECT_GE(world.statistics().tasks_run, world.stats().tasks_run);
    shoal::Events events(world);
    EXPECT_TRUE(events.test_lock("lock"));
    events.unlock("lock");
  });
}

}  // namespace runtime_names_test

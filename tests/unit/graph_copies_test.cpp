// Copies of large inputs that travel along the edges of a graph.

#include "support/heap_meter.hpp"
#include "support/turn_world.hpp"

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace graph_copies_test {

using shoal::Immutable;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::HeapMeter;
using shoal::testing::run_turns;

using Values = std::vector<double>;

/// Allocator of the program's own.
template <class T>
struct OwnMemory : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = OwnMemory<U>;
  };
  OwnMemory() = default;
  template <class U>
  OwnMemory(const OwnMemory<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
};
using OwnValues = std::vector<double, OwnMemory<double>>;

constexpr std::size_t kCount = std::size_t{1} << 20U;
constexpr int kRanks = 4;
// Seeds of run_turns(), both without faults.
constexpr std::uint64_t kProcesses = 12;
constexpr std::uint64_t kOneProcess = 6;

Values make_values() { return Values(kCount, 1.5); }

/// Values in memory at the same time, at most, while rank 0 sends inputs to tasks 0 to 3, each on
/// the rank of its number.
template <class V>
double values_in_memory(std::uint64_t seed, const std::function<void(TaskGraph<int>&)>& send) {
  std::atomic<int> ran{0};
  HeapMeter::reset();
  const auto result = run_turns({.seed = seed, .ranks = kRanks}, [&](World& world) {
    TaskGraph<int> graph(world, "copies");
    graph.set_rank([](int k) { return Rank(k); })
        .set_mapping([](int) { return 0; })
        .set_task([&](int, const V& input) {
          if constexpr (std::is_same_v<V, Immutable<Values>>) {
            EXPECT_EQ(input->size(), kCount);
            EXPECT_EQ(input->back(), 1.5);
          } else {
            EXPECT_EQ(input.size(), kCount);
            EXPECT_EQ(input.back(), 1.5);
          }
          ++ran;
          shoal::yield();
        });
    if (world.rank() == 0) send(graph);
    world.wait();
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    EXPECT_EQ(error, nullptr) << shoal::describe(error);
  }
  EXPECT_GT(ran, 0);
  return static_cast<double>(HeapMeter::growth_bytes()) / (kCount * sizeof(double));
}

class GraphCopies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HeapMeter::counts) GTEST_SKIP() << "the sanitizer has the heap";
  }
};

TEST_F(GraphCopies, OfAValueThatMoves_AreNotMade) {
  const auto send = [](TaskGraph<int>& graph) { graph.send(1, 0, make_values()); };
  EXPECT_LT(values_in_memory<Values>(kOneProcess, send), 1.5);
  EXPECT_LT(values_in_memory<Values>(kProcesses, send), 2.5);  // the sender's and the receiver's
}

// Received memory cannot become the vector's: its allocator gives it other memory.
TEST_F(GraphCopies, OfAValueWithAnAllocator_AreTheTasksOnes) {
  const auto send = [](TaskGraph<int>& graph) { graph.send(1, 0, OwnValues(kCount, 1.5)); };
  EXPECT_LT(values_in_memory<OwnValues>(kOneProcess, send), 1.5);
  EXPECT_LT(values_in_memory<OwnValues>(kProcesses, send), 3.5);
}

TEST_F(GraphCopies, OfAValueThatStays_AreTheTasksOnes) {
  const auto send = [](TaskGraph<int>& graph) {
    const Values values = make_values();
    graph.send(2, 0, values);
  };
  EXPECT_LT(values_in_memory<Values>(kOneProcess, send), 2.5);
  EXPECT_LT(values_in_memory<Values>(kProcesses, send), 3.5);
}

// Its sender keeps it: a packet with it would be a third one.
TEST_F(GraphCopies, OfAnImmutableForOneTask_AreNotMadeOnTheWay) {
  Immutable<Values> kept;
  const auto send = [&kept](TaskGraph<int>& graph) {
    kept = shoal::make_immutable<Values>(make_values());
    graph.send(1, 0, kept);
  };
  EXPECT_LT(values_in_memory<Immutable<Values>>(kProcesses, send), 2.5);
}

TEST_F(GraphCopies, OfAMulticast_AreTheTasksOnes) {
  const auto send = [](TaskGraph<int>& graph) {
    graph.send_all(std::vector{1, 2, 3}, 0, make_values());
  };
  EXPECT_LT(values_in_memory<Values>(kProcesses, send), 4.5);
}

TEST_F(GraphCopies, OfAnImmutable_AreMadeOncePerProcess) {
  const auto send = [](TaskGraph<int>& graph) {
    graph.send_all(std::vector{0, 1, 2, 3}, 0,
                   Immutable<Values>(shoal::make_immutable<Values>(make_values())));
  };
  EXPECT_LT(values_in_memory<Immutable<Values>>(kOneProcess, send), 1.5);
  EXPECT_LT(values_in_memory<Immutable<Values>>(kProcesses, send), 4.5);
}

}  // namespace graph_copies_test

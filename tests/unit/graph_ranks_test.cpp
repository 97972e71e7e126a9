// Task graphs over all ranks: set_rank(), send(), send_all().

#include "support/turn_world.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace graph_ranks_test {

using shoal::Immutable;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::run_seeds;
using shoal::testing::run_turns;
using testing::HasSubstr;

TEST(GraphOverRanks, Fulfill_ReachesTheRankOfTheKey) {
  run_seeds(60, 4, 2, [](World& world) {
    constexpr int kTasks = 60;
    std::vector<int> ran(kTasks, 0);
    TaskGraph<int> tree(world, "tree");
    tree.set_rank([&](int k) { return Rank(k % world.size()); })
        .set_indegree([](int) { return 1; })
        .set_mapping([&](int k) { return k % world.worker_count(); })
        .set_task([&](int k) {
          EXPECT_EQ(k % world.size(), world.rank().value());
          ++ran[static_cast<std::size_t>(k)];
          for (int d = 2 * k + 1; d <= 2 * k + 2 && d < kTasks; ++d) tree.fulfill(d);
        });
    if (world.rank() == 3) tree.fulfill(0);
    world.wait();
    for (int k = 0; k < kTasks; ++k) {
      EXPECT_EQ(ran[static_cast<std::size_t>(k)], k % world.size() == world.rank() ? 1 : 0);
    }
  });
}

TEST(GraphOverRanks, Send_BringsInputsOfSeveralTypes) {
  run_seeds(60, 3, 2, [](World& world) {
    using Key = std::array<int, 2>;
    constexpr int kSteps = 6;
    constexpr int kWidth = 5;
    using Row = Immutable<std::vector<long>>;
    long sum = 0;
    shoal::Mutex mutex(world);
    TaskGraph<Key> graph(world, "sums");
    const auto rank_of = [&](const Key& k) { return Rank((k[0] + k[1]) % world.size()); };
    graph.set_rank(rank_of)
        .set_mapping([](const Key&) { return 0; })
        .set_task([&](const Key& k, const Row& row, std::string text) {
          EXPECT_EQ(rank_of(k), world.rank());
          EXPECT_EQ(text, "step " + std::to_string(k[0]));
          long total = 0;
          for (const long value : *row) total += value;
          if (k[0] + 1 == kSteps) {
            const std::lock_guard lock(mutex);
            sum += total;
            return;
          }
          graph.send({k[0] + 1, k[1]}, 1, "step " + std::to_string(k[0] + 1));
          if (k[1] != 0) return;
          std::vector<Key> all;
          for (int i = 0; i < kWidth; ++i) all.push_back({k[0] + 1, i});
          graph.send_all(all, 0, shoal::make_immutable<std::vector<long>>(3, total));
        });
    if (world.rank() == 0) {
      std::vector<Key> all;
      for (int i = 0; i < kWidth; ++i) {
        all.push_back({0, i});
        graph.send({0, i}, 1, std::string("step 0"));
      }
      graph.send_all(all, 0, shoal::make_immutable<std::vector<long>>(3, 1L));
    }
    world.wait();
    EXPECT_EQ(world.allreduce(sum, std::plus<>()), kWidth * 3L * 3 * 3 * 3 * 3 * 3);
  });
}

TEST(GraphOverRanks, SendAll_SendsOnceToEachRank) {
  run_seeds(60, 8, 2, [](World& world) {
    std::atomic<int> ran{0};
    TaskGraph<int> graph(world, "read");
    graph.set_rank([&](int k) { return k % world.size(); })
        .set_mapping([](int) { return 0; })
        .set_task([&](int k, const std::vector<int>& values) {
          EXPECT_EQ(k % world.size(), world.rank());
          EXPECT_EQ(values, std::vector<int>(100, 4));
          ++ran;
        });
    world.wait();
    const auto before = world.statistics().messages_sent;
    if (world.rank() == 0) {
      std::vector<int> all(24);
      std::iota(all.begin(), all.end(), 0);
      graph.send_all(all, 0, std::vector<int>(100, 4));
      EXPECT_EQ(world.statistics().messages_sent - before, 7U);
    }
    world.wait();
    EXPECT_EQ(ran, 3);
  });
}

// The sender would be busy for long: others pass the value on.
TEST(GraphOverRanks, SendAll_ToManyRanks_GoesAlongATree) {
  constexpr int kRanks = 60;
  const auto result = run_turns({.seed = 1, .ranks = kRanks}, [](World& world) {
    int ran = 0;
    TaskGraph<int> graph(world, "read");
    graph.set_rank([](int k) { return k; })
        .set_mapping([](int) { return 0; })
        .set_task([&](int, const Immutable<std::vector<double>>& values) {
          EXPECT_EQ(values->back(), 2.5);
          ++ran;
        });
    std::vector<int> all(kRanks);
    std::iota(all.begin(), all.end(), 0);
    world.wait();
    for (const std::size_t count : {10UL, 10'000UL}) {
      const auto before = world.statistics().messages_sent;
      if (world.rank() == 0) {
        graph.send_all(all, 0, shoal::make_immutable<std::vector<double>>(count, 2.5));
        EXPECT_LE(world.statistics().messages_sent - before, 4U);
      }
      world.wait();
    }
    EXPECT_EQ(ran, 2);
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_EQ(error, nullptr) << shoal::describe(error);
  }
}

// Each task has its own vector, which it may write to while others still get it; or shares one.
TEST(GraphOverRanks, LargeInputs_ArriveWhole) {
  run_seeds(60, 6, 2, [](World& world) {
    constexpr std::size_t kCount = 12'000;
    constexpr int kTasks = 14;
    using Shared = Immutable<std::vector<int>>;
    std::atomic<int> ran{0};
    TaskGraph<int> graph(world, "large");
    graph.set_rank([&](int k) { return k % world.size(); })
        .set_mapping([](int) { return 0; })
        .set_task([&](int k, std::vector<int> own, const Shared& shared, std::vector<int> single) {
          EXPECT_EQ(own, std::vector<int>(kCount, 1));
          EXPECT_EQ(*shared, std::vector<int>(2 * kCount, 2));
          EXPECT_EQ(single, std::vector<int>(kCount, k));
          own.assign(kCount, -1);
          single.assign(kCount, -1);
          ++ran;
        });
    std::vector<int> all(kTasks);
    std::iota(all.begin(), all.end(), 0);
    if (world.rank() == 0) graph.send_all(all, 0, std::vector<int>(kCount, 1));
    if (world.rank() == 1) {
      const auto shared = shoal::make_immutable<std::vector<int>>(2 * kCount, 2);
      graph.send_all(all, 1, shared);
      for (const int k : all) graph.send(k, 2, std::vector<int>(kCount, k));
    }
    world.wait();
    EXPECT_EQ(world.allreduce(ran.load(), std::plus<>()), kTasks);
  });
}

TEST(GraphOverRanks, WrongCalls_AreRefusedByName) {
  const auto with_graph = [](const std::function<void(TaskGraph<int>&)>& use) {
    return error_of([&](World& world) {
      TaskGraph<int> graph(world, "g");
      graph.set_rank([](int k) { return k; })
          .set_mapping([](int) { return 0; })
          .set_task([](int, long, const std::string&) {});
      use(graph);
      world.wait();
    });
  };
  EXPECT_THAT(
      with_graph([](auto& graph) { graph.fulfill(7); }),
      HasSubstr("task graph 'g': set_rank() of g[7], on rank 0: rank 7 is out of range: the "
                "world has ranks 0 to 0"));
  EXPECT_THAT(with_graph([](auto& graph) { graph.send(0, 2, 1L); }),
              HasSubstr("takes 2 inputs behind the key, slots 0 to 1"));
  EXPECT_THAT(with_graph([](auto& graph) { graph.send(0, 0, 1.5); }),
              HasSubstr("send() of double to slot 0: the function of set_task() takes long"));
  EXPECT_THAT(with_graph([](auto& graph) {
                graph.send(0, 0, 1L);
                graph.send(0, 0, 2L);
              }),
              HasSubstr("g[0] has its input of slot 0 already"));
  EXPECT_THAT(with_graph([](auto& graph) { graph.fulfill(0, 2); }),
              HasSubstr("g[0] runs without its input of slot 0"));
}

}  // namespace graph_ranks_test

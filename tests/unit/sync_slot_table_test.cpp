
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "sync/slot_table.hpp"

namespace sync_slot_table_test {

using shoal::sync::SlotId;
using shoal::sync::SlotTable;

TEST(SlotTable, TakesEachValueOnce) {
  SlotTable<std::unique_ptr<int>> table;
  const SlotId first = table.add(std::make_unique<int>(1));
  const SlotId second = table.add(std::make_unique<int>(2));
  EXPECT_EQ(**table.take(second), 2);
  EXPECT_FALSE(table.take(second));
  const SlotId third = table.add(std::make_unique<int>(3));
  EXPECT_EQ(third.index, second.index);
  EXPECT_FALSE(table.take(second));  // an old number of the same slot
  EXPECT_EQ(**table.take(first), 1);
  EXPECT_EQ(**table.take(third), 3);
  EXPECT_FALSE(table.take({1'000'000, 0}));
  EXPECT_FALSE(table.take({0xFFFFFFFF, 0}));
}

TEST(SlotTable, GrowsByBlocks_AndReusesItsSlots) {
  SlotTable<int> table;
  for (int round = 0; round < 3; ++round) {
    std::vector<SlotId> ids;
    for (int i = 0; i < 1000; ++i) ids.push_back(table.add(i));
    for (int i = 0; i < 1000; ++i) {
      EXPECT_LT(ids[static_cast<std::size_t>(i)].index, 1000U);
      EXPECT_EQ(table.take(ids[static_cast<std::size_t>(i)]), i);
    }
  }
}

TEST(SlotTable, TakeAll_LeavesNothing) {
  SlotTable<int> table;
  std::vector<SlotId> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(table.add(i, i % 3));
  for (int i = 0; i < 200; i += 2) EXPECT_TRUE(table.take(ids[static_cast<std::size_t>(i)]));
  std::vector<int> labels(3);
  table.for_each_label([&](int label) { ++labels[static_cast<std::size_t>(label)]; });
  EXPECT_EQ(labels, (std::vector<int>{33, 34, 33}));
  std::set<int> rest;
  table.take_all([&](int value) { rest.insert(value); });
  EXPECT_EQ(rest.size(), 100U);
  EXPECT_EQ(*rest.begin(), 1);
  table.for_each_label([](int /*label*/) { ADD_FAILURE() << "something is left"; });
}

TEST(SlotTable, OfManyThreads_GivesEachValueToOneOfThoseThatTakeIt) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 20'000;
  SlotTable<std::uint64_t> table;
  std::atomic<std::uint64_t> sum{0};
  std::vector<std::atomic<std::uint64_t>> offered(kThreads);  // the last id of each, packed
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto take = [&](std::uint64_t packed) {
        const SlotId id{static_cast<std::uint32_t>(packed),
                        static_cast<std::uint32_t>(packed >> 32)};
        if (const auto value = table.take(id)) sum += *value;
      };
      for (std::uint64_t i = 1; i <= kRounds; ++i) {
        const SlotId id = table.add(i);
        const std::uint64_t packed = id.index | (std::uint64_t{id.generation} << 32U);
        offered[static_cast<std::size_t>(t)] = packed;
        take(offered[static_cast<std::size_t>((t + 1) % kThreads)]);  // of another thread
        take(packed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kRounds * (kRounds + 1) / 2);
  table.for_each_label([](int /*label*/) { ADD_FAILURE() << "something is left"; });
}

}  // namespace sync_slot_table_test

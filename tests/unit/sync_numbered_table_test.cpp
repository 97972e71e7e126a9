#include <shoal/detail/sync/numbered_table.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace sync_numbered_table_test {

using shoal::sync::NumberedTable;

TEST(NumberedTable, TakesEachValueOnce) {
  NumberedTable<std::unique_ptr<int>> table;
  const std::uint64_t first = table.add(std::make_unique<int>(1));
  const std::uint64_t second = table.add(std::make_unique<int>(2));
  EXPECT_NE(first, 0U);
  EXPECT_EQ(**table.take(second), 2);
  EXPECT_FALSE(table.take(second));
  const std::uint64_t third = table.add(std::make_unique<int>(3));
  EXPECT_NE(third, second);
  EXPECT_EQ(static_cast<std::uint32_t>(third), static_cast<std::uint32_t>(second));  // its slot
  EXPECT_FALSE(table.take(second));
  EXPECT_EQ(**table.take(first), 1);
  EXPECT_EQ(**table.take(third), 3);
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{1'000'000}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(table.take(none));
  }
}

TEST(NumberedTable, ValueThatDoesNotFit_Stays) {
  NumberedTable<int> table;
  const std::uint64_t number = table.add(7);
  EXPECT_FALSE(table.take_if(number, [](int value) { return value == 8; }));
  EXPECT_EQ(table.take_if(number, [](int value) { return value == 7; }), 7);
}

TEST(NumberedTable, ValueThatWasMovedOut_IsStillTakenOnce) {
  NumberedTable<std::unique_ptr<int>> table;
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 200; ++i) numbers.push_back(table.add(std::make_unique<int>(i)));
  for (std::size_t i = 0; i < 200; i += 2) EXPECT_TRUE(table.take(numbers[i]));
  std::set<int> rest;
  table.for_each([&](std::unique_ptr<int>& value) {
    rest.insert(*value);
    value.reset();
  });
  EXPECT_EQ(rest.size(), 100U);
  EXPECT_EQ(*rest.begin(), 1);
  for (std::size_t i = 1; i < 200; i += 2) {
    EXPECT_EQ(*table.take(numbers[i]), nullptr);
    EXPECT_FALSE(table.take(numbers[i]));
  }
}

TEST(NumberedTable, OfManyThreads_GivesEachValueToOneOfThoseThatTakeIt) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 20'000;
  NumberedTable<std::uint64_t> table;
  std::atomic<std::uint64_t> sum{0};
  std::vector<std::atomic<std::uint64_t>> offered(kThreads);  // the last number of each
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto take = [&](std::uint64_t number) {
        if (const auto value = table.take(number)) sum += *value;
      };
      for (std::uint64_t i = 1; i <= kRounds; ++i) {
        const std::uint64_t number = table.add(i);
        offered[static_cast<std::size_t>(t)] = number;
        take(offered[static_cast<std::size_t>((t + 1) % kThreads)]);  // of another thread
        take(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kRounds * (kRounds + 1) / 2);
  table.for_each([](std::uint64_t /*value*/) { ADD_FAILURE() << "something is left"; });
}

}  // namespace sync_numbered_table_test

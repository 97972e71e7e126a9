#include <shoal/detail/graph/dependency_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace graph_dependency_table_test {

using shoal::KeyHash;
using shoal::graph::DenseTable;
using shoal::graph::DependencyTable;
using shoal::graph::Entry;
using shoal::graph::Fulfill;

template <class K>
Fulfill fulfill(DependencyTable<K>& table, const K& key, int count, int indegree,
                Entry* refused = nullptr) {
  Entry entry;
  const Fulfill result = table.fulfill(KeyHash<K>{}(key), key, count, indegree, entry);
  if (refused != nullptr) *refused = entry;
  return result;
}

TEST(DependencyTable, KeyWithThreeDependencies_IsReadyAtTheThird) {
  DependencyTable<int> table;
  EXPECT_EQ(fulfill(table, 3, 1, 3), Fulfill::waiting);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(fulfill(table, 3, 1, 3), Fulfill::waiting);
  EXPECT_EQ(fulfill(table, 3, 1, 99), Fulfill::ready);  // the first indegree counts
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(fulfill(table, 1, 4, 4), Fulfill::ready);
  EXPECT_EQ(table.size(), 0U);
}

TEST(DependencyTable, MoreThanTheIndegree_IsRefusedAndChangesNothing) {
  DependencyTable<int> table;
  Entry entry;
  EXPECT_EQ(fulfill(table, 1, 3, 2, &entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 0);
  EXPECT_EQ(entry.indegree, 2);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(fulfill(table, 1, 1, 2), Fulfill::waiting);
  EXPECT_EQ(fulfill(table, 1, std::numeric_limits<int>::max(), 2, &entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(entry.indegree, 2);
  EXPECT_EQ(fulfill(table, 1, 1, 2), Fulfill::ready);
}

TEST(DependencyTable, RandomFulfillments_AgreeWithAReference) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto indegree_of = [](int number) { return number % 5 + 1; };
  const auto key_of = [](int n) { return "a key that is not short " + std::to_string(n); };
  DependencyTable<std::string> table;
  std::unordered_map<int, int> expected;
  for (unsigned step = 0; step < 30'000; ++step) {
    // The range of keys breathes, so that the table grows and shrinks.
    const int number = static_cast<int>(random() % (1U + 1000U * (step / 1000U % 4U)));
    const int count = 1 + static_cast<int>(random() % 3U);
    const int before = expected.contains(number) ? expected[number] : 0;
    const int indegree = indegree_of(number);
    Entry entry;
    const Fulfill result = fulfill(table, key_of(number), count, indegree, &entry);
    if (before + count > indegree) {
      ASSERT_EQ(result, Fulfill::over);
      ASSERT_EQ(entry.fulfilled, before);
      ASSERT_EQ(entry.indegree, indegree);
    } else {
      ASSERT_EQ(result, before + count == indegree ? Fulfill::ready : Fulfill::waiting);
      expected[number] = before + count;
      if (result == Fulfill::ready) expected.erase(number);
    }
    ASSERT_EQ(table.size(), expected.size());
  }
  std::unordered_map<std::string, int> seen;
  table.for_each([&](const std::string& key, const Entry& entry) {
    EXPECT_TRUE(seen.emplace(key, entry.fulfilled).second);
  });
  EXPECT_EQ(seen.size(), expected.size());
  for (const auto& [number, fulfilled] : expected) {
    EXPECT_EQ(seen[key_of(number)], fulfilled);
    const int missing = indegree_of(number) - fulfilled;
    ASSERT_EQ(fulfill(table, key_of(number), missing, 99), Fulfill::ready);
  }
  ASSERT_EQ(table.size(), 0U);
}

TEST(DenseTable, Index_GoesFromNeverSeenToRan) {
  DenseTable table(3);
  Entry entry;
  EXPECT_EQ(table.fulfill(2, 1, 3, entry), Fulfill::waiting);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(entry.indegree, 3);
  EXPECT_EQ(table.fulfill(2, 3, 3, entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(table.fulfill(2, 2, 3, entry), Fulfill::ready);
  EXPECT_EQ(entry.fulfilled, 3);
  EXPECT_EQ(table.fulfill(2, 1, 3, entry), Fulfill::ran);
  EXPECT_EQ(entry.fulfilled, 3);
  EXPECT_EQ(entry.indegree, 3);
  EXPECT_EQ(table.fulfill(0, 2, 1, entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 0);
  EXPECT_EQ(table.fulfill(0, 1, 1, entry), Fulfill::ready);
  EXPECT_EQ(table.capacity(), 3U);
}

TEST(DenseTable, ForEach_VisitsOnlyIndicesThatWait) {
  DenseTable table(4);
  Entry entry;
  static_cast<void>(table.fulfill(0, 1, 1, entry));
  static_cast<void>(table.fulfill(1, 1, 3, entry));
  static_cast<void>(table.fulfill(3, 2, 3, entry));
  std::vector<std::array<int, 2>> seen;
  table.for_each([&](std::size_t index, int remaining) {
    seen.push_back({static_cast<int>(index), remaining});
  });
  EXPECT_EQ(seen, (std::vector<std::array<int, 2>>{{1, 2}, {3, 1}}));
}

TEST(DenseTable, ManyThreads_FulfillingTheSameIndices_MakeEachReadyOnceAndSeeAllWrites) {
  constexpr int threads = 4;
  constexpr std::size_t n = 20'000;
  DenseTable table(n);
  // Plain memory: under ThreadSanitizer a missing acquire or release is a race.
  std::vector<std::array<int, threads>> written(n);
  std::vector<std::atomic<int>> readied(n);
  std::atomic<int> lost = 0;
  const auto work = [&](std::size_t self) {
    Entry entry;
    for (std::size_t index = 0; index < n; ++index) {
      written[index][self] = 1;
      if (table.fulfill(index, 1, threads, entry) != Fulfill::ready) continue;
      readied[index].fetch_add(1, std::memory_order_relaxed);
      for (const int value : written[index]) lost += 1 - value;
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 0; t < threads; ++t) pool.emplace_back(work, t);
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(lost, 0);
  for (const auto& count : readied) ASSERT_EQ(count, 1);
  table.for_each([](std::size_t index, int /*remaining*/) { ADD_FAILURE() << index; });
}

}  // namespace graph_dependency_table_test

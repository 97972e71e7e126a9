#include <shoal/detail/graph/dependency_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace graph_dependency_table_test {

/// All keys with the same number modulo 3 share a hash: long clusters that wrap around.
struct Colliding {
  explicit Colliding(int v) : value(v) {}
  int value;
  bool operator==(const Colliding&) const = default;
};
inline std::uint64_t shoal_hash(const Colliding& key) {
  return static_cast<std::uint64_t>(key.value % 3);
}

/// Counts its live objects, and throws on the copy and on the move that the test chose.
struct Throwing {
  struct Plan {
    int live = 0;
    int copies_left = -1;
  };
  static Plan& plan() {
    static Plan instance;
    return instance;
  }

  explicit Throwing(int v) : value(v) { ++plan().live; }
  Throwing(const Throwing& other) : value(other.value) {
    if (plan().copies_left == 0) throw std::runtime_error("copy");
    --plan().copies_left;
    ++plan().live;
  }
  Throwing& operator=(const Throwing&) = delete;
  ~Throwing() { --plan().live; }

  int value;
  bool operator==(const Throwing& other) const { return value == other.value; }
};
inline std::uint64_t shoal_hash(const Throwing& key) {
  return static_cast<std::uint64_t>(key.value / 2);
}

}  // namespace graph_dependency_table_test

namespace graph_dependency_table_test {

using namespace graph_dependency_table_test;
using shoal::graph::DenseTable;
using shoal::graph::DependencyTable;
using shoal::graph::Entry;
using shoal::graph::Fulfill;

/// An indegree function that always answers `n`.
auto always(int n) {
  return [n](const auto& /*key*/) { return n; };
}

TEST(DependencyTable, KeyWithThreeDependencies_IsReadyAtTheThird) {
  DependencyTable<int> table;
  Entry entry;
  int calls = 0;
  const auto indegree = [&](int key) {
    ++calls;
    return key;
  };
  EXPECT_EQ(table.fulfill(3, 1, indegree, &entry), Fulfill::waiting);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(entry.indegree, 3);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.fulfill(3, 1, indegree), Fulfill::waiting);
  EXPECT_EQ(table.fulfill(3, 1, indegree, &entry), Fulfill::ready);
  EXPECT_EQ(entry.fulfilled, 3);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(table.size(), 0U);
}

TEST(DependencyTable, KeyReadyAtOnce_IsNeverStored) {
  DependencyTable<int> table;
  EXPECT_EQ(table.fulfill(1, 4, always(4)), Fulfill::ready);
  EXPECT_EQ(table.memory_bytes(), 0U);
}

TEST(DependencyTable, MoreThanTheIndegree_IsRefusedAndChangesNothing) {
  DependencyTable<int> table;
  Entry entry;
  EXPECT_EQ(table.fulfill(1, 3, always(2), &entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 0);
  EXPECT_EQ(entry.indegree, 2);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.fulfill(1, 1, always(2)), Fulfill::waiting);
  EXPECT_EQ(table.fulfill(1, std::numeric_limits<int>::max(), always(2), &entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(table.fulfill(1, 1, always(2)), Fulfill::ready);
}

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const shoal::CheckError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(DependencyTable, BadCountOrIndegree_IsRefusedWithTheKey) {
  DependencyTable<std::array<int, 2>> table;
  const auto fulfill = [&](int count, int indegree) {
    return message_of([&] { static_cast<void>(table.fulfill({1, 2}, count, always(indegree))); });
  };
  EXPECT_NE(fulfill(1, 0).find("the indegree of key (1, 2) is 0"), std::string::npos);
  EXPECT_NE(fulfill(1, -1).find("is -1"), std::string::npos);
  EXPECT_NE(fulfill(0, 1).find("key (1, 2) fulfilled 0 times"), std::string::npos);
  EXPECT_EQ(table.size(), 0U);
}

TEST(DependencyTable, ForEach_VisitsEachWaitingKeyOnce) {
  DependencyTable<std::string> table;
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(table.fulfill(std::string(50, 'x') + std::to_string(i), i + 1, always(101)));
  }
  static_cast<void>(table.fulfill(std::string(50, 'x') + "7", 93, always(101)));
  std::unordered_map<std::string, int> seen;
  table.for_each([&](const std::string& key, int fulfilled, int indegree) {
    EXPECT_EQ(indegree, 101);
    EXPECT_TRUE(seen.emplace(key, fulfilled).second);
  });
  EXPECT_EQ(seen.size(), 99U);
  EXPECT_EQ(seen[std::string(50, 'x') + "41"], 42);
}

TEST(DependencyTable, Memory_WhileGrowing_StaysBelow48BytesPerKey) {
  DependencyTable<std::array<int, 3>> table;
  int n = 0;
  for (; n < 100'000; ++n) {
    static_cast<void>(table.fulfill({n / 1000, n % 1000, 0}, 1, always(2)));
    if (n < 100) continue;
    ASSERT_LE(table.memory_bytes(), 48 * table.size()) << n;
  }
  EXPECT_LT(table.longest_probe(), 200U);
  while (n-- > 0) EXPECT_EQ(table.fulfill({n / 1000, n % 1000, 0}, 1, always(2)), Fulfill::ready);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_LE(table.memory_bytes(), 128 * 24U);
}

TEST(DependencyTable, KeysChosenByBitsOfTheirHash_StayEvenlySpread) {
  for (const int shift : {0, 56}) {  // as a caller does that shards by the low or the high bits
    DependencyTable<int> table;
    for (int key = 0; table.size() < 4000; ++key) {
      if (((shoal::KeyHash<int>{}(key) >> shift) & 0xFF) == 0) {
        static_cast<void>(table.fulfill(key, 1, always(2)));
      }
    }
    EXPECT_LT(table.longest_probe(), 120U) << shift;
  }
}

TEST(DependencyTable, MovedFrom_IsEmptyAndUsable) {
  DependencyTable<std::string> first;
  static_cast<void>(first.fulfill("a", 1, always(2)));
  DependencyTable<std::string> second = std::move(first);
  EXPECT_EQ(second.fulfill("a", 1, always(2)), Fulfill::ready);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.fulfill("a", 1, always(2)), Fulfill::waiting);
  second = std::move(first);
  EXPECT_EQ(second.size(), 1U);
}

TEST(DependencyTable, ThrowingIndegree_LeavesTheTableUnchanged) {
  DependencyTable<int> table;
  const auto throws = [](int /*key*/) -> int { throw std::runtime_error("indegree"); };
  EXPECT_THROW(static_cast<void>(table.fulfill(1, 1, throws)), std::runtime_error);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.fulfill(1, 1, always(2)), Fulfill::waiting);
  EXPECT_EQ(table.fulfill(1, 1, throws), Fulfill::ready);  // known already: not asked again
}

/// Random programs against std::unordered_map. `make` turns a number into a key.
template <class K, class Make>
void run_random_program(std::uint32_t seed, int keys, int steps, Make&& make) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto indegree_of = [](int number) { return number % 5 + 1; };
  DependencyTable<K> table;
  std::unordered_map<int, int> expected;
  for (int step = 0; step < steps; ++step) {
    // The range of keys breathes, so that the table grows and shrinks.
    const int number = below(1 + keys * (step / 1000 % 4) / 3);
    const int count = 1 + below(3);
    const auto known = expected.find(number);
    const int before = known == expected.end() ? 0 : known->second;
    const int indegree = indegree_of(number);
    Entry entry;
    bool asked = false;
    const Fulfill result = table.fulfill(
        make(number), count,
        [&](const K& key) {
          EXPECT_EQ(key, make(number));
          asked = true;
          return indegree;
        },
        &entry);
    ASSERT_EQ(asked, known == expected.end());
    ASSERT_EQ(entry.indegree, indegree);
    if (before + count > indegree) {
      ASSERT_EQ(result, Fulfill::over);
      ASSERT_EQ(entry.fulfilled, before);
    } else {
      ASSERT_EQ(entry.fulfilled, before + count);
      ASSERT_EQ(result, before + count == indegree ? Fulfill::ready : Fulfill::waiting);
      expected[number] = before + count;
      if (result == Fulfill::ready) expected.erase(number);
    }
    ASSERT_EQ(table.size(), expected.size());
    if (step % 500 != 0) continue;
    std::size_t visited = 0;
    table.for_each([&](const K&, int, int) { ++visited; });
    ASSERT_EQ(visited, expected.size());
  }
  for (const auto& [number, fulfilled] : expected) {
    const int missing = indegree_of(number) - fulfilled;
    ASSERT_EQ(table.fulfill(make(number), missing, always(99)), Fulfill::ready);
  }
  ASSERT_EQ(table.size(), 0U);
}

TEST(DependencyTable, RandomPrograms_OverAllKindsOfKeys_AgreeWithAReference) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t s = seed + round;
    run_random_program<int>(s, 3000, 30'000, [](int n) { return n; });
    run_random_program<std::array<int, 3>>(s, 3000, 30'000, [](int n) {
      return std::array{n, n / 7, -n};
    });
    run_random_program<std::string>(
        s, 1000, 20'000, [](int n) { return "a key that is not short " + std::to_string(n); });
    run_random_program<Colliding>(s, 60, 20'000, [](int n) { return Colliding(n); });
    run_random_program<Throwing>(s, 300, 10'000, [](int n) { return Throwing(n); });
    EXPECT_EQ(Throwing::plan().live, 0);
  }
}

TEST(DependencyTable, ThrowingCopies_AtRandom_LeaveTheTableUnchanged) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  {
    DependencyTable<Throwing> table;
    std::unordered_map<int, int> expected;
    for (int step = 0; step < 20'000; ++step) {
      const int number = static_cast<int>(random() % 200);
      Throwing::plan().copies_left = static_cast<int>(random() % 3);
      try {
        const Fulfill result = table.fulfill(Throwing(number), 1, always(2));
        ASSERT_EQ(result, expected.contains(number) ? Fulfill::ready : Fulfill::waiting);
        if (result == Fulfill::ready) {
          expected.erase(number);
        } else {
          expected[number] = 1;
        }
      } catch (const std::runtime_error&) {
        ASSERT_FALSE(expected.contains(number));  // only insertion copies
      }
      ASSERT_EQ(table.size(), expected.size());
      ASSERT_EQ(Throwing::plan().live, static_cast<int>(expected.size()));
    }
  }
  Throwing::plan().copies_left = -1;
  EXPECT_EQ(Throwing::plan().live, 0);
}

TEST(DenseTable, Index_GoesFromNeverSeenToRan) {
  DenseTable table(3);
  Entry entry;
  EXPECT_EQ(table.fulfill(2, 1, always(3), &entry), Fulfill::waiting);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(entry.indegree, 3);
  EXPECT_EQ(table.fulfill(2, 3, always(3), &entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 1);
  EXPECT_EQ(table.fulfill(2, 2, always(3), &entry), Fulfill::ready);
  EXPECT_EQ(entry.fulfilled, 3);
  EXPECT_EQ(table.fulfill(2, 1, always(3), &entry), Fulfill::ran);
  EXPECT_EQ(entry.fulfilled, 3);
  EXPECT_EQ(entry.indegree, 3);
  EXPECT_EQ(table.fulfill(0, 2, always(1), &entry), Fulfill::over);
  EXPECT_EQ(entry.fulfilled, 0);
  EXPECT_EQ(table.fulfill(0, 1, always(1)), Fulfill::ready);
  EXPECT_EQ(table.memory_bytes(), 12U);
  EXPECT_EQ(table.capacity(), 3U);
}

TEST(DenseTable, BadIndexCountOrIndegree_IsRefused) {
  DenseTable table(2);
  const auto fulfill = [&](std::size_t index, int count, int indegree) {
    return message_of([&] { static_cast<void>(table.fulfill(index, count, always(indegree))); });
  };
  EXPECT_NE(fulfill(2, 1, 1).find("index 2 of a dense index space of 2"), std::string::npos);
  EXPECT_NE(fulfill(1, 0, 1).find("index 1 fulfilled 0 times"), std::string::npos);
  EXPECT_NE(fulfill(1, 1, 0).find("the indegree of index 1 is 0"), std::string::npos);
  EXPECT_EQ(table.size(), 0U);
}

TEST(DenseTable, ThrowingIndegree_LeavesTheCounterUnchanged) {
  DenseTable table(1);
  Entry entry;
  const auto throws = [](std::size_t /*index*/) -> int { throw std::runtime_error("indegree"); };
  EXPECT_THROW(static_cast<void>(table.fulfill(0, 1, throws)), std::runtime_error);
  EXPECT_EQ(table.fulfill(0, 1, always(2)), Fulfill::waiting);
  EXPECT_THROW(static_cast<void>(table.fulfill(0, 1, throws, &entry)), std::runtime_error);
  EXPECT_EQ(table.fulfill(0, 1, throws), Fulfill::ready);  // known already: not asked again
  EXPECT_EQ(table.fulfill(0, 1, throws), Fulfill::ran);
}

TEST(DenseTable, ForEach_VisitsOnlyWhatWaits) {
  DenseTable table(4);
  static_cast<void>(table.fulfill(0, 1, always(1)));
  static_cast<void>(table.fulfill(1, 1, always(3)));
  static_cast<void>(table.fulfill(3, 2, always(3)));
  std::vector<std::array<int, 3>> seen;
  table.for_each(
      [&](std::size_t index, int fulfilled, int indegree) {
        seen.push_back({static_cast<int>(index), fulfilled, indegree});
      },
      always(3));
  EXPECT_EQ(seen, (std::vector<std::array<int, 3>>{{1, 1, 3}, {3, 2, 3}}));
  EXPECT_EQ(table.size(), 2U);
  table.for_each(
      [](std::size_t index, int remaining) { EXPECT_EQ(remaining, index == 1 ? 2 : 1); });
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
    for (std::size_t index = 0; index < n; ++index) {
      written[index][self] = 1;
      if (table.fulfill(index, 1, always(threads)) != Fulfill::ready) continue;
      readied[index].fetch_add(1, std::memory_order_relaxed);
      for (const int value : written[index]) lost += 1 - value;
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 0; t < threads; ++t) pool.emplace_back(work, t);
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(lost, 0);
  for (const auto& count : readied) ASSERT_EQ(count, 1);
  EXPECT_EQ(table.size(), 0U);
}

}  // namespace graph_dependency_table_test

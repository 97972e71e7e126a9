#include <shoal/detail/base/flat_map.hpp>

#include "support/heap_meter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace base_flat_map_test {

using shoal::FlatMap;
using shoal::testing::HeapMeter;

/// All keys with the same number modulo 3 share a hash: long clusters that wrap around.
struct Colliding {
  explicit Colliding(int v) : value(v) {}
  int value;
  bool operator==(const Colliding&) const = default;
};
inline std::uint64_t shoal_hash(const Colliding& key) {
  return static_cast<std::uint64_t>(key.value % 3);
}

/// Counts its live objects, and throws on the copy that the test chose. Its move copies.
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

/// A value that is kept on the heap.
struct Large {
  explicit Large(int* n) : number(n) {}
  std::unique_ptr<int> number;
  std::array<char, 200> rest{};
  int operator*() const { return *number; }
};

/// Random changes beside std::map. `make` turns a number into a key.
template <class K, class Value, class Make>
void expect_as_a_map(std::uint32_t seed, unsigned keys, int steps, Make make) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  FlatMap<K, Value> flat;
  std::map<unsigned, int> map;
  for (int step = 0; step < steps; ++step) {
    // The range of keys breathes, so that the table grows and shrinks.
    const unsigned number =
        static_cast<unsigned>(random()) % (1 + keys * (static_cast<unsigned>(step) / 1000 % 4) / 3);
    const K key = make(static_cast<int>(number));
    const Value* const found = flat.find(key);
    ASSERT_EQ(found != nullptr, map.contains(number));
    if (found != nullptr) {
      ASSERT_EQ(**found, map[number]);
    }
    if (random() % 5000 == 0) {
      flat.clear();
      map.clear();
    } else if (found == nullptr) {
      ASSERT_EQ(*flat.insert(key, Value(new int(step))), step);
      map[number] = step;
    } else if (step % 2 == 0) {
      flat.erase(key);
      map.erase(number);
    }
    ASSERT_EQ(flat.size(), map.size());
    if (step % 500 != 0) continue;
    std::multiset<int> visited;
    flat.for_each([&](const K& /*key*/, const Value& value) { visited.insert(*value); });
    std::multiset<int> expected;
    for (const auto& [each, value] : map) expected.insert(value);
    ASSERT_EQ(visited, expected);
  }
}
template <class K, class Make>
void expect_as_a_map(std::uint32_t seed, unsigned keys, int steps, Make make) {
  expect_as_a_map<K, std::unique_ptr<int>>(seed, keys, steps, make);
}

TEST(FlatMap, RandomChanges_OverAllKindsOfKeys_AgreeWithAReference) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t s = seed + round;
    const auto number = [](int n) { return n; };
    expect_as_a_map<int>(s, 3000, 30'000, number);
    expect_as_a_map<int, Large>(s, 300, 10'000, number);
    expect_as_a_map<std::array<int, 3>>(s, 3000, 30'000, [](int n) {
      return std::array{n, n / 7, -n};
    });
    expect_as_a_map<std::string>(
        s, 1000, 20'000, [](int n) { return "a key that is not short " + std::to_string(n); });
    expect_as_a_map<Colliding>(s, 60, 20'000, [](int n) { return Colliding(n); });
    expect_as_a_map<Throwing>(s, 300, 10'000, [](int n) { return Throwing(n); });
    EXPECT_EQ(Throwing::plan().live, 0);
  }
}

TEST(FlatMap, ThrowingCopies_AtRandom_LeaveTheMapUnchanged) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  {
    FlatMap<Throwing, int> flat;
    std::set<int> expected;
    for (int step = 0; step < 20'000; ++step) {
      const int number = static_cast<int>(random() % 200);
      Throwing::plan().copies_left = static_cast<int>(random() % 3);
      try {
        const Throwing key(number);
        if (flat.find(key) != nullptr) {
          flat.erase(key);
          ASSERT_EQ(expected.erase(number), 1U);
        } else {
          flat.insert(key, step);
          expected.insert(number);
        }
      } catch (const std::runtime_error&) {
        ASSERT_FALSE(expected.contains(number));  // only insertion copies
      }
      ASSERT_EQ(flat.size(), expected.size());
      ASSERT_EQ(Throwing::plan().live, static_cast<int>(expected.size()));
    }
  }
  Throwing::plan().copies_left = -1;
  EXPECT_EQ(Throwing::plan().live, 0);
}

TEST(FlatMap, Copy_HasValuesOfItsOwn) {
  FlatMap<std::string, int> first;
  for (int i = 0; i < 100; ++i) first.insert(std::to_string(i), i);
  FlatMap<std::string, int> second(first);
  first.erase("7");
  *first.find("8") = 0;
  EXPECT_EQ(second.size(), 100U);
  EXPECT_EQ(*second.find("7"), 7);
  EXPECT_EQ(*second.find("8"), 8);
}

TEST(FlatMap, MovedFrom_IsEmptyAndUsable) {
  FlatMap<std::string, int> first;
  first.insert("a", 1);
  FlatMap<std::string, int> second = std::move(first);
  EXPECT_EQ(*second.find("a"), 1);
  EXPECT_EQ(first.find("a"), nullptr);  // NOLINT(bugprone-use-after-move)
  first.insert("b", 2);
  second = std::move(first);
  EXPECT_EQ(second.size(), 1U);
  EXPECT_EQ(*second.find("b"), 2);
}

TEST(FlatMap, Memory_WhileGrowing_StaysBelow48BytesPerKey) {
  if (!HeapMeter::counts) GTEST_SKIP() << "the sanitizer has its own heap";
  FlatMap<std::array<int, 3>, std::array<int, 2>> flat;
  const auto key_of = [](int n) { return std::array{n / 1000, n % 1000, 0}; };
  HeapMeter::reset();
  int n = 0;
  for (; n < 100'000; ++n) {
    flat.insert(key_of(n), {});
    if (n < 100) continue;
    ASSERT_LE(HeapMeter::kept_bytes(), 48 * flat.size()) << n;
  }
  while (n-- > 0) flat.erase(key_of(n));
  EXPECT_LE(HeapMeter::kept_bytes(), 32 * 24U);
}

TEST(FlatMap, KeysChosenByBitsOfTheirHash_StayEvenlySpread) {
  for (const int shift : {0, 56}) {  // as a caller does that shards by the low or the high bits
    using Map = FlatMap<int, int>;
    Map flat;
    std::vector<int> keys;
    for (int key = 0; flat.size() < 4000; ++key) {
      if (((shoal::KeyHash<int>{}(key) >> shift) & 0xFF) != 0) continue;
      flat.insert(key, key);
      keys.push_back(key);
    }
    std::vector<std::uintptr_t> slots;
    for (const int key : keys) slots.push_back(reinterpret_cast<std::uintptr_t>(flat.find(key)));
    std::sort(slots.begin(), slots.end());
    std::size_t run = 1;
    std::size_t longest = 1;  // no way from the home of a key to its slot is longer
    for (std::size_t i = 1; i < slots.size(); ++i) {
      run = slots[i] - slots[i - 1] == sizeof(Map::Slot) ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    EXPECT_LT(longest, 240U) << shift;
  }
}

}  // namespace base_flat_map_test

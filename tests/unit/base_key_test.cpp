
#include <shoal/key.hpp>
#include <shoal/rank.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

namespace base_key_test {

enum class Colour { red, green };

struct WithHash {
  int value = 0;
  bool operator==(const WithHash&) const = default;
};
inline std::uint64_t shoal_hash(const WithHash& key) {
  return static_cast<std::uint64_t>(key.value);
}

struct Printed {
  int value = 0;
  bool operator==(const Printed&) const = default;
};
inline std::uint64_t shoal_hash(const Printed& /*key*/) { return 1; }
inline std::ostream& operator<<(std::ostream& out, const Printed& key) {
  return out << "tile " << key.value;
}

struct Formatted {
  int value = 0;
  bool operator==(const Formatted&) const = default;
};

struct Unhashable {
  bool operator==(const Unhashable&) const = default;
};

struct Incomparable {};
inline std::string to_string(const Formatted& key) { return "block " + std::to_string(key.value); }
inline std::uint64_t shoal_hash(const Incomparable& /*key*/) { return 1; }

}  // namespace base_key_test

template <>
struct std::hash<base_key_test::Formatted> {
  std::size_t operator()(const base_key_test::Formatted& key) const {
    return static_cast<std::size_t>(key.value);
  }
};

namespace base_key_test {

using namespace base_key_test;
using namespace std::string_literals;
using shoal::format_key;
using shoal::KeyHash;

template <class K>
std::uint64_t hash(const K& key) {
  return KeyHash<K>{}(key);
}

TEST(KeyHash, EveryKindOfKey_IsHashable) {
  static_assert(shoal::HashableKey<int> && shoal::HashableKey<bool> && shoal::HashableKey<Colour>);
  static_assert(shoal::HashableKey<std::string> && shoal::HashableKey<std::pair<int, std::string>>);
  static_assert(shoal::HashableKey<std::tuple<int, std::array<long, 3>, WithHash>>);
  static_assert(shoal::HashableKey<Formatted> && shoal::HashableKey<shoal::Rank>);
  static_assert(!shoal::HashableKey<Unhashable> && !shoal::HashableKey<Incomparable>);
  static_assert(!shoal::HashableKey<std::pair<int, Unhashable>>);
  static_assert(!shoal::HashableKey<std::array<Unhashable, 2>>);
  EXPECT_EQ(hash(WithHash{5}), hash(WithHash{5}));
  EXPECT_NE(hash(WithHash{5}), hash(WithHash{6}));
  EXPECT_NE(hash(Formatted{5}), hash(Formatted{6}));
  EXPECT_NE(hash(Colour::red), hash(Colour::green));
  EXPECT_NE(hash(shoal::Rank(1)), hash(shoal::Rank(2)));
}

TEST(KeyHash, IntegerKeys_AreHashedAtCompileTime) {
  static_assert(KeyHash<int>{}(1) != KeyHash<int>{}(2));
  static_assert(KeyHash<std::array<int, 2>>{}({1, 2}) != KeyHash<std::array<int, 2>>{}({2, 1}));
}

TEST(KeyHash, PartsOfAKey_AllCountInTheirOrder) {
  EXPECT_NE(hash(std::tuple(1, 2, 3)), hash(std::tuple(3, 2, 1)));
  EXPECT_NE(hash(std::tuple(0, 0)), hash(std::tuple(0, 0, 0)));
  EXPECT_NE(hash(std::pair("a"s + "b", "c"s)), hash(std::pair("a"s, "b"s + "c")));
}

TEST(KeyHash, DenseGrid_HasNoCollisionAndFillsEveryWindowEvenly) {
  constexpr int side = 64;
  std::unordered_set<std::uint64_t> seen;
  std::vector<int> high(1024);
  std::vector<int> low(1024);
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      for (int k = 0; k < side; ++k) {
        const std::uint64_t h = hash(std::array{i, j, k});
        seen.insert(h);
        ++high[h >> 54];
        ++low[h & 1023];
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size_t{side} * side * side);
  // 256 expected in each; 8 standard deviations are 128
  for (const int count : high) EXPECT_NEAR(count, 256, 128);
  for (const int count : low) EXPECT_NEAR(count, 256, 128);
}

TEST(KeyHash, OneFlippedBit_ChangesAboutHalfOfTheHash) {
  for (int bit = 0; bit < 64; ++bit) {
    int changed = 0;
    for (std::uint64_t key = 0; key < 64; ++key) {
      changed += std::popcount(hash(key) ^ hash(key ^ (std::uint64_t{1} << bit)));
    }
    EXPECT_NEAR(changed / 64.0, 32, 4) << bit;
  }
}

TEST(FormatKey, EveryKindOfKey_IsReadable) {
  EXPECT_EQ(format_key(7), "7");
  EXPECT_EQ(format_key(-7L), "-7");
  EXPECT_EQ(format_key(static_cast<signed char>(7)), "7");
  EXPECT_EQ(format_key(std::uint8_t{7}), "7");
  EXPECT_EQ(format_key('c'), "c");
  EXPECT_EQ(format_key(true), "true");
  EXPECT_EQ(format_key(2.5), "2.5");
  EXPECT_EQ(format_key(std::array{1, 2, 3}), "(1, 2, 3)");
  EXPECT_EQ(format_key(std::pair(1, "panel"s)), "(1, \"panel\")");
  EXPECT_EQ(format_key(std::tuple(1, std::array{2, 3}, Colour::green)), "(1, (2, 3), 1)");
  EXPECT_EQ(format_key(std::tuple()), "()");
  EXPECT_EQ(format_key("panel"s), "\"panel\"");
  EXPECT_EQ(format_key(shoal::Rank(3)), "3");
  EXPECT_EQ(format_key(Printed{4}), "tile 4");
  EXPECT_EQ(format_key(Formatted{4}), "block 4");
  EXPECT_EQ(format_key(WithHash{4}), fmt::format("<key with hash {:#018x}>", hash(WithHash{4})));
}

}  // namespace base_key_test

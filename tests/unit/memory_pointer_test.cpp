// Addresses in global memory as values.

#include <shoal/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace memory_pointer_test {

using shoal::GlobalPtr;
using shoal::Rank;

constexpr GlobalPtr<int> at(int rank, std::uint64_t offset) { return {Rank(rank), 5, offset}; }

TEST(GlobalPtr, Arithmetic_CountsElementsAndStaysOnTheRank) {
  GlobalPtr<int> p = at(3, 400);
  EXPECT_EQ(p + 5, at(3, 420));
  EXPECT_EQ(5 + p, at(3, 420));
  EXPECT_EQ(p - 5, at(3, 380));
  EXPECT_EQ((p + 7) - p, 7);
  EXPECT_EQ(p - (p + 7), -7);
  EXPECT_EQ(++p, at(3, 404));
  EXPECT_EQ(--p, at(3, 400));
  EXPECT_EQ(p += -100, at(3, 0));
  EXPECT_EQ(p.on(Rank(1)), at(1, 0));
  EXPECT_EQ((at(2, 8).cast<char>() + 1).offset(), 9U);
}

TEST(GlobalPtr, Order_IsByRankAndThenByAddress) {
  std::vector<GlobalPtr<int>> pointers{at(2, 4), at(0, 800), at(2, 0), at(1, 0), GlobalPtr<int>()};
  std::ranges::sort(pointers);
  const std::vector<GlobalPtr<int>> sorted{GlobalPtr<int>(), at(0, 800), at(1, 0), at(2, 0),
                                           at(2, 4)};
  EXPECT_EQ(pointers, sorted);
  EXPECT_TRUE(at(0, 0));
  EXPECT_FALSE(GlobalPtr<int>(nullptr));
  EXPECT_EQ(GlobalPtr<const int>(at(1, 4)), at(1, 4));
  static_assert(!std::is_convertible_v<GlobalPtr<const int>, GlobalPtr<int>>);
  static_assert(std::is_trivially_copyable_v<GlobalPtr<std::string>> &&
                sizeof(GlobalPtr<std::string>) == 16);
}

struct First {
  int x = 0;
};
struct Second {
  double y = 0;
};
struct Both : First, Second {};

TEST(GlobalPtr, OfAMember_LiesWithinTheObjectAndStaysConst) {
  const GlobalPtr<Both> both = at(1, 64).cast<Both>();
  EXPECT_EQ(both.member(&Both::x).offset(), 64U);
  EXPECT_EQ(both.member(&Both::y).offset(), 72U);
  const GlobalPtr<const Both> read_only = both;
  static_assert(std::is_same_v<decltype(read_only.member(&Both::x)), GlobalPtr<const int>>);
  static_assert(std::is_same_v<decltype(both.member(&Both::x)), GlobalPtr<int>>);
  static_assert(!std::is_convertible_v<GlobalPtr<Both>, GlobalPtr<Second>>);
  static_assert(!std::is_convertible_v<GlobalPtr<Both>, GlobalPtr<const First>>);
  static_assert(std::is_convertible_v<GlobalPtr<Both>, GlobalPtr<const void>>);
}

TEST(GlobalPtr, Hashes_TellNeighboursApart) {
  std::unordered_set<std::size_t> hashes;
  for (int rank = 0; rank < 16; ++rank) {
    for (std::uint64_t i = 0; i < 256; ++i) {
      hashes.insert(std::hash<GlobalPtr<int>>()(at(rank, 64 * i)));
    }
  }
  EXPECT_EQ(hashes.size(), 16U * 256U);
}

TEST(GlobalPtr, Text_NamesRankAndAddress) {
  EXPECT_EQ(to_string(at(2, 64).cast<const std::byte>()), "rank 2 + 0x40");
  EXPECT_EQ(to_string(GlobalPtr<const std::byte>()), "null");
}

}  // namespace memory_pointer_test

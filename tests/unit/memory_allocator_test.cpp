// The allocator of global heaps, against a naive record of what is allocated.

#include "memory/heap.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace memory_allocator_test {

using shoal::memory::Allocator;
using shoal::memory::Heap;
using shoal::memory::HeapOptions;
using testing::AllOf;
using testing::HasSubstr;

class AllocatorOf : public testing::TestWithParam<bool> {};

TEST_P(AllocatorOf, RandomCalls_PiecesAreAlignedAndApartAndEverythingComesBack) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    constexpr std::uint64_t kBegin = 64;
    constexpr std::uint64_t kEnd = 1U << 20;
    Allocator allocator(kBegin, kEnd, GetParam());
    Allocator same(kBegin, kEnd, GetParam());
    std::map<std::uint64_t, std::uint64_t> pieces;  // offset -> size
    for (int i = 0; i < 400; ++i) {
      if (random() % 5 < 3) {
        const std::uint64_t size = random() % (random() % 8 == 0 ? 200'000 : 500);
        const std::uint64_t alignment = std::uint64_t{1} << random() % 13;
        const auto offset = allocator.allocate(size, alignment);
        ASSERT_EQ(offset, same.allocate(size, alignment)) << "not the same for the same calls";
        if (!offset) {  // no free piece would do
          ASSERT_LT(allocator.largest_free_bytes(), size + Allocator::kGranularity + alignment);
          continue;
        }
        ASSERT_EQ(*offset % alignment, 0U);
        ASSERT_GE(*offset, kBegin);
        ASSERT_LE(*offset + size, kEnd);
        const auto behind = pieces.lower_bound(*offset);
        if (behind != pieces.end()) {
          ASSERT_LE(*offset + size, behind->first) << seed;
        }
        if (behind != pieces.begin()) {
          ASSERT_LE(std::prev(behind)->first + std::prev(behind)->second, *offset) << seed;
        }
        pieces[*offset] = size;
        ASSERT_EQ(allocator.size_at(*offset), size);
      } else if (!pieces.empty()) {
        const auto victim = std::next(pieces.begin(), static_cast<long>(random() % pieces.size()));
        ASSERT_TRUE(allocator.free(victim->first));
        ASSERT_TRUE(same.free(victim->first));
        ASSERT_FALSE(allocator.free(victim->first)) << "freed twice";
        pieces.erase(victim);
      }
      ASSERT_EQ(allocator.count(), pieces.size());
    }
    for (const auto& [offset, size] : pieces) {
      if (size > 1) {
        const auto found = allocator.find(offset + size / 2);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->offset, offset);
      }
      ASSERT_TRUE(allocator.free(offset));
    }
    EXPECT_EQ(allocator.used_bytes(), 0U);
    EXPECT_EQ(allocator.largest_free_bytes(), kEnd - kBegin) << "not joined";
  }
}

INSTANTIATE_TEST_SUITE_P(Searchable, AllocatorOf, testing::Bool());

std::string text_of(const auto& call) {
  try {
    call();
  } catch (const shoal::Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

/// One half is for collective allocations.
HeapOptions options_of(const std::string& owner, std::size_t size_bytes) {
  return {.owner = owner,
          .option = "heap_bytes",
          .size_bytes = size_bytes,
          .collective_bytes = size_bytes / 2};
}

TEST(GlobalHeap, WrongFrees_AreNamed) {
  Heap heap(options_of("heap of rank 3", 1U << 20));
  const std::uint64_t one = heap.allocate(100, 8, false);
  const std::uint64_t all = heap.allocate(100, 8, true);
  EXPECT_THAT(text_of([&] { heap.free(one + 16, false); }),
              AllOf(HasSubstr("heap of rank 3: free of"), HasSubstr("points into the allocation of "
                                                                    "100 bytes")));
  EXPECT_THAT(text_of([&] { heap.free(all, false); }), HasSubstr("use collective_free()"));
  EXPECT_THAT(text_of([&] { heap.free(one, true); }), HasSubstr("use free()"));
  heap.free(one, false);
  EXPECT_THAT(text_of([&] { heap.free(one, false); }), HasSubstr("it was freed before"));
  heap.free(all, true);
  EXPECT_EQ(heap.use().count, 0U);
}

TEST(GlobalHeap, WhenItIsFull_SizesAndAdviceAreGiven) {
  Heap heap(options_of("heap of rank 0", 1U << 20));
  static_cast<void>(heap.allocate(400'000, 8, false));
  EXPECT_THAT(text_of([&] { static_cast<void>(heap.allocate(200'000, 8, false)); }),
              AllOf(HasSubstr("no room for 195.3 KiB"), HasSubstr("390.6 KiB are in use by 1"),
                    HasSubstr("largest free piece has 121.4 KiB"), HasSubstr("heap_bytes")));
}

TEST(GlobalHeap, WhatIsAllocatedAgain_IsZeros) {
  for (const bool shared : {false, true}) {
    HeapOptions options = options_of("heap", 16U << 20);
    options.shared = shared;
    options.checks = true;
    Heap heap(options);
    for (const std::size_t size : {std::size_t{100}, std::size_t{300'000}}) {
      const std::uint64_t offset = heap.allocate(size, 8, false);
      std::memset(heap.data() + offset, 7, size);
      heap.free(offset, false);
      EXPECT_THAT(heap.problem_with(offset, 1), HasSubstr("nothing is allocated there"));
      ASSERT_EQ(heap.allocate(size, 8, false), offset);
      const std::vector<std::byte> zeros(size);
      EXPECT_EQ(std::memcmp(heap.data() + offset, zeros.data(), size), 0);
      EXPECT_EQ(heap.problem_with(offset, size), "");
      EXPECT_THAT(heap.problem_with(offset + 50, size), HasSubstr("50 bytes past the allocation"));
    }
  }
}

TEST(GlobalHeap, MemoryOfAProcess_IsMappedByItsName) {
  const shoal::env::SharedMemory memory(1U << 20, true);
  const shoal::env::SharedMemory other(memory.name());
  memory.data()[1000] = std::byte{42};
  EXPECT_EQ(other.data()[1000], std::byte{42});
  shoal::env::SharedMemoryName wrong = memory.name();
  ++wrong.token;
  EXPECT_THAT(text_of([&] { const shoal::env::SharedMemory none(wrong); }),
              HasSubstr("it is not the memory of this name"));
  wrong.descriptor = 12345;
  EXPECT_THAT(text_of([&] { const shoal::env::SharedMemory none(wrong); }), HasSubstr("No such"));
}

}  // namespace memory_allocator_test

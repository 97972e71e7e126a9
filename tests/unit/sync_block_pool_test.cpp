// Blocks of memory: no two in use overlap, and none is lost between threads.

#include <shoal/detail/sync/block_pool.hpp>

#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace sync_block_pool_test {

using shoal::sync::give_block;
using shoal::sync::kPooledBytesMax;
using shoal::sync::pooled_bytes;
using shoal::sync::take_block;
using shoal::sync::trim_blocks;

// Filled to its end, to be looked at when it is given back.
struct Filled {
  unsigned char* block;
  std::size_t size_bytes;
  unsigned char value;

  Filled(std::size_t size, unsigned char fill)
      : block(static_cast<unsigned char*>(take_block(size))), size_bytes(size), value(fill) {
    std::memset(block, value, size_bytes);
  }
  [[nodiscard]] bool is_whole() const {
    for (std::size_t i = 0; i < size_bytes; ++i) {
      if (block[i] != value) return false;
    }
    return true;
  }
  void give() const { give_block(block, size_bytes); }
};

TEST(BlockPool, BlocksAreAligned) {
  for (std::size_t size = 1; size <= 2 * kPooledBytesMax; ++size) {
    void* const block = take_block(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    give_block(block, size);
  }
}

TEST(BlockPool, BlocksInUse_DoNotOverlap) {
  std::vector<Filled> all;
  for (unsigned i = 0; i < 5000; ++i) {
    all.emplace_back(1 + i % (2 * kPooledBytesMax), static_cast<unsigned char>(i));
  }
  for (const Filled& one : all) {
    EXPECT_TRUE(one.is_whole());
    one.give();
  }
}

TEST(BlockPool, WhatIsGivenBack_IsUsedAgain) {
  const auto round = [] {
    std::vector<void*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(take_block(100));
    for (void* block : blocks) give_block(block, 100);
  };
  round();
  const std::size_t before = pooled_bytes();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(pooled_bytes(), before);
}

TEST(BlockPool, OneThreadTakesAndAnotherGives_MemoryGoesRound) {
  constexpr int kBlocks = 100;
  std::array<void*, kBlocks> blocks{};
  std::atomic<int> turn{0};  // even: the taker's
  constexpr int kRounds = shoal::testing::sized(400, 40);
  std::size_t after_ten = 0;
  const auto wait_for_turn = [&](int mine) {
    for (int seen = turn.load(); seen != mine; seen = turn.load()) turn.wait(seen);
  };
  const auto pass_turn = [&](int next) {
    turn.store(next);
    turn.notify_all();
  };
  std::thread giver([&] {
    for (int round = 0; round < kRounds; ++round) {
      wait_for_turn(2 * round + 1);
      for (void* block : blocks) give_block(block, 64);
      pass_turn(2 * round + 2);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    wait_for_turn(2 * round);
    for (void*& block : blocks) block = take_block(64);
    if (round == 10) after_ten = pooled_bytes();
    pass_turn(2 * round + 1);
  }
  giver.join();
  EXPECT_LE(pooled_bytes(), after_ten);
}

TEST(BlockPool, Trimmed_WhenAllBlocksAreBack_HoldsNothing) {
  std::vector<void*> mine;
  for (int i = 0; i < 3000; ++i) mine.push_back(take_block(64));
  std::thread([&mine] {
    for (void* block : mine) give_block(block, 64);
    void* const own = take_block(300);
    give_block(own, 300);
  }).join();
  trim_blocks();
  EXPECT_EQ(pooled_bytes(), 0U);
}

TEST(BlockPool, Trimmed_WhileABlockIsInUse_KeepsIt) {
  trim_blocks();
  const Filled used(64, 7);
  trim_blocks();
  EXPECT_EQ(pooled_bytes() > 0, !shoal::testing::kSanitized);
  const Filled other(64, 9);
  EXPECT_TRUE(used.is_whole());
  used.give();
  other.give();
  trim_blocks();
  EXPECT_EQ(pooled_bytes(), 0U);
}

TEST(BlockPool, ThreadThatEnds_TakesAndGivesAtItsVeryEnd_LosesNothing) {
  static std::atomic<int> ends{0};
  struct AtExit {
    void* block = nullptr;
    ~AtExit() {
      void* const other = take_block(64);
      give_block(block, 64);
      give_block(other, 64);
      ++ends;
    }
  };
  std::thread([] {
    static thread_local AtExit at_exit;  // before the caches of the thread: it ends after them
    at_exit.block = take_block(64);
  }).join();
  trim_blocks();
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(pooled_bytes(), 0U);
}

}  // namespace sync_block_pool_test

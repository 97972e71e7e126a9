// Parts of the caches of global memory: copies that come late.

#include <shoal/memory.hpp>

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace memory_cache_test {

using shoal::GlobalMemory;
using shoal::GlobalMemoryOptions;
using shoal::GlobalPtr;
using shoal::GlobalVar;
using shoal::GlobalVector;
using shoal::ObjectCache;
using shoal::Rank;
using shoal::World;
using shoal::testing::sized_on_one_thread;

// The owner changes the variable behind the request of a get(), and tells the reader by way of a
// third rank.
void refresh_while_fetched(World& world) {
  GlobalMemory memory(world, {.name = "m", .checks = GlobalMemoryOptions::Checks::off});
  GlobalVar<double> step(memory, Rank(1));
  const auto refresh = world.make_am([&] { step.refresh(); });
  const auto pass_on = world.make_am([&] { refresh.send(Rank(0)); });
  const auto change = world.make_am([&] {
    step.set(0.5);
    pass_on.send(Rank(2));
  });
  world.barrier();
  if (world.rank() == 0) {
    world.spawn([&] { static_cast<void>(step.get()); });
    for (int i = 0; i < 100 && memory.statistics().requests == 0; ++i) shoal::yield();
    change.send(Rank(1));
  }
  world.wait();
  EXPECT_EQ(step.get(), 0.5);
  world.wait();
}

// The same with an object, of which the reader's cache gives up all copies.
void invalidate_while_fetched(World& world) {
  GlobalMemory memory(world, {.name = "m", .checks = GlobalMemoryOptions::Checks::off});
  const auto step = memory.collective_allocate<double>();
  *memory.local(step) = 0;
  ObjectCache<double> cache(memory);
  const auto invalidate = world.make_am([&] { cache.invalidate(); });
  const auto pass_on = world.make_am([&] { invalidate.send(Rank(0)); });
  const auto change = world.make_am([&] {
    *memory.local(step) = 0.5;
    pass_on.send(Rank(2));
  });
  world.barrier();
  if (world.rank() == 0) {
    world.spawn([&] { static_cast<void>(cache.get(step.on(Rank(1)))); });
    for (int i = 0; i < 100 && cache.statistics().fetches == 0; ++i) shoal::yield();
    change.send(Rank(1));
  }
  world.wait();
  EXPECT_EQ(*cache.get(step.on(Rank(1))), 0.5);
  world.wait();
}

// The answer finds no cache.
void end_while_fetching(World& world) {
  GlobalMemory memory(world, {.name = "m", .checks = GlobalMemoryOptions::Checks::off});
  const auto step = memory.collective_allocate<double>();
  *memory.local(step) = 0.5;
  world.barrier();
  {
    ObjectCache<double> cache(memory);
    if (world.rank() == 0) cache.prefetch(step.on(Rank(1)));
  }
  world.wait();
}

void on_three_ranks(void (*function)(World& world)) {
  for (std::uint64_t seed = 0; seed < sized_on_one_thread(300, 60); ++seed) {
    SCOPED_TRACE(seed);
    const auto result =
        shoal::testing::run_turns({.seed = seed, .ranks = 3}, [function](World& world) {
          function(world);
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
  }
}

TEST(GlobalVar, RefreshedWhileItIsFetched_IsFetchedAgain) { on_three_ranks(refresh_while_fetched); }

TEST(ObjectCache, InvalidatedWhileItFetches_FetchesAgain) {
  on_three_ranks(invalidate_while_fetched);
}

TEST(ObjectCache, EndsWhileItFetches_LeavesTheAnswerAlone) { on_three_ranks(end_while_fetching); }

struct Block {
  std::array<std::uint64_t, 1U << 16U> words;
};

// Larger than packets and windows.
TEST(ObjectCache, ObjectsOfHalfAMebibyte_AreFetchedWhole) {
  for (std::uint64_t seed = 0; seed < sized_on_one_thread(12, 4); ++seed) {
    SCOPED_TRACE(seed);
    const auto result = shoal::testing::run_turns({.seed = seed, .ranks = 2}, [](World& world) {
      GlobalMemory memory(world, {.name = "m"});
      GlobalVector<GlobalPtr<std::string>> texts(memory, 2);
      const auto block = memory.collective_allocate<Block>();
      const auto letter = [](Rank rank) { return static_cast<char>('a' + rank.value()); };
      texts.local()[0] = memory.create<std::string>(std::size_t{1} << 19U, letter(world.rank()));
      memory.local(block)->words.fill(static_cast<std::uint64_t>(world.rank().value()));
      ObjectCache<std::string> strings(memory);
      ObjectCache<Block> blocks(memory);
      world.barrier();
      const Rank next((world.rank().value() + 1) % 2);
      const auto text = strings.get(texts.get(static_cast<std::size_t>(next.value())));
      EXPECT_EQ(*text, std::string(std::size_t{1} << 19U, letter(next)));
      EXPECT_EQ(blocks.get(block.on(next))->words.back(), static_cast<std::uint64_t>(next.value()));
      EXPECT_GE(strings.statistics().bytes, std::size_t{1} << 19U);
      world.wait();
      memory.destroy(texts.local()[0]);
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
  }
}

}  // namespace memory_cache_test

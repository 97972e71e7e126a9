// Parts of the caches of global memory: copies that come late.

#include <shoal/memory.hpp>

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

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

// --- copies are compared by value

/// An index whose elements have an order that depends on what was inserted and erased before.
struct Index {
  std::unordered_map<std::string, std::vector<int>> places;
  std::vector<std::unordered_set<int>> groups;
  std::unordered_multimap<int, double> weights;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(places, groups, weights);
  }
};

Index make_index() {
  Index index;
  for (int i = 0; i < 500; ++i) index.places["word " + std::to_string(i)] = {i, i + 1};
  for (int i = 0; i < 500; i += 3) index.places.erase("word " + std::to_string(i));
  index.groups.resize(3);
  for (int i = 300; i > 0; --i) index.groups[static_cast<std::size_t>(i % 3)].insert(1000 * i);
  for (int i = 0; i < 100; ++i) index.weights.emplace(i % 7, i);
  return index;
}

/// A value of the program that says itself when two are equal.
struct Measured {
  std::vector<int> values;
  int looks = 0;

  bool operator==(const Measured& other) const { return values == other.values; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(values, looks);
  }
};

/// Rank 0 reads the object of rank 1 twice, which `change` changes in between, and says whether the
/// second read was stale.
template <class T>
bool is_stale(const T& object, const std::function<void(T&)>& change) {
  bool stale = false;
  const auto result =
      shoal::testing::run_turns({.seed = 1, .ranks = 2, .ranks_per_process = 1}, [&](World& world) {
        GlobalMemory memory(world, {.name = "m", .checks = GlobalMemoryOptions::Checks::on});
        GlobalVector<GlobalPtr<T>> objects(memory, 2);
        ObjectCache<T> cache(memory);
        objects.local()[0] = memory.create<T>(object);
        world.barrier();
        const GlobalPtr<T> there = objects.get(1);
        if (world.rank() == 0) static_cast<void>(cache.get(there));
        world.barrier();
        if (world.rank() == 1) change(*memory.local(there));
        world.barrier();
        try {
          if (world.rank() == 0) static_cast<void>(cache.get(there));
        } catch (const shoal::StaleReadError& error) {
          EXPECT_NE(std::string(error.what()).find("the object there is newer"), std::string::npos);
          stale = true;
        }
        world.wait();
        memory.destroy(objects.local()[0]);
        world.wait();
        return 0;
      });
  for (const std::exception_ptr& error : result.errors) {
    EXPECT_EQ(error, nullptr) << shoal::describe(error);
  }
  return stale;
}

TEST(ObjectCache, UnorderedContainers_AreNotStaleBecauseOfTheirOrder) {
  EXPECT_FALSE(is_stale<Index>(make_index(), [](Index& /*index*/) {}));
  EXPECT_FALSE(is_stale<Index>(make_index(), [](Index& index) { index.places.rehash(5000); }));
  EXPECT_TRUE(is_stale<Index>(make_index(), [](Index& index) { index.places["word 1"][1] = 7; }));
  EXPECT_TRUE(is_stale<Index>(make_index(), [](Index& index) { index.groups[1].insert(7); }));
  EXPECT_TRUE(is_stale<Index>(make_index(), [](Index& index) {
    std::swap(index.groups[0], index.groups[1]);  // the order of a vector counts
  }));
  EXPECT_TRUE(is_stale<Index>(make_index(), [](Index& index) { index.weights.emplace(3, 7); }));
}

TEST(ObjectCache, ValuesThatTheProgramCallsEqual_AreNotStale) {
  const Measured measured{{1, 2, 3}};
  EXPECT_FALSE(is_stale<Measured>(measured, [](Measured& one) { ++one.looks; }));
  EXPECT_TRUE(is_stale<Measured>(measured, [](Measured& one) { one.values[1] = 7; }));
}

// --- gets beside puts

constexpr std::size_t kRow = 1U << 15U;  // elements: large enough for an answer by the transport

void give_a_get_up(World& world) {
  GlobalMemory memory(world, {.name = "m"});
  const auto row = memory.collective_allocate<double>(kRow);
  world.barrier();
  if (world.rank() == 0) {
    std::vector<double> mine(kRow);
    static_cast<void>(memory.get_async(row.on(Rank(1)), std::span(mine)));
    const std::vector<double> ones(kRow, 1.0);
    memory.put(row.on(Rank(1)), std::span<const double>(ones)).wait();
  }
  world.wait();
  EXPECT_EQ(memory.local(row)[kRow - 1], static_cast<double>(world.rank().value()));
  world.wait();
}

TEST(GlobalMemory, APutBehindAGetThatWasGivenUp_IsNoError) {
  for (std::uint64_t seed = 0; seed < sized_on_one_thread(60, 12); ++seed) {
    SCOPED_TRACE(seed);
    const auto result = shoal::testing::run_turns(
        {.seed = seed, .ranks = 2, .ranks_per_process = 1}, [](World& world) {
          give_a_get_up(world);
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
  }
}

TEST(GlobalMemory, APutBesideAGet_IsNamed) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < sized_on_one_thread(30, 6); ++seed) {
    SCOPED_TRACE(seed);
    const auto result = shoal::testing::run_turns(
        {.seed = seed, .ranks = 2, .ranks_per_process = 1}, [&found](World& world) {
          GlobalMemory memory(world, {.name = "m"});
          const auto row = memory.collective_allocate<double>(kRow);
          world.barrier();
          if (world.rank() == 0) {
            std::vector<double> mine(kRow);
            shoal::Transfer get = memory.get_async(row.on(Rank(1)), std::span(mine));
            const std::vector<double> ones(kRow, 1.0);
            memory.put(row.on(Rank(1)), std::span<const double>(ones)).wait();
            try {
              get.wait();
            } catch (const shoal::CheckError& error) {
              const std::string text = error.what();
              EXPECT_NE(text.find("memory 'm': get of 262144 bytes at rank 1"), std::string::npos)
                  << text;
              EXPECT_NE(text.find("a put"), std::string::npos) << text;
              ++found;
            }
          }
          world.wait();
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
  }
  EXPECT_GT(found, 0);
}

}  // namespace memory_cache_test

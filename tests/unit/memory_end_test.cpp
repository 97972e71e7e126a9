// Accesses to a memory that its rank has ended: named errors in every order, by every way.

#include <shoal/memory.hpp>

#include "support/failed_runs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace memory_end_test {

using shoal::GlobalMemory;
using shoal::GlobalPtr;
using shoal::Rank;
using shoal::World;
using shoal::testing::expect_named;
using shoal::testing::expect_well;
using Checks = shoal::GlobalMemoryOptions::Checks;

using Access = std::function<void(GlobalMemory&, GlobalPtr<long>)>;

std::unique_ptr<GlobalMemory> make_field(World& world, Checks checks = Checks::off) {
  return std::make_unique<GlobalMemory>(
      world, shoal::GlobalMemoryOptions{
                 .name = "field", .heap_bytes = std::size_t{1} << 24U, .checks = checks});
}

/// Rank 0 accesses the memory of rank 1 after that has ended it. `known`: it has done so before.
void expect_end_named(const Access& access, bool known) {
  expect_named(
      [&](World& world) {
        auto memory = make_field(world);
        const auto words = memory->collective_allocate<long>(8).on(Rank(1));
        world.barrier();
        if (known && world.rank() == 0) static_cast<void>(memory->get(words));
        world.barrier();
        if (world.rank() == 1) memory.reset();
        world.barrier();
        if (world.rank() == 0) access(*memory, words);
        world.wait();
      },
      {"rank 1: a message failed: a message from rank 0 is for memory 'field': ",
       "which was destroyed here: keep it until wait() has returned"});
}

struct Kind {
  std::string name;
  Access access;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"get", [](auto& memory, auto at) { static_cast<void>(memory.get(at)); }},
      {"get_async", [](auto& memory, auto at) { static_cast<void>(memory.get_async(at).get()); }},
      {"put", [](auto& memory, auto at) { memory.put(at, 5).wait(); }},
      {"put, dropped", [](auto& memory, auto at) { memory.put(at, 5); }},
      {"get of a range",
       [](auto& memory, auto at) {
         std::array<long, 4> here{};
         memory.get(at, std::span(here));
       }},
      {"put of a range",
       [](auto& memory, auto at) {
         const std::array<long, 4> here{};
         memory.put(at, std::span<const long>(here)).wait();
       }},
      {"gather",
       [](auto& memory, auto at) {
         std::array<long, 2> here{};
         memory.gather(std::vector{at, at + 1}, std::span(here));
       }},
      {"scatter",
       [](auto& memory, auto at) {
         const std::array<long, 2> here{};
         memory.scatter(std::vector{at, at + 1}, std::span<const long>(here)).wait();
       }},
      {"fetch_add", [](auto& memory, auto at) { static_cast<void>(memory.fetch_add(at, 1)); }},
      {"swap_async",
       [](auto& memory, auto at) { static_cast<void>(memory.swap_async(at, 1).get()); }},
      {"store_async", [](auto& memory, auto at) { memory.store_async(at, 1).wait(); }},
      {"load", [](auto& memory, auto at) { static_cast<void>(memory.load(at)); }},
      {"add_async", [](auto& memory, auto at) { memory.add_async(at, 1).wait(); }},
      {"allocate_on",
       [](GlobalMemory& memory, GlobalPtr<long> /*at*/) {
         static_cast<void>(memory.allocate_on<long>(Rank(1)));
       }},
      {"free of another rank's", [](auto& memory, auto at) { memory.free(at); }},
      {"get of a cache",
       [](auto& memory, auto at) {
         shoal::ObjectCache<long> cache(memory, {}, "copies");
         static_cast<void>(cache.get(at));
       }},
      {"prefetch of a cache",
       [](auto& memory, auto at) {
         shoal::ObjectCache<long> cache(memory, {}, "copies");
         cache.prefetch(at);
         static_cast<void>(cache.get(at));
       }},
  };
  return all;
}

TEST(MemoryEnd, AccessesAfterIt_AreNamed) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    expect_end_named(kind.access, false);
  }
}

TEST(MemoryEnd, AccessesAfterIt_ToAHeapThatWasInReach_AreNamed) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    expect_end_named(kind.access, true);
  }
}

// The heap stays mapped for an access that has begun.
TEST(MemoryEnd, BesideAccessesOfOthers_IsNamed) {
  constexpr std::size_t kWords = 1 << 19;  // copies that last
  expect_named(
      [](World& world) {
        auto memory = make_field(world);
        const auto words = memory->collective_allocate<long>(kWords).on(Rank(1));
        world.barrier();
        if (world.rank() == 1) {
          shoal::sleep_for(std::chrono::microseconds(500));
          memory.reset();
        } else {
          for (int task = 0; task < 2; ++task) {
            world.spawn([&, task] {
              std::vector<long> here(kWords / 2);
              const auto mine = words + static_cast<std::ptrdiff_t>(kWords / 2) * task;
              for (;;) {  // until the world fails
                memory->get(mine, std::span(here));
                memory->put(mine, std::span<const long>(here)).wait();
                static_cast<void>(memory->fetch_add(mine, 1));
                shoal::yield();
              }
            });
          }
        }
        world.wait();
      },
      {"error: rank 1: ", " is for memory 'field': ",
       "which was destroyed here: keep it until wait() has returned"});
}

// A put of which nobody knows that it is complete, as the last access of its rank. `late`: it is,
// as chance would have it.
TEST(MemoryEnd, APutThatIsDropped_IsNamedInEveryOrder) {
  for (const bool late : {false, true}) {
    const auto program = [late](World& world) {
      auto memory = make_field(world, Checks::on);
      const auto words = memory->collective_allocate<long>(8).on(Rank(1));
      world.barrier();
      if (world.rank() == 0) {
        memory->put(words, 5);
        memory->add_async(words, 5);
      }
      if (late) shoal::sleep_for(std::chrono::milliseconds(20));
      memory.reset();
      world.wait();
    };
    expect_named(program, {"memory 'field'", "wait()"});
  }
}

// None of these is a slip.
TEST(MemoryEnd, PutsThatAreKnownToBeComplete_EndWell) {
  const std::vector<std::function<void(World&, GlobalMemory&, GlobalPtr<long>)>> ways{
      [](World&, auto& memory, auto at) { memory.put(at, 5).wait(); },
      [](World&, auto& memory, auto at) {
        memory.put(at, 5);
        memory.quiet();
      },
      [](World& world, auto& memory, auto at) {
        memory.put(at, 5);
        world.wait();
      },
      [](World& world, auto& memory, auto at) {
        const shoal::Transfer kept = memory.put(at, 5);
        world.wait();
      },
      [](World&, auto& memory, auto at) {
        const shoal::Transfer polled = memory.put(at, 5);
        while (!polled.is_ready()) shoal::yield();
      },
      [](World&, auto& memory, auto at) { memory.put(at, 5).then([] {}).get(); },
  };
  for (const Checks checks : {Checks::off, Checks::on}) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      SCOPED_TRACE(i);
      expect_well([&](World& world) {
        auto memory = make_field(world, checks);
        const auto words = memory->collective_allocate<long>(8);
        world.barrier();
        ways[i](world, *memory, words.on(Rank(1 - world.rank())));
        world.barrier();
        EXPECT_EQ(memory->get(words), 5);
        world.barrier();
      });
    }
  }
}

}  // namespace memory_end_test

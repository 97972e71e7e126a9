// Accesses to global memory that their targets refuse, with checks on: the error reaches the
// caller, or the run fails where nothing waits for it.

#include <shoal/memory.hpp>

#include "runtime/simulated_world.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "support/succeeds_on.hpp"
#include "support/wait_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace memory_refusal_test {

using shoal::GlobalMemory;
using shoal::GlobalMemoryOptions;
using shoal::GlobalPtr;
using shoal::GlobalVector;
using shoal::ObjectCache;
using shoal::Rank;
using shoal::Transfer;
using shoal::World;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using shoal::testing::sized_on_one_thread;
using shoal::testing::succeeds_on;
using shoal::testing::text_of;
using testing::AllOf;
using testing::HasSubstr;

using Checks = GlobalMemoryOptions::Checks;

GlobalMemoryOptions checked() {
  return {.name = "m", .heap_bytes = std::size_t{1} << 20U, .checks = Checks::on};
}

/// Runs a program of two ranks on threads, and in the simulator over seeds.
template <class F>
void on_threads_and_simulated(F program) {
  EXPECT_EQ(run_world(2, 1, program), 0);
  for (int seed = 0; seed < sized_on_one_thread(20, 4); ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_EQ(
        succeeds_on(shoal::testing::sim_config(2, 1, static_cast<std::uint64_t>(seed)), program),
        2);
  }
}

TEST(RefusedPut, WithASignal_IsAnErrorOfTheCallAndTheSignalDoesNotCome) {
  on_threads_and_simulated([](World& world) {
    GlobalMemory memory(world, checked());
    const Rank next((world.rank().value() + 1) % 2);
    const auto array = memory.collective_allocate<int>(4);
    std::atomic<int> seen{0};
    const auto signal = world.make_am([&] { ++seen; });
    const auto gone = memory.allocate_on<int>(next, 2);
    memory.free(gone);
    world.barrier();
    const std::array<int, 2> values{1, 2};
    const auto send = [&] { signal.send(next); };
    EXPECT_THAT(refusal_of([&] { memory.put_signal(array.on(next) + 3, values, send); }),
                AllOf(HasSubstr("memory 'm': put of rank " + std::to_string(next.value())),
                      HasSubstr("4 bytes past the allocation of 16 bytes")));
    EXPECT_THAT(refusal_of([&] { memory.put_signal(gone, values, send); }),
                HasSubstr("nothing is allocated there, or not any more"));
    world.wait();
    EXPECT_EQ(seen, 0);
    world.barrier();
    memory.put_signal(array.on(next), values, send);
    world.wait();
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(memory.local(array)[1], 2);
  });
}

/// Runs on rank 0, with memory of rank 1 that was freed.
using Drop = std::function<void(GlobalMemory& memory, GlobalPtr<int> gone)>;

void fail_with(const Drop& drop) {
  const std::string text = text_of<shoal::TaskError>(2, 1, [&](World& world) {
    GlobalMemory memory(world, checked());
    if (world.rank() == 0) {
      const auto gone = memory.allocate_on<int>(Rank(1), 2);
      memory.free(gone);
      drop(memory, gone);
    }
    world.wait();
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("a put that nothing waited for"), HasSubstr("of rank 1: 4 bytes at"),
                    HasSubstr("nothing is allocated there, or not any more")));
}

TEST(RefusedPut, ThatNothingWaitsFor_FailsTheTeam) {
  fail_with([](GlobalMemory& memory, auto gone) { static_cast<void>(memory.put(gone, 1)); });
  fail_with([](GlobalMemory& memory, auto gone) { static_cast<void>(memory.add_async(gone, 1)); });
  fail_with([](GlobalMemory& memory, auto gone) {
    static_cast<void>(memory.scatter(std::array{gone, gone + 1}, std::array{1, 2}));
  });
  fail_with([](GlobalMemory& memory, auto gone) {
    static_cast<void>(memory.xor_async(std::array{gone, gone + 1}, std::array{1, 2}));
  });
}

TEST(RefusedPut, WhoseEndWasSeenButNotItsError_FailsTheTeam) {
  fail_with([](GlobalMemory& memory, auto gone) {
    const Transfer put = memory.put(gone, 1);
    while (!put.is_ready()) shoal::yield();
  });
  fail_with([](GlobalMemory& memory, auto gone) {
    std::optional<Transfer> put = memory.put(gone, 1);
    memory.quiet();
    *put = Transfer();
  });
}

TEST(RefusedPut, WhoseErrorWasThrown_FailsNothing) {
  on_threads_and_simulated([](World& world) {
    GlobalMemory memory(world, checked());
    const Rank next((world.rank().value() + 1) % 2);
    const auto gone = memory.allocate_on<int>(next);
    memory.free(gone);
    std::vector<Transfer> puts;
    for (int i = 0; i < 5; ++i) puts.push_back(memory.put(gone, i));
    for (Transfer& put : puts) EXPECT_THROW(put.wait(), shoal::CheckError);
    puts.clear();
    memory.quiet();
    world.wait();
  });
}

// The requests before a pointer that is refused at the call are on their way.
TEST(RefusedPut, InTheMiddleOfMany_LeavesNothingForQuietToWaitFor) {
  for (const Checks checks : {Checks::off, Checks::on}) {
    EXPECT_EQ(run_world(2, 1,
                        [checks](World& world) {
                          GlobalMemory memory(world, {.name = "m", .checks = checks});
                          GlobalVector<int> values(memory, 2);
                          world.barrier();
                          const std::array to{values[0], values[1], GlobalPtr<int>()};
                          EXPECT_THAT(refusal_of([&] {
                                        static_cast<void>(memory.scatter(to, std::array{5, 6, 7}));
                                      }),
                                      HasSubstr("scatter through a null pointer"));
                          memory.quiet();
                          EXPECT_EQ(values.get(0) + values.get(1), 11);
                          world.barrier();
                          EXPECT_THAT(
                              refusal_of([&] {
                                static_cast<void>(memory.add_async(to, std::array{1, 2, 3}));
                              }),
                              HasSubstr("through a null pointer"));
                          memory.quiet();
                          world.barrier();
                          EXPECT_EQ(values.get(0) + values.get(1), 11 + 2 * 3);
                          world.wait();
                        }),
              0);
  }
}

TEST(RefusedPut, OfOneOfMany_LeavesTheOthers) {
  on_threads_and_simulated([](World& world) {
    GlobalMemory memory(world, checked());
    const Rank next((world.rank().value() + 1) % 2);
    const auto kept = memory.allocate_on<int>(next, 2);
    const auto gone = memory.allocate_on<int>(next);
    memory.free(gone);
    const std::array to{kept, gone, kept + 1};
    EXPECT_THAT(refusal_of([&] {
                  memory.scatter(to, std::array{1, 2, 3}).wait();
                }),
                HasSubstr("scatter of rank"));
    EXPECT_THAT(refusal_of([&] {
                  memory.add_async(to, std::array{10, 20, 30}).wait();
                }),
                HasSubstr("operation on a word of rank"));
    EXPECT_THAT(refusal_of([&] {
                  memory.xor_async(to, std::array{64, 64, 64}).wait();
                }),
                HasSubstr("nothing is allocated there, or not any more"));
    std::array<int, 3> got{};
    EXPECT_THAT(refusal_of([&] { memory.gather(to, got); }), HasSubstr("gather of rank"));
    memory.quiet();
    std::array<int, 2> others{};
    memory.gather(std::array{kept + 1, kept}, others);
    EXPECT_EQ(others, (std::array{33 ^ 64, 11 ^ 64}));
    world.wait();
  });
}

/// Reads by a cache that are refused, twice each, and one that is not.
template <class T>
void refuse_cached(World& world, const GlobalMemoryOptions& options) {
  GlobalMemory memory(world, options);
  ObjectCache<T> cache(memory);
  const Rank next((world.rank().value() + 1) % 2);
  GlobalVector<GlobalPtr<T>> objects(memory, 2);
  objects.local()[0] = memory.create<T>();
  world.barrier();
  const GlobalPtr<T> far = objects.get(static_cast<std::size_t>(next.value()));
  for (int i = 0; i < 2; ++i) {
    if (memory.checks()) {
      EXPECT_THAT(refusal_of([&] { static_cast<void>(cache.get(far + 1)); }),
                  HasSubstr("of rank " + std::to_string(next.value()) + ": "));
    }
    EXPECT_THAT(refusal_of([&] { static_cast<void>(cache.get(far.on(Rank(2)))); }),
                HasSubstr("ank 2"));
    EXPECT_THAT(refusal_of([&] { static_cast<void>(cache.rget(far.on(Rank(2)))); }),
                HasSubstr("ank 2"));
    EXPECT_EQ(*cache.get(far), T());
  }
  world.wait();
  memory.destroy(objects.local()[0]);
}

TEST(RefusedFetch, OfACache_IsAnErrorOfEachCall) {
  on_threads_and_simulated([](World& world) {
    refuse_cached<int>(world, checked());
    refuse_cached<std::string>(world, checked());
    refuse_cached<int>(world, {.name = "m", .checks = Checks::off});
    refuse_cached<std::string>(world, {.name = "m", .checks = Checks::off});
  });
}

// The program drops the error of a prefetch.
TEST(RefusedFetch, OfAPrefetch_FailsTheTeam) {
  const auto refused = [](int offset, Rank to) {
    return text_of<shoal::TaskError>(2, 1, [&](World& world) {
      GlobalMemory memory(world, checked());
      ObjectCache<int> cache(memory);
      const auto cells = memory.collective_allocate<int>(2);
      world.barrier();
      if (world.rank() == 0) cache.prefetch(cells.on(to) + offset);
      world.wait();
    });
  };
  EXPECT_THAT(refused(2, Rank(1)), AllOf(HasSubstr("cache 'cache': a fetch of rank 1 + "),
                                         HasSubstr("past the allocation of 8 bytes")));
  EXPECT_THAT(refused(0, Rank(2)), HasSubstr("the world has ranks 0 to 1"));
}

TEST(Reports, SayHowManyRequestsHaveNoAnswer) {
  shoal::runtime::Config config = shoal::testing::sim_config(2, 1, 1);
  config.sim_net = "fixed:1s,1G";
  config.sim_limit_ns = 10'000'000'000;
  std::string text;
  try {
    shoal::runtime::SimulatedWorld(config).run([](World& world) {
      GlobalMemory memory(world, checked());
      const auto place = memory.collective_allocate<int>();
      world.barrier();
      std::vector<shoal::Future<int>> values;
      while (world.rank() == 0) {
        for (int i = 0; i < 3; ++i) values.push_back(memory.get_async(place.on(Rank(1))));
        for (auto& value : values) static_cast<void>(value.get());
        values.clear();
      }
      world.wait();
      return 0;
    });
  } catch (const shoal::Error& error) {
    text = error.what();
  }
  EXPECT_THAT(text, HasSubstr("memory 'm': requests to rank 1 without an answer: 3"));
}

TEST(PointerOfAnotherWorld, IsRefused) {
  GlobalPtr<int> kept;
  const auto use = [&kept](World& world) {
    GlobalMemory memory(world, {.name = "m"});
    const GlobalPtr<int> here = memory.collective_allocate<int>();
    if (kept) {
      EXPECT_THAT(refusal_of([&] { static_cast<void>(memory.get(kept)); }),
                  HasSubstr("a pointer that belongs to another memory (or to one of another team "
                            "or world)"));
    }
    kept = here;
    EXPECT_EQ(memory.get(kept), 0);
    world.wait();
    return 0;
  };
  for (int round = 0; round < 3; ++round) EXPECT_EQ(run_world(1, 1, use), 0);
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    shoal::runtime::SimulatedWorld(shoal::testing::sim_config(1, 1, seed)).run(use);
  }
}

TEST(MemoryChecks, AreOnInSimulations_UnlessTheRunSaysOtherwise) {
  for (const std::optional<bool> asked : {std::optional<bool>(), std::optional(false)}) {
    shoal::runtime::Config config = shoal::testing::sim_config(2, 1, 1);
    config.check_graphs = asked;
    shoal::runtime::SimulatedWorld(config).run([&](World& world) {
      EXPECT_EQ(GlobalMemory(world, {.name = "m"}).checks(), asked.value_or(true));
      world.wait();
      return 0;
    });
  }
}

}  // namespace memory_refusal_test

// Global memory as programs use it, in one process and in simulated worlds, and what is refused.

#include <shoal/memory.hpp>

#include "runtime/simulated_world.hpp"
#include "support/memory_battery.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "support/succeeds_on.hpp"
#include "support/wait_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace memory_access_test {

using shoal::CheckError;
using shoal::GlobalMemory;
using shoal::GlobalMemoryOptions;
using shoal::GlobalPtr;
using shoal::GlobalVar;
using shoal::GlobalVector;
using shoal::ObjectCache;
using shoal::Rank;
using shoal::World;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;
using shoal::testing::succeeds_on;
using shoal::testing::text_of;
using testing::AllOf;
using testing::HasSubstr;

using Checks = GlobalMemoryOptions::Checks;

GlobalMemoryOptions small(Checks checks = Checks::off) {
  return {.name = "m", .heap_bytes = std::size_t{1} << 20U, .checks = checks};
}

TEST(GlobalMemory, Embedded_TheBatteryHolds) {
  std::vector sizes{1, 3};
  if (!shoal::testing::kSanitized) sizes = {1, 2, 3, 8};
  for (const Checks checks : {Checks::off, Checks::on}) {
    for (const int ranks : sizes) {
      for (const int workers : {1, 3}) {
        EXPECT_EQ(run_world(ranks, workers,
                            [&](World& world) { shoal::testing::whole_battery(world, checks); }),
                  0)
            << ranks << " ranks, " << workers << " workers";
      }
    }
  }
}

TEST(GlobalMemory, Simulated_TheBatteryHoldsForManySeeds) {
  const int seeds = sized_on_one_thread(40, 3);
  for (int seed = 0; seed < seeds; ++seed) {
    shoal::runtime::Config config =
        shoal::testing::sim_config(2 + seed % 4, 1 + seed % 2, static_cast<std::uint64_t>(seed));
    if (seed % 3 == 0) config.ranks_per_process = config.ranks % 2 == 0 ? 2 : 1;
    ASSERT_EQ(succeeds_on(config,
                          [&](World& rank) {
                            shoal::testing::whole_battery(rank,
                                                          seed % 2 == 0 ? Checks::off : Checks::on);
                          }),
              config.ranks)
        << "seed " << seed;
  }
}

TEST(GlobalMemory, Simulated_SignalsComeBehindTheirData) {
  const int seeds = sized_on_one_thread(400, 30);
  for (int seed = 0; seed < seeds; ++seed) {
    shoal::runtime::Config config =
        shoal::testing::sim_config(2 + seed % 5, 1 + seed % 2, static_cast<std::uint64_t>(seed));
    config.ranks_per_process = 1;
    ASSERT_EQ(succeeds_on(config,
                          [&](World& rank) {
                            GlobalMemory memory(rank,
                                                small(seed % 4 == 0 ? Checks::on : Checks::off));
                            shoal::testing::signals_behind_much(rank, memory);
                          }),
              config.ranks)
        << "seed " << seed;
  }
}

TEST(GlobalMemory, WrongPointers_AreRefusedAndNothingElseHappens) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        GlobalMemory other(world, small());
                        const auto here = memory.collective_allocate<int>(4);
                        EXPECT_THAT(refusal_of([&] { (void)memory.get(GlobalPtr<int>()); }),
                                    HasSubstr("memory 'm': get through a null pointer"));
                        EXPECT_THAT(refusal_of([&] { static_cast<void>(other.put(here, 1)); }),
                                    HasSubstr("a pointer that belongs to another memory"));
                        EXPECT_THAT(refusal_of([&] { (void)memory.get(here.on(Rank(2))); }),
                                    AllOf(HasSubstr("memory 'm': get, on rank "),
                                          HasSubstr(": rank 2 is out of range: the world has "
                                                    "ranks 0 to 1")));
                        EXPECT_THAT(refusal_of([&] { (void)memory.get(here + (1 << 20)); }),
                                    AllOf(HasSubstr("get of 4 bytes"), HasSubstr("heap ends at")));
                        const Rank next((world.rank().value() + 1) % 2);
                        EXPECT_THAT(refusal_of([&] { (void)memory.local(here.on(next)); }),
                                    HasSubstr("use get()"));
                        EXPECT_THAT(refusal_of([&] {
                                      memory.fetch_add(here.cast<std::int64_t>() + 0, 1);
                                      auto odd = here.cast<char>() + 1;
                                      memory.fetch_add(odd.cast<int>(), 1);
                                    }),
                                    HasSubstr("not aligned to 4 bytes"));
                        world.wait();
                      }),
            0);
}

TEST(GlobalMemory, WithChecks_AccessesThatNoAllocationHoldsAreNamedWhereTheyAreCalled) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small(Checks::on));
                        const Rank next((world.rank().value() + 1) % 2);
                        const auto array = memory.collective_allocate<int>(10);
                        world.barrier();
                        std::vector<int> values(4);
                        const std::string text =
                            refusal_of([&] { memory.get(array.on(next) + 8, std::span(values)); });
                        EXPECT_THAT(text,
                                    AllOf(HasSubstr("get of rank " + std::to_string(next.value())),
                                          HasSubstr("8 bytes past the allocation of 40 bytes")));
                        const auto gone = memory.allocate_on<int>(next);
                        memory.free(gone);
                        EXPECT_THAT(refusal_of([&] { memory.put(gone, 1).wait(); }),
                                    HasSubstr("nothing is allocated there, or not any more"));
                        EXPECT_THAT(refusal_of([&] { memory.fetch_add(gone, 1); }),
                                    HasSubstr("operation on a word of rank"));
                        EXPECT_THAT(refusal_of([&] { memory.fetch_max_async(gone, 1).get(); }),
                                    HasSubstr("operation on a word of rank"));
                        world.wait();
                      }),
            0);
}

TEST(GlobalMemory, FreesOfAnotherRanksMemory_FailTheTeamWithTheReason) {
  const std::string text = text_of<shoal::TaskError>(2, 1, [](World& world) {
    GlobalMemory memory(world, small());
    if (world.rank() == 0) {
      const auto far = memory.allocate_on<int>(Rank(1));
      memory.free(far);
      memory.free(far);
    }
    world.wait();
  });
  EXPECT_THAT(text, AllOf(HasSubstr("memory 'm': global heap of rank 1: free of"),
                          HasSubstr("it was freed before")));
}

TEST(GlobalMemory, DifferentCollectiveAllocations_AreNamed) {
  const std::vector<std::string> texts =
      shoal::testing::texts_of<shoal::Error>(3, 1, [](World& world) {
        GlobalMemory memory(world, small());
        static_cast<void>(memory.collective_allocate<double>(10));
        static_cast<void>(memory.collective_allocate<double>(world.rank() == 1 ? 100 : 10));
        world.wait();
      });
  EXPECT_THAT(texts,
              testing::Each(AllOf(HasSubstr("collective allocation 2"), HasSubstr("800 bytes"),
                                  HasSubstr("80 bytes"), HasSubstr("in the same order"))));
}

TEST(GlobalMemory, AnAllocationThatARankDoesNotMake_IsStuck) {
  const std::string text = text_of<shoal::StuckError>(2, 1, [](World& world) {
    GlobalMemory memory(world, small());
    if (world.rank() == 0) static_cast<void>(memory.collective_allocate<double>(10));
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("rank 0 has made collective allocation 1 of 80 bytes, and this rank "
                              "has not"));
}

TEST(GlobalMemory, AHeapThatIsFull_SaysSoToWhomeverAsked) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        const Rank next((world.rank().value() + 1) % 2);
                        EXPECT_THAT(refusal_of([&] {
                                      static_cast<void>(memory.allocate_on<char>(next, 1U << 20U));
                                    }),
                                    HasSubstr("global heap of rank " +
                                              std::to_string(next.value()) + ": no room for"));
                        world.wait();
                      }),
            0);
}

TEST(GlobalMemory, DifferentHeapSizes_AreNamed) {
  const std::vector<std::string> texts =
      shoal::testing::texts_of<shoal::Error>(2, 1, [](World& world) {
        GlobalMemory memory(
            world, {.name = "m", .heap_bytes = std::size_t{world.rank() == 0 ? 1U : 2U} << 20U});
        static_cast<void>(memory.collective_allocate<double>(10));
        world.wait();
      });
  EXPECT_THAT(texts, testing::Each(AllOf(HasSubstr("1048576 bytes on rank 0"),
                                         HasSubstr("2097152 bytes on rank 1"),
                                         HasSubstr("the same --global-heap"))));
}

TEST(GlobalMemory, HeapsWithoutASize_HaveThatOfTheRun) {
  shoal::runtime::Config config = shoal::testing::sim_config(2, 1, 1);
  config.global_heap_bytes = std::size_t{1} << 20U;
  config.local_heap_bytes = std::size_t{1} << 16U;
  shoal::runtime::SimulatedWorld world(config);
  world.run([&](World& rank) {
    GlobalMemory memory(rank, {.name = "m"});
    EXPECT_THAT(refusal_of([&] { static_cast<void>(memory.allocate<char>(600 << 10U)); }),
                AllOf(HasSubstr("no room for 600.0 KiB: of 512.0 KiB for one-sided allocations"),
                      HasSubstr("a larger heap (--global-heap")));
    EXPECT_THAT(refusal_of([&] { static_cast<void>(memory.local_allocate<char>(1 << 17U)); }),
                AllOf(HasSubstr("local heap of rank"), HasSubstr("of 63.9 KiB for allocations"),
                      HasSubstr("a larger heap (--local-heap")));
    return 0;
  });
}

TEST(GlobalMemory, TheLocalHeap_FindsFreesThatAreWrong) {
  EXPECT_EQ(
      run_world(2, 1,
                [](World& world) {
                  GlobalMemory memory(world, small());
                  int* const numbers = memory.local_allocate<int>(100);
                  double* const value = memory.local_allocate<double>();
                  EXPECT_EQ(numbers[99], 0);
                  EXPECT_EQ(*value, 0);
                  numbers[99] = 5;
                  EXPECT_EQ(memory.statistics().local_allocations, 2U);
                  EXPECT_GE(memory.statistics().local_bytes, 408U);
                  const std::string heap =
                      "memory 'm': local heap of rank " + std::to_string(world.rank().value());
                  EXPECT_THAT(refusal_of([&] { memory.local_free(numbers + 1); }),
                              AllOf(HasSubstr(heap), HasSubstr("points into the allocation")));
                  memory.local_free(numbers);
                  EXPECT_THAT(refusal_of([&] { memory.local_free(numbers); }),
                              AllOf(HasSubstr(heap), HasSubstr("it was freed before")));
                  int other = 0;
                  EXPECT_THAT(refusal_of([&] { memory.local_free(&other); }),
                              HasSubstr("a pointer that is not of this heap"));
                  const auto global = memory.allocate<int>();
                  EXPECT_THAT(refusal_of([&] { memory.local_free(memory.local(global)); }),
                              HasSubstr("it points into the global heap: use free()"));
                  int* const again = memory.local_allocate<int>(100);
                  EXPECT_EQ(again[99], 0);  // zeros, though written before
                  memory.local_free(again);
                  memory.local_free(value);
                  memory.local_free(static_cast<int*>(nullptr));
                  EXPECT_EQ(memory.statistics().local_allocations, 0U);
                  world.wait();
                }),
      0);
}

TEST(GlobalMemory, ATaskThatFailsWhileItWaitsForData_LeavesNothingThatWritesToItsStack) {
  for (int seed = 0; seed < sized(60, 10); ++seed) {
    const shoal::runtime::Config config =
        shoal::testing::sim_config(2, 2, static_cast<std::uint64_t>(seed));
    shoal::runtime::SimulatedWorld world(config);
    int told = 0;
    world.run([&](World& rank) {
      std::optional<GlobalMemory> memory(std::in_place, rank, small(Checks::off));
      const auto far = memory->collective_allocate<int>(30'000).on(Rank(1));
      rank.barrier();
      for (int t = 0; t < 5 && rank.rank() == 0; ++t) {
        rank.spawn([&, t] {
          std::vector<int> here(static_cast<std::size_t>(t == 0 ? 30'000 : 100));
          while (true) memory->get(far, std::span(here));
        });
      }
      rank.spawn([seed] {
        shoal::sleep_for(std::chrono::microseconds(seed));
        throw std::runtime_error("planted");
      });
      try {
        rank.wait();
      } catch (const shoal::TaskError& error) {
        told += error.text() == "planted" ? 1 : 0;
      }
      return 0;
    });
    EXPECT_EQ(told, 2) << "seed " << seed;
  }
}

TEST(GlobalVar, OthersReadACopy_UntilTheyRefreshIt) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        GlobalVar<double> step(memory, Rank(0));
                        if (world.rank() == 0) step.set(0.5);
                        world.barrier();
                        EXPECT_EQ(step.get(), 0.5);
                        world.barrier();
                        if (world.rank() == 0) step.set(0.25);
                        world.barrier();
                        EXPECT_EQ(step.get(), world.rank() == 0 ? 0.25 : 0.5);
                        step.refresh();
                        EXPECT_EQ(step.get(), 0.25);
                        if (world.rank() == 1) {
                          EXPECT_THAT(refusal_of([&] { step.set(1); }),
                                      HasSubstr("only its owner writes it"));
                        }
                        world.wait();
                      }),
            0);
}

TEST(ObjectCache, TasksThatWantOneObjectAtOnce_ShareOneFetch) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        ObjectCache<std::string> cache(memory);
                        GlobalVector<GlobalPtr<std::string>> roots(memory, 2);
                        roots.local()[0] = memory.create<std::string>(std::size_t{100}, 'a');
                        world.barrier();
                        const auto root = roots.get(1);
                        if (world.rank() == 0) {
                          EXPECT_THROW(static_cast<void>(cache.lget(root)), shoal::CacheMiss);
                          for (int i = 0; i < 50; ++i) {
                            world.spawn([&] { EXPECT_EQ(cache.get(root)->size(), 100U); });
                          }
                        }
                        world.wait();
                        if (world.rank() == 0) {
                          EXPECT_EQ(cache.statistics().fetches, 1U);
                          EXPECT_EQ(cache.statistics().misses + cache.statistics().hits, 50U);
                          EXPECT_EQ(cache.lget(root)->at(0), 'a');
                          EXPECT_EQ(cache.rget(root)->at(0), 'a');
                          EXPECT_EQ(cache.statistics().fetches, 2U);
                        }
                        world.wait();
                        memory.destroy(roots.local()[0]);
                      }),
            0);
}

TEST(ObjectCache, Lru_EvictsWhatWasUsedLongAgoButNothingThatIsReferenced) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        ObjectCache<double, shoal::Lru> cache(memory,
                                                              shoal::Lru(4 * sizeof(double)));
                        GlobalVector<double> values(memory, 20);
                        for (double& value : values.local()) value = 1 + world.rank().value();
                        world.barrier();
                        if (world.rank() == 0) {
                          const auto first = cache.get(values[10]);
                          for (std::size_t i = 11; i < 20; ++i) {
                            EXPECT_EQ(*cache.get(values[i]), 2.0);
                          }
                          EXPECT_EQ(cache.statistics().evictions, 6U);
                          EXPECT_EQ(cache.statistics().bytes, 4 * sizeof(double));
                          EXPECT_EQ(cache.lget(values[10]), first);
                          EXPECT_NO_THROW(static_cast<void>(cache.lget(values[19])));
                          EXPECT_THROW(static_cast<void>(cache.lget(values[11])), shoal::CacheMiss);
                        }
                        world.wait();
                      }),
            0);
}

TEST(ObjectCache, WithChecks_AStaleReadNamesBothSides) {
  EXPECT_EQ(run_world(3, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small(Checks::on));
                        ObjectCache<double> cache(memory, {}, "weights");
                        GlobalVector<double> values(memory, 3);
                        world.barrier();
                        if (world.rank() == 0) {
                          EXPECT_EQ(*cache.get(values[1]), 0.0);
                        }
                        cache.invalidate();
                        if (world.rank() == 0) {
                          EXPECT_EQ(*cache.get(values[1]), 0.0);
                        }
                        world.barrier();
                        const auto expect_stale = [&](const std::string& writer) {
                          world.barrier();
                          if (world.rank() != 0) return world.barrier();
                          try {
                            static_cast<void>(cache.get(values[1]));
                            ADD_FAILURE() << "a stale read was not found";
                          } catch (const shoal::StaleReadError& error) {
                            EXPECT_THAT(
                                error.what(),
                                AllOf(HasSubstr("cache 'weights': rank 0 reads, in phase 1"),
                                      HasSubstr("its copy of rank 1 + 0x"), HasSubstr(writer)));
                          }
                          world.barrier();
                        };
                        if (world.rank() == 1) values.local()[0] = 3.0;
                        expect_stale("so rank 1 has changed it by a pointer of its own");
                        if (world.rank() == 2) memory.put(values[1], 4.0).wait();
                        expect_stale("was that of rank 2");
                        if (world.rank() == 1) memory.fetch_add(values[1], 1.0);
                        if (world.rank() == 2) memory.put(values[2], 1.0).wait();  // another object
                        static_cast<void>(memory.load(values[1]));
                        expect_stale("was that of rank 1");
                        if (world.rank() == 2) memory.fetch_max(values[1], 7.0);
                        expect_stale("was that of rank 2");
                        world.wait();
                      }),
            0);
}

// --- programs of the paper

/// A cell of an octree, as in algorithm 1.
struct TreeCell {
  double mass = 0;
  std::vector<GlobalPtr<TreeCell>> children;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(mass, children);
  }
};

/// A binary tree of depth `depth` whose cells are dealt to the ranks in turn. Collective.
class Tree {
 public:
  Tree(World& world, GlobalMemory& memory, int depth)
      : memory_(memory),
        cells_(memory, shoal::Distribution::cyclic(
                           (std::size_t{2} << static_cast<unsigned>(depth)) - 1, memory.size())) {
    for (std::size_t i = cells_.size(); i-- > 0;) {  // children first
      if (cells_.owner(i) == world.rank()) {
        TreeCell cell{1.0, {}};
        if (2 * i + 2 < cells_.size())
          cell.children = {cells_.get(2 * i + 1), cells_.get(2 * i + 2)};
        cells_.put(i, memory.create<TreeCell>(cell));
      }
      memory.quiet();
      world.barrier();
    }
  }
  ~Tree() {
    for (const GlobalPtr<TreeCell> cell : cells_.local()) memory_.destroy(cell);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  [[nodiscard]] GlobalPtr<TreeCell> root() const { return cells_.get(0); }
  [[nodiscard]] std::size_t size() const { return cells_.size(); }

 private:
  GlobalMemory& memory_;
  GlobalVector<GlobalPtr<TreeCell>> cells_;
};

// Section 4.1: a task per body walks the tree; a cell is localized by a future that all bodies
// share, and children are fetched once.
TEST(Paper, BarnesHutForces_LocalizeEachCellOnce) {
  EXPECT_EQ(
      run_world(3, 2,
                [](World& world) {
                  GlobalMemory memory(world, small());
                  {
                    Tree tree(world, memory, 4);
                    ObjectCache<TreeCell> cells(memory);
                    std::atomic<int> visited{0};
                    const std::function<double(GlobalPtr<TreeCell>)> compute_force =
                        [&](GlobalPtr<TreeCell> node) {
                          const auto localized = cells.get(node);  // node.handler.sync()
                          ++visited;
                          double force = localized->mass;
                          for (const auto child : localized->children)
                            force += compute_force(child);
                          return force;
                        };
                    std::vector<shoal::Future<double>> bodies;
                    for (int body = 0; body < 20; ++body) {
                      bodies.push_back(world.async([&] { return compute_force(tree.root()); }));
                    }
                    for (auto& body : bodies) EXPECT_EQ(body.get(), 31.0);
                    EXPECT_EQ(visited, 20 * 31);
                    EXPECT_LE(cells.statistics().fetches, tree.size());  // redundant ones: none
                    world.barrier();
                  }
                  world.wait();
                }),
      0);
}

// Sections 2.1 and 2.2: memput and memget with their handlers, active_msg, and tasks that a counter
// enables when all of their parts have come (section 4.3).
TEST(Paper, OneSidedCommunication_EnablesTasks) {
  EXPECT_EQ(run_world(4, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        const int me = world.rank().value();
                        const auto parts = memory.collective_allocate<double>(4);
                        shoal::FullEmpty<double> solution;
                        shoal::Latch arrived(4);
                        const auto active_msg = world.make_am([&] { arrived.count_down(); });
                        world.barrier();
                        world.spawn([&] {  // enabled by a counter
                          arrived.wait();
                          double sum = 0;
                          for (int i = 0; i < 4; ++i) sum += *memory.local(parts + i);
                          solution.write_ef(sum);
                        });
                        for (int rank = 0; rank < 4; ++rank) {
                          const double part = 10.0 * me + rank;
                          memory.put_signal(parts.on(Rank(rank)) + me, std::span(&part, 1),
                                            [&] { active_msg.send(Rank(rank)); });
                        }
                        EXPECT_EQ(solution.read_fe(), 60.0 + 4 * me);
                        world.barrier();
                        const double value = 5;
                        shoal::Transfer put = memory.put(parts.on(Rank((me + 1) % 4)), value);
                        while (!put.is_ready()) shoal::yield();  // tests it, as it may wait for it
                        EXPECT_EQ(memory.get(parts.on(Rank((me + 1) % 4))), 5.0);
                        world.wait();
                      }),
            0);
}

/// Runs a program of the paper on threads, and in the simulator over seeds.
template <class F>
void run_of_paper(F program) {
  EXPECT_EQ(run_world(3, 1, program), 0);
  for (int seed = 0; seed < sized_on_one_thread(20, 4); ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_EQ(
        succeeds_on(shoal::testing::sim_config(3, 1, static_cast<std::uint64_t>(seed)), program),
        3);
  }
}

// Section 2.1: spawn; yield, which lets another task run on the only worker; sync, by which one
// task enables another, and waits for its end as in algorithm 1.
TEST(Paper, SpawnYieldAndSync_EnableTasks) {
  run_of_paper([](World& world) {
    shoal::FullEmpty<int> sync;
    std::atomic<bool> ran{false};
    auto waits = world.async([&] { return sync.read_fe(); });  // spawn(...)
    world.spawn([&] { ran = true; });
    while (!ran) shoal::yield();
    EXPECT_FALSE(waits.is_ready());  // it is disabled
    sync.write_ef(7);
    EXPECT_EQ(waits.get(), 7);  // .sync()
    world.wait();
  });
}

// Section 2.1: future spawns a task that is delayed until its requirement is met: here a promise,
// data of another rank, and several inputs.
TEST(Paper, Future_IsDelayedUntilItsRequirementIsMet) {
  run_of_paper([](World& world) {
    GlobalMemory memory(world, small());
    const int me = world.rank().value();
    const auto value = memory.collective_allocate<int>();
    *memory.local(value) = 10 + me;
    std::atomic<bool> ran{false};
    shoal::Promise<int> requirement;
    auto delayed = requirement.future().then([&ran](int given) {
      ran = true;
      return 2 * given;
    });
    world.barrier();
    EXPECT_FALSE(ran);
    requirement.set_value(21);
    EXPECT_EQ(delayed.get(), 42);
    const auto far = value.on(Rank((me + 1) % 3));
    auto localized = memory.get_async(far).then([](int there) { return there + 1; });
    EXPECT_EQ(localized.get(), 11 + (me + 1) % 3);
    int sum = 0;
    shoal::TaskGraph<int> futures(world, "futures");
    futures.set_rank([](int rank) { return Rank(rank); })
        .set_mapping([](int) { return 0; })
        .set_task([&](int /*key*/, int a, int b) { sum = a + b; });
    world.barrier();
    futures.send((me + 1) % 3, 0, me);
    futures.send((me + 2) % 3, 1, me);
    world.wait();
    EXPECT_EQ(sum, 3 - me);  // numbers of the others
  });
}

// Section 2.3: a gvar is on one node, and read-only for the others; the chunks of a gvec have the
// same offset on each, so that a thread computes the address of any location.
TEST(Paper, GvarAndGvec_AreReachedFromEveryNode) {
  run_of_paper([](World& world) {
    GlobalMemory memory(world, small());
    const int me = world.rank().value();
    const int next = (me + 1) % 3;
    shoal::GlobalVar<double> step(memory, Rank(1));
    GlobalVector<int> chunks(memory, 12);
    if (me == 1) step.set(0.025);
    world.barrier();
    EXPECT_EQ(step.get(), 0.025);
    if (me != 1) {
      EXPECT_THROW(step.set(1), CheckError);
    }
    EXPECT_EQ(chunks.at(Rank(next), 2).offset(), chunks.at(Rank(me), 2).offset());
    chunks.put(static_cast<std::size_t>(4 * next + 2), me);  // in the chunk of the next node
    memory.quiet();
    world.barrier();
    EXPECT_EQ(chunks.local()[2], (me + 2) % 3);
    EXPECT_EQ(chunks.get(static_cast<std::size_t>(4 * next + 2)), me);
    world.wait();
  });
}

// Section 2.3: lget throws where there is no copy; get takes the copy, if there is one; a put
// changes no copies; rget fetches anew, and updates the copy.
TEST(Paper, LgetRgetAndGet_DifferInWhatTheyFetch) {
  run_of_paper([](World& world) {
    GlobalMemory memory(world, small());
    GlobalVector<int> values(memory, 3);
    ObjectCache<int> cache(memory);
    const int next = (world.rank().value() + 1) % 3;
    const auto gptr = values[static_cast<std::size_t>(next)];
    values.local()[0] = 1;
    world.barrier();
    EXPECT_THROW(static_cast<void>(cache.lget(gptr)), shoal::CacheMiss);
    EXPECT_EQ(*cache.get(gptr), 1);
    EXPECT_EQ(*cache.lget(gptr), 1);
    world.barrier();
    memory.put(gptr, 2).wait();
    EXPECT_EQ(*cache.get(gptr), 1);
    EXPECT_EQ(*cache.lget(gptr), 1);
    EXPECT_EQ(cache.statistics().fetches, 1U);
    EXPECT_EQ(*cache.rget(gptr), 2);
    EXPECT_EQ(*cache.lget(gptr), 2);
    EXPECT_EQ(*cache.get(gptr), 2);
    EXPECT_EQ(cache.statistics().fetches, 2U);
    world.wait();
  });
}

/// Evicts by chance: a policy of the program's own.
class Chance {
 public:
  [[nodiscard]] static bool keeps() { return true; }
  void on_insert(const shoal::CacheKey& key, std::size_t /*size_bytes*/) { keys_.push_back(key); }
  void on_use(const shoal::CacheKey& /*key*/) { ++state_; }
  void on_remove(const shoal::CacheKey& key) { std::erase(keys_, key); }
  [[nodiscard]] std::optional<shoal::CacheKey> victim() {
    if (keys_.size() <= 2) return std::nullopt;
    state_ = state_ * 1103515245U + 12345U;
    return keys_[(state_ >> 16U) % keys_.size()];
  }

 private:
  std::vector<shoal::CacheKey> keys_;
  unsigned state_ = 1;
};

TEST(ObjectCache, APolicyOfTheProgram_DecidesWhatStays) {
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        GlobalMemory memory(world, small());
                        ObjectCache<int, Chance> cache(memory);
                        GlobalVector<int> values(memory, 40);
                        for (std::size_t i = 0; i < 20; ++i)
                          values.local()[i] = static_cast<int>(i);
                        world.barrier();
                        if (world.rank() == 0) {
                          const auto pinned = cache.get(values[20]);
                          for (std::size_t i = 21; i < 40; ++i) {
                            EXPECT_EQ(*cache.get(values[i]), static_cast<int>(i - 20));
                            EXPECT_LE(cache.statistics().copies, 6U);
                            EXPECT_EQ(cache.lget(values[20]), pinned);  // never evicted
                          }
                          EXPECT_GE(cache.statistics().evictions, 17U);
                        }
                        world.wait();
                      }),
            0);
}

}  // namespace memory_access_test

// A task that is waited for and would run next runs on the stack of who waits.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sync.hpp>
#include <shoal/task_group.hpp>

#include "support/sizes.hpp"
#include "support/wait_world.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace sched_nested_test {

using shoal::Promise;
using shoal::StuckError;
using shoal::TaskGroup;
using shoal::TaskOptions;
using shoal::WorkerId;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::text_of;
using testing::AllOf;
using testing::HasSubstr;

[[gnu::noinline]] std::uintptr_t stack_place() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

bool is_near(std::uintptr_t a, std::uintptr_t b) {
  constexpr std::uintptr_t kNearBytes = 64UL << 10U;
  return (a > b ? a - b : b - a) < kNearBytes;
}

/// Whether what `outer` waits for runs on the stack of `outer`; `wait(place)` starts it with a
/// function that notes its place.
bool is_nested(const TaskOptions& options,
               const std::function<void(World&, std::uintptr_t&)>& wait) {
  std::uintptr_t here = 0;
  std::uintptr_t there = 0;
  EXPECT_EQ(run_world(1, 1,
                      [&](World& world) {
                        world.spawn(
                            [&] {
                              here = stack_place();
                              wait(world, there);
                            },
                            options);
                        world.wait();
                      }),
            0);
  EXPECT_NE(there, 0U);
  return is_near(here, there);
}

void wait_for_future(World& world, std::uintptr_t& place) {
  world.async([&place] { place = stack_place(); }).get();
}

void wait_for_group(World&, std::uintptr_t& place) {
  TaskGroup group;
  group.spawn([&place] { place = stack_place(); });
  group.wait();
}

TEST(Nested, WhatATaskWaitsFor_RunsOnItsStack) {
  EXPECT_TRUE(is_nested({}, &wait_for_future));
  EXPECT_TRUE(is_nested({}, &wait_for_group));
}

TEST(Nested, WhatABoundTaskWaitsFor_RunsOnAnother) {
  const TaskOptions bound{.worker = WorkerId(0), .bound = true};
  EXPECT_FALSE(is_nested(bound, &wait_for_future));
  EXPECT_FALSE(is_nested(bound, &wait_for_group));
}

TEST(Nested, WhatIsNotWaitedFor_RunsOnAnother) {
  EXPECT_FALSE(is_nested({}, [](World& world, std::uintptr_t& place) {
    auto waited_for = world.async([] {});
    world.spawn([&place] { place = stack_place(); });  // is next
    waited_for.get();
    shoal::yield();
  }));
}

TEST(Nested, OneThatParks_ParksWithWhoWaits) {
  for (const int workers : {1, 3}) {
    int sum = 0;
    EXPECT_EQ(run_world(1, workers,
                        [&](World& world) {
                          Promise<int> promise;
                          auto future = promise.future();
                          auto outer = world.async([&] {
                            auto inner = world.async([&] { return future.get() + 1; });
                            world.spawn([&] { promise.set_value(40); });
                            return inner.get() + 1;
                          });
                          sum = outer.get();
                          world.wait();
                        }),
              0);
    EXPECT_EQ(sum, 42);
  }
}

TEST(Nested, OneThatThrows_ThrowsWhereItIsWaitedFor) {
  std::string text;
  EXPECT_EQ(run_world(1, 1,
                      [&](World& world) {
                        world.spawn([&] {
                          try {
                            world.async([]() -> int { throw std::runtime_error("inner"); }).get();
                          } catch (const std::runtime_error& error) {
                            text = error.what();
                          }
                        });
                        world.wait();
                      }),
            0);
  EXPECT_EQ(text, "inner");
}

TEST(Nested, WhenStuck_AllOnTheStackAreNamed) {
  const std::string text = text_of<StuckError>(1, 1, [](World& world) {
    world.spawn(
        [&world] {
          Promise<int> never("a value that never comes");
          auto value = never.future();
          auto middle =
              world.async([&] { world.async([&] { value.get(); }, {.name = "inner"}).get(); },
                          {.name = "middle"});
          middle.get();
        },
        {.name = "outer"});
    world.wait();
  });
  EXPECT_THAT(text, AllOf(HasSubstr("'inner' waits in get() of 'a value that never comes'"),
                          HasSubstr("'middle' waits in get() of 'inner'"),
                          HasSubstr("'outer' waits in get() of 'middle'")));
}

TEST(Nested, WhenTheWorldFails_AllOnTheStackEnd) {
  int ended = 0;
  const std::string text = text_of<shoal::TaskError>(1, 1, [&](World& world) {
    struct AtEnd {
      int& count;
      ~AtEnd() { ++count; }
    };
    world.spawn([&] {
      const AtEnd outer{ended};
      Promise<int> never;
      auto value = never.future();
      auto inner = world.async([&] {
        const AtEnd middle{ended};
        world.spawn([] { throw std::runtime_error("elsewhere"); });
        value.get();
      });
      inner.get();
    });
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("elsewhere"));
  EXPECT_EQ(ended, 2);
}

/// Waits for what never comes when it is destroyed, but not when it was moved from.
class WaitsAtItsEnd {
 public:
  explicit WaitsAtItsEnd(std::shared_ptr<Promise<int>> never) : never_(std::move(never)) {}
  WaitsAtItsEnd(WaitsAtItsEnd&&) = default;
  ~WaitsAtItsEnd() {
    if (never_ == nullptr) return;
    try {
      never_->future().get();
    } catch (const shoal::CancelledError&) {  // the world has failed: as it should
    }
  }

 private:
  std::shared_ptr<Promise<int>> never_;
};

TEST(Nested, WhenTheEndOfOneIsStuck_TheWorldIs) {
  const std::string text = text_of<StuckError>(1, 1, [](World& world) {
    world.spawn([] {
      TaskGroup group;
      group.spawn([last = WaitsAtItsEnd(std::make_shared<Promise<int>>("never"))] {});
      group.wait();
    });
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("waits in get() of 'never'"));
}

TEST(Nested, WhatAnAsyncTaskCaptured_IsGoneWhenItsValueIsThere) {
  for (const int workers : {1, 3}) {
    std::atomic<int> alive{0};
    int left = 0;
    EXPECT_EQ(run_world(1, workers,
                        [&](World& world) {
                          world.spawn([&] {
                            for (int i = 0; i < 200; ++i) {
                              world.async([held = shoal::testing::Counted(alive)] {}).get();
                              left += alive.load();
                            }
                          });
                          world.wait();
                        }),
              0);
    EXPECT_EQ(left, 0);
  }
}

// Messages are handled between nested tasks, on the stack of the task that waits.
TEST(Nested, HandlersBelongToNoTask) {
  std::atomic<int> handled{0};
  std::atomic<int> cancelled{0};
  EXPECT_EQ(run_world(1, 1,
                      [&](World& world) {
                        const auto look = world.make_am([&] {
                          ++handled;
                          if (shoal::is_cancelled()) ++cancelled;
                          if (shoal::sched::current_task() != nullptr) ++cancelled;
                        });
                        TaskGroup group;
                        group.spawn([&] {
                          group.cancel();
                          look.send(shoal::Rank(0));
                          world.flush();
                          world.async([] {}).get();
                          EXPECT_EQ(handled, 1);  // on this stack: else the test shows nothing
                        });
                        group.wait();
                        world.wait();
                      }),
            0);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(cancelled, 0);
}

TEST(Nested, CirclesOfLocks_GoThroughThoseBelow) {
  const std::string text = text_of<StuckError>(1, 1, [](World& world) {
    shoal::Mutex first(world, "first");
    shoal::Mutex second(world, "second");
    world.spawn(
        [&] {
          const std::unique_lock lock(first);
          world.spawn(
              [&] {
                const std::unique_lock theirs(second);
                const std::unique_lock ours(first);
              },
              {.name = "other"});
          shoal::yield();
          world.async([&] { const std::unique_lock theirs(second); }, {.name = "inner"}).get();
        },
        {.name = "outer"});
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("lock cycle: "));
  EXPECT_THAT(text, HasSubstr("'outer' waits in get() of 'inner'"));
}

int depth_of(World& world, int n) {
  if (n == 0) return 0;
  return world.async([&world, n] { return depth_of(world, n - 1); }).get() + 1;
}

TEST(Nested, Recursion_UsesNoMoreThanItsPartOfAStack) {
  const int depth = sized(50'000, 2'000);
  int reached = 0;
  EXPECT_EQ(run_world(1, 1,
                      [&](World& world) {
                        reached = world.async([&] { return depth_of(world, depth); }).get();
                      }),
            0);
  EXPECT_EQ(reached, depth);
}

std::uint64_t leaves_of(World& world, int depth) {
  if (depth == 0) return 1;
  auto left = world.async([&world, depth] { return leaves_of(world, depth - 1); });
  TaskGroup group;
  std::uint64_t right = 0;
  group.spawn([&] { right = leaves_of(world, depth - 1); });
  group.wait();
  return left.get() + right;
}

TEST(Nested, Trees_OnSeveralWorkers_AreWhole) {
  const int depth = sized(14, 9);
  std::uint64_t leaves = 0;
  EXPECT_EQ(run_world(1, 4,
                      [&](World& world) {
                        leaves = world.async([&] { return leaves_of(world, depth); }).get();
                        world.wait();
                      }),
            0);
  EXPECT_EQ(leaves, std::uint64_t{1} << static_cast<unsigned>(depth));
}

}  // namespace sched_nested_test

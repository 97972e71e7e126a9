// Team::cancel() and Deadline: work that is dropped on all members, and what goes on beside it.

#include <shoal/runtime.hpp>
#include <shoal/shoal.hpp>

#include "support/failed_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace runtime_cancel_test {

using shoal::Deadline;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::expect_named;
using shoal::testing::expect_well;
using std::chrono::microseconds;
using ::testing::HasSubstr;

/// wait() of a team that is cancelled: the text of the error.
std::string text_of_wait(Team& team) {
  try {
    team.wait();
  } catch (const shoal::TaskError& error) {
    return error.is_cancellation() ? error.what() : std::string("no cancellation: ") + error.what();
  }
  return "";
}

const std::string kText = "rank 1 has cancelled team 'solver': too large";

TEST(Cancel, DropsTheWorkOfATeam_AndTheWorldGoesOn) {
  expect_well([](World& world) {
    std::atomic<int> ran{0};
    bool was_cancelled = false;
    {
      Team team(world, {Rank(0), Rank(1)}, "solver");
      shoal::Promise<int> promise(team);
      auto never = promise.future();
      team.spawn([&, f = std::move(never)]() mutable {
        try {
          f.get();
        } catch (const shoal::CancelledError&) {
          was_cancelled = true;
          throw;
        }
      });
      // Each begins after the cancellation of the first, unless that is on its way.
      std::function<void(int)> step = [&](int i) {
        ++ran;
        if (team.rank() == 1 && i == 3) team.cancel("too large");
        if (!team.is_cancelled()) shoal::sleep_for(microseconds(100));
        team.spawn([&, i] { step(i + 1); });
      };
      team.spawn([&] { step(0); });
      EXPECT_EQ(text_of_wait(team), kText);
      EXPECT_TRUE(team.is_cancelled());
    }
    EXPECT_TRUE(was_cancelled);
    EXPECT_GT(ran, 0);
    // Nothing of it is left, and the world is as it was.
    const int before = ran;
    world.barrier();
    EXPECT_EQ(world.async([] { return 3; }).get(), 3);
    world.wait();
    EXPECT_FALSE(world.is_cancelled());
    EXPECT_EQ(ran, before);
  });
}

TEST(Cancel, ReachesGraphsFlowsAndNestedTeams) {
  expect_well([](World& world) {
    constexpr int kSteps = 500;
    std::atomic<int> steps{0};
    Team team(world, {Rank(0), Rank(1)}, "solver");
    {
      shoal::TaskGraph<int> endless(team, "endless");
      endless.set_rank([](int k) { return k % 2; })
          .set_indegree([](int) { return 1; })
          .set_task([&](int k) {
            shoal::sleep_for(microseconds(10));
            endless.fulfill(k + 1);
          });
      Team inner(team, {Rank(0), Rank(1)}, "inner");
      std::function<void()> again = [&] {
        shoal::sleep_for(microseconds(10));
        inner.spawn(again);
      };
      inner.spawn(again);
      shoal::Flow flow(team, "steps");
      const auto value = flow.data(0L);
      const auto step = [&](long& v) {
        ++steps;
        shoal::sleep_for(microseconds(10));
        v += steps;
        while (steps == kSteps / 2) shoal::sleep_for(microseconds(10));  // until it is cancelled
      };
      for (int i = 0; i < kSteps; ++i) flow.insert(step, shoal::read_write(value));
      if (team.rank() == 0) endless.fulfill(0);
      if (team.rank() == 1) {
        shoal::sleep_for(microseconds(300));
        team.cancel("too large");
      }
      EXPECT_EQ(text_of_wait(inner), kText);
      EXPECT_EQ(text_of_wait(team), kText);
    }
    EXPECT_LT(steps, kSteps);
  });
}

/// Waits of the main function, which does not belong to the team.
enum class Waits {
  in_get,
  in_wait,
  in_wait_of_one,
  in_acquire,
  in_unregister,
  in_insert,
  in_event
};

/// Waits for a flow or an event of the team, which take longer than the team lives.
void wait_for_part(Team& team, Waits waits) {
  constexpr int kSteps = 200;
  if (waits == Waits::in_event) {
    shoal::Events events(team);
    static_cast<void>(events.wait({{Rank(0), "never"}}));
    return;
  }
  shoal::Flow flow(team, "steps", {.tasks_max = waits == Waits::in_insert ? 20U : 1000U});
  const auto a = flow.data(0L, {.owner = Rank(0)});
  const auto b = flow.data(0L, {.owner = Rank(1)});
  const auto step = [](long& x, const long& y) {
    shoal::sleep_for(microseconds(100));
    x += y + 1;
  };
  for (int i = 0; i < kSteps; ++i) {
    flow.insert(step, shoal::read_write(a), shoal::read(b));
    flow.insert(step, shoal::read_write(b), shoal::read(a));
  }
  if (waits == Waits::in_get) static_cast<void>(flow.get(a));
  if (waits == Waits::in_wait_of_one) flow.wait(a);
  if (waits == Waits::in_acquire) static_cast<void>(flow.acquire(shoal::read(a)));
  if (waits == Waits::in_unregister) {
    flow.unregister(a);
    flow.unregister(b);
  }
  flow.wait();
}

TEST(Cancel, EndsWaitsOfTheMainFunctionForPartsOfTheTeam) {
  for (int wait = 0; wait <= static_cast<int>(Waits::in_event); ++wait) {
    for (const bool throws : {false, true}) {
      SCOPED_TRACE(std::to_string(wait) + (throws ? ", a task throws" : ", cancelled"));
      expect_well([&](World& world) {
        std::string text;
        try {
          Team team(world, {Rank(0), Rank(1)}, "solver");
          if (team.rank() == 1) {
            team.spawn([&team, throws] {
              shoal::sleep_for(microseconds(300));
              if (throws) throw std::runtime_error("singular");
              team.cancel("too large");
            });
          }
          wait_for_part(team, static_cast<Waits>(wait));
        } catch (const shoal::TaskError& error) {
          text = error.what();
          EXPECT_EQ(error.is_cancellation(), !throws);
        }
        EXPECT_THAT(text, HasSubstr(throws ? "singular" : kText));
        world.barrier();
        world.wait();
      });
    }
  }
}

// Several of a rank, while the main function is in wait() of the team; with named locks, which they
// have again.
TEST(Cancel, EndsWaitsOfTasksOutsideOfTheTeam) {
  expect_well([](World& world) {
    constexpr int kTasks = 3;
    std::atomic<int> told{0};
    Team team(world, {Rank(0), Rank(1)}, "solver");
    shoal::Events events(team);
    shoal::Events outer(world);
    for (int i = 0; i < kTasks; ++i) {
      world.spawn([&, i] {
        const std::string lock = "lock " + std::to_string(i);
        outer.lock(lock);
        try {
          static_cast<void>(events.wait({{Rank(0), "never"}}));
        } catch (const shoal::TaskError& error) {
          EXPECT_THAT(error.what(), HasSubstr(kText));
          EXPECT_TRUE(error.is_cancellation());
          ++told;
        }
        outer.unlock(lock);
      });
    }
    if (team.rank() == 1) {
      shoal::sleep_for(microseconds(300));
      team.cancel("too large");
    }
    EXPECT_EQ(text_of_wait(team), kText);
    world.wait();
    EXPECT_EQ(told, kTasks);
  });
}

// Whichever comes first, the world ends with its own error, when its tasks have ended, which use
// the stack of the main function.
TEST(Cancel, OfATeamInAFailedWorld_IsTheErrorOfTheWorld) {
  expect_named(
      [](World& world) {
        std::array<int, 20> steps{};
        Team team(world, {Rank(0), Rank(1)}, "solver");
        shoal::Events events(team);
        if (world.rank() == 1) {
          world.spawn([] {
            shoal::sleep_for(microseconds(200));
            throw std::runtime_error("no disk");
          });
        }
        world.spawn([&steps] {
          for (int& step : steps) {
            shoal::sleep_for(microseconds(20));
            ++step;
          }
        });
        if (team.rank() == 1) {
          team.spawn([&team] {
            shoal::sleep_for(microseconds(200));
            team.cancel("too large");
          });
        }
        try {
          static_cast<void>(events.wait({{Rank(0), "never"}}));
        } catch (const shoal::TaskError& error) {
          if (!error.is_cancellation()) throw;
        }
        world.wait();
      },
      {"no disk"});
}

/// Ends the team on rank 1 soon, by an exception or by cancel().
void end_soon(Team& team, bool throws) {
  if (team.rank() != 1) return;
  team.spawn([&team, throws] {
    shoal::sleep_for(microseconds(300));
    if (throws) throw std::runtime_error("singular");
    team.cancel("too large");
  });
}

/// Error of the team that `wait` throws, or "".
std::string text_of_end(bool throws, const std::function<void()>& wait) {
  try {
    wait();
  } catch (const shoal::TaskError& error) {
    EXPECT_EQ(error.is_cancellation(), !throws);
    return error.what();
  }
  return "";
}

using AcquiredLong = shoal::Acquired<long, shoal::flow::Mode::read>;

/// Inserts tasks that take longer than the team lives, and acquires their datum on this rank.
shoal::Future<AcquiredLong> acquire_behind_steps(const Team& team, shoal::Flow& flow) {
  constexpr int kSteps = 200;
  const auto a = flow.data(0L, {.owner = Rank(0)});
  const auto b = flow.data(0L, {.owner = Rank(1)});
  const auto step = [](long& x, const long& y) {
    shoal::sleep_for(microseconds(100));
    x += y + 1;
  };
  for (int i = 0; i < kSteps; ++i) {
    flow.insert(step, shoal::read_write(a), shoal::read(b));
    flow.insert(step, shoal::read_write(b), shoal::read(a));
  }
  auto of_a = flow.acquire_async(shoal::read(a));
  auto of_b = flow.acquire_async(shoal::read(b));
  return team.rank() == 0 ? std::move(of_a) : std::move(of_b);
}

// Its task counts in the world, as the main function does.
TEST(Cancel, EndsFuturesOfAcquireAsync_AlsoThoseThatOutliveTheFlow) {
  for (const bool throws : {false, true}) {
    for (const bool outlives : {false, true}) {
      SCOPED_TRACE(std::string(throws ? "a task throws" : "cancelled") +
                   (outlives ? ", behind the flow" : ""));
      expect_well([throws, outlives](World& world) {
        const std::string reason = throws ? "singular" : kText;
        {
          Team team(world, {Rank(0), Rank(1)}, "solver");
          end_soon(team, throws);
          shoal::Future<AcquiredLong> future;
          const auto first = [&] {
            shoal::Flow flow(team, "steps");
            future = acquire_behind_steps(team, flow);
            if (outlives) flow.wait();
            static_cast<void>(future.get());
          };
          EXPECT_THAT(text_of_end(throws, first), HasSubstr(reason));
          if (outlives) {
            const auto behind = [&] { static_cast<void>(future.get()); };
            EXPECT_THAT(text_of_end(throws, behind), HasSubstr(reason));
          }
          EXPECT_THAT(text_of_end(throws, [&] { team.wait(); }), HasSubstr(reason));
        }
        world.barrier();
        world.wait();
      });
    }
  }
}

TEST(Cancel, EndsTheLastStepsOfAFlow) {
  for (const bool throws : {false, true}) {
    for (const bool pruned : {false, true}) {
      for (const int late : {0, 1}) {
        SCOPED_TRACE(std::string(throws ? "a task throws" : "cancelled") +
                     (pruned ? ", pruned, " : ", ") + std::to_string(late) + " comes late");
        std::atomic<int> told{0};  // else the team has failed before the flow began to end
        expect_well([&](World& world) {
          const std::string reason = throws ? "singular" : kText;
          {
            Team team(world, {Rank(0), Rank(1)}, "solver");
            end_soon(team, throws);
            const std::string text = text_of_end(throws, [&] {
              const shoal::Flow flow(team, "steps", {.pruned = pruned});
              while (team.rank() == late && !team.is_cancelled()) {
                shoal::sleep_for(microseconds(50));
              }
            });
            if (!text.empty()) {
              ++told;
              EXPECT_THAT(text, HasSubstr(reason));
            }
            EXPECT_THAT(text_of_end(throws, [&] { team.wait(); }), HasSubstr(reason));
          }
          world.barrier();
          world.wait();
        });
        EXPECT_GT(told, 0);
      }
    }
  }
}

TEST(Cancel, ReachesGroupsOfTheTeamsTasks) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "solver");
    bool goes_on = false;
    team.spawn([&] {
      shoal::Promise<int> never;
      auto future = never.future();
      shoal::TaskGroup group;
      group.spawn([&] { goes_on = future.get() > 0; });
      group.wait();
    });
    if (team.rank() == 1) team.cancel("too large");
    EXPECT_EQ(text_of_wait(team), kText);
    EXPECT_FALSE(goes_on);
  });
}

TEST(Cancel, MessagesThatArriveLater_AreDiscarded) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "solver");
    std::atomic<int> handled{0};
    const auto am = team.make_am([&](int) { ++handled; });
    if (team.rank() == 1) team.cancel("too large");
    while (!team.is_cancelled()) shoal::yield();
    const int before = handled;
    for (int i = 0; i < 10; ++i) am.send(Rank(1 - team.rank().value()), i);
    EXPECT_EQ(text_of_wait(team), kText);
    EXPECT_EQ(handled, before);
  });
}

TEST(Cancel, OfTheWorld_IsTheErrorOfTheRun) {
  expect_named(
      [](World& world) {
        if (world.rank() == 1) world.cancel("no licence");
        world.wait();
      },
      {"shoal: error: rank 1 has cancelled the world: no licence"});
}

TEST(Cancel, TheSecondOne_DoesNothing) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "solver");
    if (team.rank() == 1) {
      team.cancel("too large");
      team.cancel("too small");
    }
    EXPECT_EQ(text_of_wait(team), kText);
    team.cancel();
  });
}

TEST(Cancel, ATeamThatNobodyWaitsFor_DoesNotFailItsParent) {
  expect_well([](World& world) {
    const Team team(world, {Rank(0), Rank(1)}, "solver");
    const_cast<Team&>(team).cancel();
  });
}

TEST(Deadline, CancelsWhatTakesTooLong) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "solver");
    std::function<void()> again = [&] {
      shoal::sleep_for(microseconds(10));
      team.spawn(again);
    };
    team.spawn(again);
    std::optional<Deadline> deadline;
    if (team.rank() == 1) deadline.emplace(team, microseconds(500), "too large");
    EXPECT_EQ(text_of_wait(team), kText);
  });
}

TEST(Deadline, ThatIsMet_DoesNothing) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "solver");
    {
      const Deadline deadline(team, std::chrono::hours(1));
      team.spawn([] { shoal::sleep_for(microseconds(10)); });
      team.wait();
    }
    for (int i = 0; i < 50; ++i) {  // with one that is due as the team ends
      Team short_lived(team, {Rank(0), Rank(1)}, "short");
      const Deadline deadline(short_lived, microseconds(i));
      short_lived.spawn([] {});
      const std::string text = text_of_wait(short_lived);
      if (!text.empty()) EXPECT_THAT(text, HasSubstr("its deadline has passed"));
    }
  });
}

// --- of a task group

/// Tasks of a group, and of one that nests in it, wait for what never comes.
void expect_deadline_of_group() {
  shoal::Promise<int> never;
  auto future = never.future();
  std::atomic<int> cancelled{0};
  bool goes_on = false;
  shoal::TaskGroup group;
  const Deadline deadline(group, microseconds(300));
  group.spawn([&] {
    shoal::TaskGroup inner;
    inner.spawn([&] {
      try {
        goes_on = future.get() > 0;
      } catch (const shoal::CancelledError&) {
        ++cancelled;
        throw;
      }
    });
    inner.wait();
  });
  std::function<void()> again = [&] {  // begins tasks until they are dropped
    try {
      shoal::sleep_for(microseconds(10));
    } catch (const shoal::CancelledError&) {
      ++cancelled;
    }
    group.spawn(again);
  };
  group.spawn(again);
  group.wait();
  EXPECT_TRUE(group.is_cancelled());
  EXPECT_GE(cancelled, 1);
  EXPECT_FALSE(goes_on);
}

TEST(Deadline, OfATaskGroup_EndsItsTasks) {
  expect_well([](World& world) {
    expect_deadline_of_group();
    world.async([] { expect_deadline_of_group(); }).get();
    world.wait();
    EXPECT_FALSE(world.is_cancelled());
  });
}

// It has arrays of the caller, which waits for its end.
TEST(TaskGroup, Cancelled_LetsACollectiveOperationEnd) {
  expect_well([](World& world) {
    std::vector<int> sums(1000, 1);
    if (world.rank() != Rank(0)) shoal::sleep_for(microseconds(300));
    auto done = world.allreduce_async(std::span<int>(sums), std::plus<>());
    bool goes_on = false;
    shoal::TaskGroup group;
    group.spawn([&] {
      group.cancel();
      done.get();
      goes_on = true;
    });
    group.wait();
    EXPECT_TRUE(goes_on);
    EXPECT_EQ(sums[999], world.size());
    world.wait();
  });
}

TEST(Deadline, OfATaskGroupInARuntime_EndsItsTasks_AndSoDoesAThreadOfTheProgram) {
  shoal::Runtime runtime({.ranks = 2, .workers = 2});
  runtime.async([] { expect_deadline_of_group(); }).get();
  std::stop_source button;
  std::atomic<bool> waits{false};
  auto job = runtime.async(Rank(1), [&waits, token = button.get_token()] {
    shoal::Promise<int> never;
    auto future = never.future();
    shoal::TaskGroup group("job");
    const std::stop_callback on_stop(token, [&group] { group.cancel(); });
    group.spawn([&] {
      waits = true;
      static_cast<void>(future.get());
    });
    group.wait();
    return group.is_cancelled();
  });
  while (!waits) std::this_thread::yield();
  EXPECT_EQ(job.wait_for(std::chrono::milliseconds(1)), shoal::FutureStatus::timeout);
  button.request_stop();
  EXPECT_TRUE(job.get());
  EXPECT_EQ(runtime.async([] { return 3; }).get(), 3);
}

}  // namespace runtime_cancel_test

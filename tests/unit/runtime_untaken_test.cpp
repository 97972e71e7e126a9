// Futures that are dropped with an error that nobody has taken.

#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>
#include <shoal/task_group.hpp>

#include "support/failed_runs.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runtime_untaken_test {

using shoal::Future;
using shoal::Promise;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::expect_named;
using shoal::testing::expect_well;
using shoal::testing::Program;
using shoal::testing::run_world;
using shoal::testing::said_by;

[[noreturn]] void fail() { throw std::runtime_error("bad apple"); }
[[noreturn]] int fail_there(int /*n*/) { fail(); }
void fail_in_section(Team& team) {
  if (team.rank() == 1) fail();
}

class Basket : public shoal::DistributedObject<Basket> {
 public:
  explicit Basket(Team& team) : DistributedObject(team) {}
  void pick() { fail(); }
  void nothing() {}
};

class Rotten : public shoal::DistributedObject<Rotten> {
 public:
  explicit Rotten(Team& team) : DistributedObject(team) {
    if (team.rank() == 1) fail();
  }
};

Future<void> picks(World& world) { co_await world.async(fail); }

/// On rank 1, then wait() on both.
Program on_rank_1(std::function<void(World&)> drop) {
  return [drop = std::move(drop)](World& world) {
    if (world.rank() == 1) drop(world);
    world.wait();
  };
}

void expect_reported(const std::function<void(World&)>& drop, const std::string& name) {
  expect_named(on_rank_1(drop), {"rank 1: " + name + " failed: ",
                                 "bad apple; nobody has taken this error from its future"});
}

TEST(Untaken, OfATask_FailsTheWorldByItsName) {
  expect_reported([](World& world) { const auto dropped = world.async(fail, {.name = "pick"}); },
                  "pick");
  expect_reported([](World& world) { const auto dropped = world.async(fail); }, "task");
}

TEST(Untaken, AfterItsErrorWasThere_FailsTheWorld) {
  expect_reported(
      [](World& world) {
        const auto dropped = world.async(fail, {.name = "pick"});
        dropped.wait();
        EXPECT_TRUE(dropped.is_ready());
      },
      "pick");
}

TEST(Untaken, OfAPromise_FailsTheWorld) {
  expect_reported(
      [](World& world) {
        Promise<int> promise(world, "the pivot");
        const auto dropped = promise.future();
        promise.set_exception(std::make_exception_ptr(std::runtime_error("bad apple")));
      },
      "the pivot");
}

TEST(Untaken, OfACallOnAnotherRank_FailsTheWorld) {
  expect_reported(
      [](World& world) { const auto dropped = world.call(Rank(0), shoal::am<fail_there>, 1); },
      "a call");
}

TEST(Untaken, OfATeamThatWasLaunched_FailsItsParent) {
  expect_reported(
      [](World& world) {
        const auto dropped = world.launch_team({Rank(0), Rank(1)}, shoal::am<fail_in_section>);
      },
      "the end of a team");
}

TEST(Untaken, OfAConstructor_FailsTheTeam) {
  expect_reported(
      [](World& world) {
        const auto dropped = shoal::construct<Rotten>(world, {Rank(0), Rank(1)});
      },
      "construct()");
}

TEST(Untaken, OfAMethod_FailsTheTeam) {
  expect_named(
      [](World& world) {
        Basket basket(world);
        if (world.rank() == 1) const auto dropped = basket.call<&Basket::pick>(Rank(0));
        basket.fence();
      },
      {"rank 1: a call failed: runtime_untaken_test::Basket::pick of object 1 ",
       "failed on rank 0, called by rank 1: bad apple; nobody has taken"});
}

TEST(Untaken, BehindAContinuation_FailsTheWorldOnce) {
  expect_reported([](World& world) { const auto dropped = world.async(fail).then([] {}, "peel"); },
                  "peel");
  expect_reported(
      [](World& world) {
        std::vector<Future<void>> all;
        for (int i = 0; i < 3; ++i) all.push_back(world.async(fail));
        const auto kept = when_all(std::move(all));
        kept.wait();
      },
      "when_all()");
  expect_reported(  // dropped before, it leaves the errors to its parts
      [](World& world) {
        std::vector<Future<void>> all;
        all.push_back(world.async(fail, {.name = "apple"}));
        Promise<void> later;
        all.push_back(later.future());
        { const auto dropped = when_all(std::move(all)); }
        later.set_value();
      },
      "apple");
  expect_reported([](World& world) { const auto dropped = picks(world); }, "a coroutine");
}

TEST(Untaken, OfASharedFuture_FailsTheWorld) {
  expect_reported(
      [](World& world) {
        const shoal::SharedFuture<void> first(world.async(fail, {.name = "pick"}));
        const shoal::SharedFuture<void> second(
            first);  // NOLINT(performance-unnecessary-copy-initialization)
      },
      "pick");
}

TEST(Untaken, OfATaskOfATeam_FailsThatTeam) {
  expect_named(
      [](World& world) {
        Team team(world, {Rank(0), Rank(1)}, "pair");
        std::atomic<bool> is_dropped = false;  // before the task fails, whose team it is then
        if (team.rank() == 1) {
          const auto dropped = team.async(
              [&is_dropped] {
                while (!is_dropped) shoal::yield();
                fail();
              },
              {.name = "pick"});
        }
        is_dropped = true;
        EXPECT_THROW(team.wait(), shoal::TaskError);
        world.wait();
        throw std::runtime_error("the world goes on");
      },
      {"the main function failed: the world goes on"});
}

TEST(Untaken, OfAnInnerTeamsWait_IsNotLost) {
  expect_reported(
      [](World& world) {
        const auto dropped = world.async(
            [&world] {
              Team team(world, {Rank(1)}, "alone");
              team.spawn(fail);
              team.wait();
            },
            {.name = "inner"});
      },
      "inner");
}

TEST(Untaken, OfAFutureThatOutlivesTheRun_FailsTheRun) {
  std::optional<Future<void>> kept;
  const auto said = said_by([&] {
    return run_world(1, 1, [&](World& world) {
      kept = world.async(fail, {.name = "pick"});
      kept->wait();
    });
  });
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.text, ::testing::HasSubstr("pick failed: bad apple; nobody has taken"));
  const auto later = said_by([&] {
    kept.reset();
    return 0;
  });
  EXPECT_EQ(later.text, "");
}

// --- errors that somebody has taken, or that nobody has to take

template <class Error, class F>
bool throws(F f) {
  try {
    f();
  } catch (const Error&) {
    return true;
  }
  return false;
}

TEST(Taken, ByAnyWay_IsNoError) {
  expect_well([](World& world) {
    using Bad = std::runtime_error;
    EXPECT_TRUE(throws<Bad>([&] { world.async(fail).get(); }));
    Future<void> kept = world.async(fail);
    EXPECT_TRUE(throws<Bad>([&] { kept.get(); }));
    EXPECT_TRUE(throws<Bad>([&] { world.async(fail).then([] {}).get(); }));
    EXPECT_TRUE(throws<Bad>([&] { picks(world).get(); }));
    const shoal::SharedFuture<void> first(world.async(fail));
    const shoal::SharedFuture<void> second(
        first);  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_TRUE(throws<Bad>([&] { second.get(); }));
    std::vector<Future<void>> all;
    for (int i = 0; i < 3; ++i) all.push_back(world.async(fail));
    EXPECT_TRUE(throws<Bad>([&] { when_all(std::move(all)).get(); }));
    world.wait();
  });
}

TEST(Taken, TheFirstOfAllRanks_StandsForTheOthers) {
  expect_well([](World& world) {
    Basket basket(world);
    if (world.rank() == 0) {
      auto all = basket.call<&Basket::pick>(shoal::all_ranks);
      EXPECT_TRUE(throws<shoal::RemoteError>([&] { all.get(); }));
      EXPECT_TRUE(
          throws<shoal::RemoteError>([&] { basket.sync<&Basket::pick>(shoal::all_ranks); }));
    }
    basket.fence();
  });
}

TEST(Taken, WhileAnotherExceptionUnwinds_IsLeftToThat) {
  expect_well([](World& world) {
    for (const bool waits : {false, true}) {
      const bool caught = throws<int>([&] {
        const auto first = world.async(fail);
        const auto second = world.async([waits] {
          if (!waits) shoal::yield();
          fail();
        });
        if (waits) second.wait();
        throw 1;  // NOLINT(hicpp-exception-baseclass): any will do
      });
      EXPECT_TRUE(caught);
    }
    world.wait();
  });
}

TEST(Taken, BrokenPromisesAndCancelledTasks_NeedNotBe) {
  expect_well([](World& world) {
    {
      Promise<int> never(world);
      const auto dropped = never.future();
    }
    {
      std::optional<Promise<int>> never(std::in_place, world);
      const auto dropped = never->future();
      never.reset();
    }
    world.wait();
  });
}

TEST(Taken, OfATeamThatHasFailed_NeedNotBe) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "pair");
    std::vector<Future<void>> futures;
    std::vector<Future<int>> results;
    Promise<int> never(world);
    const auto reply = team.publish(std::move(never));
    static_cast<void>(reply);
    team.spawn(fail);
    for (int i = 0; i < 10; ++i) {
      futures.push_back(team.async([] { shoal::yield(); }));
      results.push_back(team.call(
          Rank(0), [](int n) { return n; }, i));
    }
    EXPECT_TRUE(throws<shoal::TaskError>([&] { team.wait(); }));
    futures.clear();
    results.clear();
    world.wait();
  });
}

}  // namespace runtime_untaken_test

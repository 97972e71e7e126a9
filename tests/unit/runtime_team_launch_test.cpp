// Teams that one rank makes: their sections, ends and failures, handles and shared ownership.
// Simulated, in many orders.

#include <shoal/shoal.hpp>

#include "support/many_worlds.hpp"
#include "support/refusal.hpp"
#include "team/team_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runtime_team_launch_test {

using shoal::Rank;
using shoal::RankSet;
using shoal::Team;
using shoal::TeamHandle;
using shoal::World;
using shoal::testing::in_many_worlds;
using shoal::testing::refusal_of;
using shoal::testing::run_turns;
using shoal::testing::TurnResult;
using testing::AllOf;
using testing::HasSubstr;

// Functions have no captures: what they saw stands in globals, one for
// each simulated world.

struct Seen {
  std::vector<std::pair<int, int>> members;  // rank in the world, rank in the team
  std::int64_t sum = 0;
};
Seen& seen() {
  static Seen all;
  return all;
}

void note_member(Team& team, int value) {
  seen().members.emplace_back(team.world_rank(team.rank()).value(), team.rank().value());
  seen().sum += team.allreduce(value, std::plus<>());
}

TEST(Team, Launch_RunsOnItsMembers_WhichItsCallerNeedNotBe) {
  const std::vector<RankSet> sets{
      {Rank(4), Rank(0), Rank(3)},
      {Rank(0), Rank(1), Rank(4), Rank(2)},
      RankSet::range(Rank(4), 3, -2),
      RankSet::where(5, [](Rank rank) { return rank > 0; }),
      {Rank(2)},
      RankSet::range(Rank(0), 5),
  };
  for (const RankSet& set : sets) {
    in_many_worlds(5, [&](World& world) {
      if (world.rank() == 0) seen() = {};
      world.barrier();
      if (world.rank() == 1) world.launch_team(set, shoal::am<note_member>, 7).get();
      world.wait();
      std::vector<std::pair<int, int>> expected;
      for (int i = 0; i < set.size(); ++i) expected.emplace_back(set[i].value(), i);
      EXPECT_THAT(seen().members, testing::UnorderedElementsAreArray(expected));
      EXPECT_EQ(seen().sum, 7 * set.size() * set.size());
      EXPECT_EQ(world.core().state().teams.size(), 0U);
    });
  }
}

// The future waits for all that the team does, also after the sections.
TEST(Team, Launch_EndsWhenTheTeamsWorkHas) {
  in_many_worlds(4, [](World& world) {
    if (world.rank() == 0) seen() = {};
    world.barrier();
    if (world.rank() == 3) {
      auto ended = world.launch_team(
          RankSet::range(Rank(0), 4),
          [](Team& team, int hops) {
            team.send(
                Rank((team.rank() + 1) % team.size()),
                [](Team& team, int left) {
                  ++seen().sum;
                  team.spawn([&team, left] {
                    if (left == 0) return;
                    team.send(
                        Rank(left % team.size()),
                        [](Team& team, int left) { team.spawn([left] { seen().sum += left; }); },
                        left);
                  });
                },
                hops);
          },
          5);
      ended.get();
      EXPECT_EQ(seen().sum, 4 + 4 * 5);
    }
    world.wait();
  });
}

void launch_further(Team& team, int depth) {
  ++seen().sum;
  if (depth == 0 || team.rank() != team.size() - 1) return;
  const RankSet fewer = RankSet::range(Rank(0), std::max(1, team.size() - 1));
  team.launch_team(fewer, shoal::am<launch_further>, depth - 1).get();
}

TEST(Team, Launch_Nests) {
  in_many_worlds(4, [](World& world) {
    if (world.rank() == 0) seen() = {};
    world.barrier();
    if (world.rank() == 0) {
      world.launch_team(RankSet::range(Rank(0), 4), shoal::am<launch_further>, 5).get();
      EXPECT_EQ(seen().sum, 4 + 3 + 2 + 1 + 1 + 1);
    }
    world.wait();
  });
}

void throw_on_one(Team& team, int who) {
  if (team.rank() == who) throw std::runtime_error("planned");
  team.barrier();  // which that one never calls
}

TEST(Team, LaunchThatFails_TellsTheFuture_AndTheWorldGoesOn) {
  in_many_worlds(5, [](World& world) {
    if (world.rank() == 2) {
      for (int who = 0; who < 3; ++who) {
        auto ended = world.launch_team({Rank(1), Rank(3), Rank(4)}, shoal::am<throw_on_one>, who);
        try {
          ended.get();
          ADD_FAILURE();
        } catch (const shoal::RemoteError& error) {
          EXPECT_THAT(error.what(), HasSubstr("planned"));
        }
      }
    }
    world.wait();
    EXPECT_EQ(world.allreduce(1, std::plus<>()), 5);
    EXPECT_EQ(world.core().state().teams.size(), 0U);
  });
}

template <class T>
std::string failure_of(shoal::Future<T> future) {
  try {
    static_cast<void>(future.get());
  } catch (const shoal::TaskError& error) {
    return error.what();
  }
  return "a value";
}

// A main function is no task of the team, so nothing cancels it: its futures get the failure.
TEST(Team, ThatFails_GivesTheFailureToItsFutures) {
  in_many_worlds(4, [](World& world) {
    const auto until_it_fails = [](Team& team) {
      while (!team.core().failed()) shoal::sleep_for(std::chrono::microseconds(10));
    };
    try {
      Team team = world.split(0, 0);
      if (team.rank() == 3) {
        team.spawn([] {
          shoal::sleep_for(std::chrono::microseconds(100));
          throw std::runtime_error("planned");
        });
        EXPECT_THAT(failure_of(team.call(Rank(0), until_it_fails)), HasSubstr("planned"));
        EXPECT_THAT(failure_of(team.call(Rank(1), until_it_fails)), HasSubstr("planned"));
      } else {
        EXPECT_THAT(failure_of(team.barrier_async()), HasSubstr("planned"));
        EXPECT_THAT(failure_of(team.launch_team({Rank(0), Rank(3)}, until_it_fails)),
                    HasSubstr("planned"));
      }
      team.wait();
      ADD_FAILURE();
    } catch (const shoal::TaskError& error) {
      EXPECT_THAT(error.what(), HasSubstr("planned"));
    }
    world.wait();
    EXPECT_EQ(world.allreduce(1, std::plus<>()), 4);
  });
}

// The promise is given up already: fulfilling it later has no effect.
TEST(Team, APromiseOfATeamThatFailed_MayBeFulfilledLater) {
  in_many_worlds(2, [](World& world) {
    shoal::RemotePromise<int> remote;
    try {
      Team team = world.split(0, 0);
      shoal::Promise<int> promise(world, "an answer");
      auto future = promise.future();
      remote = team.publish(std::move(promise));
      if (team.rank() == 0) team.spawn([] { throw std::runtime_error("planned"); });
      EXPECT_THAT(failure_of(std::move(future)), HasSubstr("planned"));
      team.wait();
    } catch (const shoal::TaskError&) {
    }
    world.fulfill(remote, 7);
    world.wait();
  });
}

// Sections stand in operations, run, or have not begun; the world ends all the same.
TEST(Team, LaunchInAWorldThatFails_Ends) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TurnResult result = run_turns({.seed = seed, .ranks = 4, .workers = 2}, [](World& world) {
      if (world.rank() == 0) {
        const auto dropped = world.launch_team({Rank(3), Rank(1), Rank(2)}, [](Team& team) {
          if (team.rank() != 1) team.barrier();
          team.spawn([&team] { team.send(Rank(0), [](Team&) {}); });
          team.wait();
        });
        world.spawn([] { throw std::runtime_error("the world fails"); });
      }
      world.wait();
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_NE(error, nullptr) << seed;
      EXPECT_THAT(shoal::describe(error), HasSubstr("the world fails")) << seed;
    }
  }
}

TEST(Team, LaunchOnBadRanks_IsRefused) {
  in_many_worlds(3, [](World& world) {
    if (world.rank() == 0) {
      const auto none = [](Team&) {};
      const auto refused = [&](const RankSet& ranks) {
        return refusal_of([&] { const auto dropped = world.launch_team(ranks, none); });
      };
      EXPECT_THAT(refused({Rank(3)}), HasSubstr("rank 3 of a team is out of range"));
      EXPECT_THAT(refused(RankSet::range(Rank(2), 2)), HasSubstr("rank 3 of a team"));
      EXPECT_THAT(refused({Rank(1), Rank(2), Rank(1)}), HasSubstr("rank 1 is twice"));
      EXPECT_THAT(refused({}), HasSubstr("no ranks"));
    }
    world.wait();
  });
}

TEST(Team, ThatWasLaunchedAndIsStuck_IsNamed) {
  const TurnResult result = run_turns({.seed = 1, .ranks = 3, .workers = 1}, [](World& world) {
    if (world.rank() == 0) {
      const auto dropped = world.launch_team({Rank(1), Rank(2)}, [](Team& team) {
        if (team.rank() == 0) team.barrier();
      });
    }
    world.wait();
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(shoal::describe(error),
                AllOf(HasSubstr("nothing runs any more"), HasSubstr("team '1 of rank 0'"),
                      HasSubstr("barrier()")));
  }
}

// --- handles, and teams that last as long as something on them

/// An object on each member, found by the handle of its team.
struct LocalObject {
  std::shared_ptr<Team> team;
  int value = 0;
};
std::map<int, std::map<std::uint64_t, LocalObject>>& objects() {
  static std::map<int, std::map<std::uint64_t, LocalObject>> all;  // by rank of the world
  return all;
}

void construct(Team& team, const shoal::RemotePromise<TeamHandle>& made, int value) {
  const int here = team.world_rank(team.rank()).value();
  objects()[here][team.handle().id] = {team.share(), value + here};
  team.barrier();
  if (team.rank() == 0) team.fulfill(made, team.handle());
}

void add_value(World& world, const TeamHandle& handle, const shoal::RemotePromise<int>& reply) {
  Team* const team = world.find(handle);
  const LocalObject& kept = objects()[world.rank().value()][handle.id];
  EXPECT_EQ(team, kept.team.get());
  EXPECT_EQ(team->size(), handle.size);
  world.fulfill(reply, kept.value);
}

// A distributed object in miniature: made by one rank, used by another, destroyed by a third.
TEST(Team, Shared_LastsLongerThanItsSection) {
  in_many_worlds(4, [](World& world) {
    TeamHandle handle;
    shoal::Future<void> ended;
    if (world.rank() == 0) {
      objects().clear();
      shoal::Promise<TeamHandle> promise(world, "the object");
      auto made = promise.future();
      ended = world.launch_team({Rank(3), Rank(1)}, shoal::am<construct>,
                                world.publish(std::move(promise)), 10);
      handle = made.get();
      EXPECT_EQ(handle.first, 3);
      EXPECT_EQ(handle.size, 2);
      EXPECT_EQ(world.find(handle), nullptr);  // no member
    }
    world.wait();  // completes while the object lasts
    handle = world.broadcast(handle, Rank(0));
    if (world.rank() == 2) {
      shoal::Promise<int> promise(world, "a value");
      auto value = promise.future();
      world.send(Rank(3), shoal::am<add_value>, handle, world.publish(std::move(promise)));
      EXPECT_EQ(value.get(), 13);
    }
    world.wait();
    if (world.rank() == 0) {
      EXPECT_FALSE(ended.is_ready());
    }
    objects()[world.rank().value()].clear();
    if (world.rank() == 0) ended.get();
    world.wait();
    EXPECT_EQ(world.find(handle), nullptr);
    EXPECT_EQ(world.core().state().teams.size(), 0U);
  });
}

// The team around it ends later.
TEST(Team, Shared_KeepsItsParent) {
  in_many_worlds(3, [](World& world) {
    if (world.rank() == 0) objects().clear();
    world.barrier();
    Team outer(world, {Rank(2), Rank(0)}, "outer");
    if (outer.rank() == 0) {
      shoal::Promise<TeamHandle> promise(outer, "the object");
      auto made = promise.future();
      const auto dropped = outer.launch_team({Rank(1), Rank(0)}, shoal::am<construct>,
                                             outer.publish(std::move(promise)), 0);
      static_cast<void>(made.get());
    }
    if (outer.is_member()) {
      outer.wait();
      world.spawn([&world] {
        shoal::sleep_for(std::chrono::microseconds(50));
        EXPECT_FALSE(objects()[world.rank().value()].empty());
        objects()[world.rank().value()].clear();
      });
    }
  });
}

TEST(Team, Shared_ForEver_IsNamedAtTheEnd) {
  const TurnResult result = run_turns({.seed = 3, .ranks = 2, .workers = 1}, [](World& world) {
    if (world.rank() == 0) {
      objects().clear();
      shoal::Promise<TeamHandle> promise(world, "the object");
      auto made = promise.future();
      const auto dropped = world.launch_team({Rank(0), Rank(1)}, shoal::am<construct>,
                                             world.publish(std::move(promise)), 0);
      static_cast<void>(made.get());
    }
    return 0;
  });
  objects().clear();
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(shoal::describe(error),
                AllOf(HasSubstr("nothing runs any more"),
                      HasSubstr("release the pointer that Team::share() returned")));
  }
}

}  // namespace runtime_team_launch_test

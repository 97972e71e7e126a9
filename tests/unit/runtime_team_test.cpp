// Teams: their ranks, their completion, failures and collective operations. Simulated, in many
// orders; tests/property/runtime_team_world_test.cpp has random programs.

#include <shoal/shoal.hpp>

#include "support/refusal.hpp"
#include "support/run_world.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using shoal::Rank;
using shoal::RankSet;
using shoal::TaskGraph;
using shoal::Team;
using shoal::World;
using shoal::testing::refusal_of;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::TurnResult;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 40;

/// Runs `program` on so many ranks with many seeds; each rank must end well.
template <class F>
void in_many_worlds(int ranks, F program) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TurnResult result =
        run_turns({.seed = seed, .ranks = ranks, .workers = 1 + static_cast<int>(seed % 2)},
                  [&](World& world) {
                    program(world);
                    return 0;
                  });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
  }
}

TEST(Team, OfAList_HasItsOwnRanksInThatOrder) {
  in_many_worlds(5, [](World& world) {
    const Team team(world, {Rank(4), Rank(0), Rank(3)}, "some");
    EXPECT_EQ(team.size(), 3);
    EXPECT_EQ(team.is_member(), world.rank() == 0 || world.rank() >= 3);
    if (!team.is_member()) {
      EXPECT_EQ(team.rank(), -1);
      return;
    }
    EXPECT_EQ(team.rank(), world.rank() == 4 ? 0 : world.rank() == 0 ? 1 : 2);
    EXPECT_EQ(team.world_rank(Rank(2)), 3);
    EXPECT_EQ(team.rank_of(Rank(0)), 1);
    EXPECT_EQ(team.rank_of(Rank(1)), -1);
  });
}

TEST(Team, OfFunctions_HasTheirRanks) {
  in_many_worlds(6, [](World& world) {
    Team even(
        world, 3, [](int i) { return 2 * i; }, [](int r) { return r % 2 == 0 ? r / 2 : -1; });
    EXPECT_EQ(even.is_member(), world.rank() % 2 == 0);
    if (even.is_member()) {
      EXPECT_THAT(even.allgather(world.rank().value()), ElementsAre(0, 2, 4));
    }
  });
}

TEST(Team, Split_OrdersByKeyAndLeavesOutNegativeColours) {
  in_many_worlds(5, [](World& world) {
    const int rank = world.rank();
    Team team = world.split(rank == 2 ? -1 : rank % 2, -rank);
    EXPECT_EQ(team.is_member(), rank != 2);
    if (rank % 2 == 1) {
      EXPECT_THAT(team.allgather(rank), ElementsAre(3, 1));
    }
    if (rank == 0 || rank == 4) {
      EXPECT_THAT(team.allgather(rank), ElementsAre(4, 0));
    }
  });
}

TEST(Team, Wait_ReturnsWhenItsWorkIsDone_WhileOthersGoOn) {
  in_many_worlds(4, [](World& world) {
    bool stop = false;
    std::function<void()> spin;
    spin = [&] {
      if (!stop) world.spawn(spin);
    };
    Team team = world.split(world.rank() / 2);
    int handled = 0;
    std::unique_ptr<shoal::ActiveMessage<int>> hop;
    hop = std::make_unique<shoal::ActiveMessage<int>>(team.make_am([&](int left) {
      ++handled;
      if (left > 0) hop->send(Rank(1 - team.rank().value()), left - 1);
    }));
    world.spawn(spin);  // the world has work until both teams have waited
    for (int round = 1; round <= 3; ++round) {
      if (team.rank() == 0) hop->send(Rank(1), 9);
      team.wait();
      EXPECT_EQ(handled, 5 * round);
      team.barrier();
    }
    stop = true;
    world.wait();
  });
}

TEST(Team, MessagesThatComeBeforeTheTeam_Wait) {
  in_many_worlds(2, [](World& world) {
    int got = 0;
    world.barrier();
    if (world.rank() == 1) shoal::sleep_for(std::chrono::milliseconds(5));
    Team team(world, {Rank(1), Rank(0)});
    const auto add = team.make_am([&](int value) { got += value; });
    if (world.rank() == 0) {
      for (int i = 0; i < 100; ++i) add.send(Rank(0), i);
    }
    team.wait();
    EXPECT_EQ(got, world.rank() == 1 ? 4950 : 0);
  });
}

void add_to(Team& team, int value, const shoal::RemotePromise<int>& reply) {
  team.fulfill(reply, 10 * team.rank() + value);
}

int rank_in(Team& team) { return team.rank(); }
int rank_in_world(World& world) { return world.rank(); }

TEST(Team, Handlers_AreGivenTheTeam_AndCallsReturn) {
  in_many_worlds(4, [](World& world) {
    Team team(world, {Rank(3), Rank(2), Rank(1), Rank(0)});
    shoal::Promise<int> promise(team);
    shoal::Future<int> sum = promise.future();
    team.send(shoal::am<add_to>, Rank(1), 5, team.publish(std::move(promise)));
    EXPECT_EQ(sum.get(), 15);
    EXPECT_EQ(team.call(Rank(2), shoal::am<rank_in>).get(), 2);
    EXPECT_EQ(team.call(Rank(2), shoal::am<rank_in_world>).get(), 1);
    team.wait();
  });
}

TEST(Team, GraphsAndEvents_CountInIt) {
  in_many_worlds(4, [](World& world) {
    Team team = world.split(world.rank() % 2, 0, "half");
    std::vector<int> ran;
    TaskGraph<int> graph(team, "chain");
    const auto next = team.make_am([&](int k) { graph.fulfill(k); });
    graph.set_indegree([](int) { return 1; })
        .set_mapping([](int) { return 0; })
        .set_task([&](int k) {
          ran.push_back(k);
          if (k < 7) next.send(Rank((k + 1) % 2), k + 1);
        });
    shoal::Events events(team, "results");
    int got = 0;
    events.submit({{shoal::EventPeer(Rank(1 - team.rank())), "end"}},
                  [&](shoal::EventList& list) { got = list[0].get<int>(); });
    if (team.rank() == 0) graph.fulfill(0);
    events.fire(shoal::EventPeer(Rank(1 - team.rank())), "end", team.rank().value());
    team.wait();
    EXPECT_EQ(ran.size(), 4U);
    EXPECT_EQ(got, 1 - team.rank());
  });
}

TEST(Team, Nested_CountsInItsParents) {
  in_many_worlds(8, [](World& world) {
    int ran = 0;
    {
      Team half = world.split(world.rank() / 4, 0, "half");
      Team quarter = half.split(half.rank() / 2, 0, "quarter");
      const auto work = quarter.make_am([&](int left) {
        for (int i = 0; i < left; ++i) {
          quarter.spawn([&] { ++ran; });
        }
      });
      work.send(Rank(1 - quarter.rank()), 5);
      quarter.wait();
      EXPECT_EQ(ran, 5);
      EXPECT_EQ(quarter.allreduce(1, std::plus<>()), 2);
      EXPECT_EQ(half.allreduce(1, std::plus<>()), 4);
    }
    world.wait();
  });
}

TEST(Team, SectionsOnTasks_MakeTeamsAndWaitForThem) {
  in_many_worlds(4, [](World& world) {
    int sum = 0;
    auto section = world.async([&] {
      Team team(world, {Rank(0), Rank(1), Rank(2), Rank(3)}, "of tasks");
      const auto add = team.make_am([&](int value) { sum += value; });
      for (int i = 0; i < 4; ++i) add.send(Rank(i), team.rank() + 1);
      team.wait();
      EXPECT_EQ(sum, 10);
      sum = team.allreduce(sum, std::plus<>());
    });
    section.get();
    EXPECT_EQ(sum, 40);
  });
}

TEST(Team, AFailure_IsThrownWhereItsMembersWait_AndTheWorldGoesOn) {
  in_many_worlds(4, [](World& world) {
    std::string text;
    {
      Team team = world.split(world.rank() / 2, 0, "half");
      if (world.rank() == 1) team.spawn([] { throw std::runtime_error("a broken tile"); });
      try {
        team.wait();
      } catch (const shoal::TaskError& error) {
        text = error.what();
      }
    }
    if (world.rank() < 2) {
      EXPECT_THAT(text, AllOf(HasSubstr("rank 1"), HasSubstr("a broken tile")));
    } else {
      EXPECT_EQ(text, "");
    }
    int ran = 0;
    world.spawn([&] { ++ran; });
    world.wait();
    EXPECT_EQ(ran, 1);
  });
}

TEST(Team, AFailureThatNobodyWaitsFor_FailsItsParent) {
  const TurnResult result = run_turns({.seed = 3, .ranks = 2, .workers = 1}, [](World& world) {
    {
      Team team(world, {Rank(0), Rank(1)}, "pair");
      if (world.rank() == 1) team.spawn([] { throw std::runtime_error("lost"); });
    }
    world.wait();
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(shoal::describe(error), AllOf(HasSubstr("team 'pair'"), HasSubstr("lost")));
  }
}

TEST(Team, AFailureOfItsParent_EndsIt) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TurnResult result = run_turns({.seed = seed, .ranks = 3, .workers = 1}, [](World& world) {
      if (world.rank() == 2) throw std::runtime_error("no data");
      Team team(world, {Rank(0), Rank(1), Rank(2)}, "all");
      const auto ping = team.make_am([](int) {});
      ping.send(Rank(2), 1);  // where the team never comes to be
      team.wait();
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_NE(error, nullptr) << seed;
      EXPECT_THAT(shoal::describe(error), HasSubstr("no data")) << seed;
    }
  }
}

TEST(Team, ThatIsStuck_IsNamedByTheWorld) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TurnResult result = run_turns({.seed = seed, .ranks = 3, .workers = 1}, [](World& world) {
      Team team = world.split(world.rank() / 2, 0, "half");
      TaskGraph<int> graph(team, "needs two");
      graph.set_indegree([](int) { return 2; })
          .set_mapping([](int) { return 0; })
          .set_task([](int) {});
      if (world.rank() == 1) graph.fulfill(7);
      team.wait();
      return 0;
    });
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ASSERT_NE(result.errors[rank], nullptr) << seed;
      EXPECT_THAT(shoal::describe(result.errors[rank]),
                  AllOf(HasSubstr("rank 1: team 'half': "), HasSubstr("needs two[7]")))
          << seed;
    }
  }
}

TEST(Team, WaitThatNotAllMembersCall_IsFound) {
  const TurnResult result = run_turns({.seed = 1, .ranks = 2, .workers = 1}, [](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "pair");
    if (world.rank() == 0) team.wait();
    if (world.rank() == 1) world.wait();
    return 0;
  });
  ASSERT_NE(result.errors[0], nullptr);
  EXPECT_THAT(shoal::describe(result.errors[0]), HasSubstr("wait() of team 'pair'"));
}

TEST(Team, BadRanks_AreRefused) {
  in_many_worlds(2, [](World& world) {
    EXPECT_THAT(refusal_of([&] {
                  const Team team(world, {Rank(0), Rank(2)});
                }),
                HasSubstr("rank 2 of a team is out of range"));
    EXPECT_THAT(refusal_of([&] {
                  const Team team(world, {Rank(1), Rank(1)});
                }),
                HasSubstr("rank 1 is twice"));
    EXPECT_THAT(refusal_of([&] { const Team team(world, std::vector<Rank>()); }),
                HasSubstr("has no ranks"));
    Team team(world, {Rank(1), Rank(0)}, "pair");
    EXPECT_THAT(refusal_of([&] { team.send(shoal::am<rank_in>, Rank(2)); }),
                HasSubstr("rank 2 is out of range: the team has ranks 0 to 1"));
  });
}

TEST(Team, ManyShortOnes_LeaveNothing) {
  const TurnResult result = run_turns({.seed = 5, .ranks = 3, .workers = 1}, [](World& world) {
    for (int i = 0; i < 1000; ++i) {
      Team team = world.split((world.rank() + i) % 2);
      int got = 0;
      const auto add = team.make_am([&](int value) { got += value; });
      for (int r = 0; r < team.size(); ++r) add.send(Rank(r), 1);
      team.wait();
      EXPECT_EQ(got, team.size());
    }
    world.wait();
    EXPECT_EQ(world.scope().nested_count(), 0);
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) EXPECT_EQ(error, nullptr);
}

// --- teams made by one rank. Functions have no captures: what they saw stands in globals, one for
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
      EXPECT_EQ(world.scope().nested_count(), 0);
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
                [](Team& team, int left) {
                  ++seen().sum;
                  team.spawn([&team, left] {
                    if (left == 0) return;
                    team.send(
                        [](Team& team, int left) { team.spawn([left] { seen().sum += left; }); },
                        Rank(left % team.size()), left);
                  });
                },
                Rank((team.rank() + 1) % team.size()), hops);
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
    EXPECT_EQ(world.scope().nested_count(), 0);
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
      while (!team.scope().failed()) shoal::sleep_for(std::chrono::microseconds(10));
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

// Given up already: whoever fulfils it later is not told.
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
        static_cast<void>(world.launch_team({Rank(3), Rank(1), Rank(2)}, [](Team& team) {
          if (team.rank() != 1) team.barrier();
          team.spawn([&team] { team.send([](Team&) {}, Rank(0)); });
          team.wait();
        }));
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
        return refusal_of([&] { static_cast<void>(world.launch_team(ranks, none)); });
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
      static_cast<void>(world.launch_team({Rank(1), Rank(2)}, [](Team& team) {
        if (team.rank() == 0) team.barrier();
      }));
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

// In a task of each member, while other teams of the same ranks have operations of their own.
TEST(Team, CollectivesOfTasks_GoOnBesideThoseOfOtherTeams) {
  in_many_worlds(5, [](World& world) {
    Team odd = world.split(world.rank().value() % 2);
    Team all(world, {Rank(4), Rank(3), Rank(2), Rank(1), Rank(0)});
    auto of_all = all.scan_async(1, std::plus<>());
    std::vector<int> values(20'000, odd.rank() == 0 ? 7 : 0);
    odd.spawn([&] {
      auto placed = odd.broadcast_async(std::span(values), Rank(0));
      EXPECT_EQ(odd.allreduce(1, std::plus<>()), odd.size());
      odd.barrier();
      placed.get();
      EXPECT_EQ(odd.allgather(odd.rank().value()).back(), odd.size() - 1);
    });
    auto of_world = world.allreduce_async(world.rank().value(), std::plus<>());
    EXPECT_EQ(of_all.get(), all.rank() + 1);
    EXPECT_EQ(of_world.get(), 10);
    world.wait();
    EXPECT_THAT(values, testing::Each(7));
  });
}

TEST(Team, OnRealThreads_CompletesApart) {
  std::atomic<int> wrong{0};
  const int code = run_world(4, 2, [&](World& world) {
    for (int round = 0; round < 50; ++round) {
      Team team = world.split((world.rank() + round) % 2);
      std::atomic<int> handled{0};
      std::unique_ptr<shoal::ActiveMessage<int>> hop;
      hop = std::make_unique<shoal::ActiveMessage<int>>(team.make_am([&](int left) {
        ++handled;
        if (left > 0) hop->send(Rank(left % team.size()), left - 1);
      }));
      hop->send(Rank(0), 20);
      team.wait();
      const int all = team.allreduce(handled.load(), std::plus<>());
      if (all != 21 * team.size()) ++wrong;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace

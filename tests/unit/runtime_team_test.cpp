// Teams: their ranks, their completion, failures and collective operations. Simulated, in many
// orders; tests/property/runtime_team_world_test.cpp has random programs.

#include <shoal/shoal.hpp>

#include "support/many_worlds.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"
#include "support/turn_world.hpp"
#include "team/messenger.hpp"
#include "team/rank_map_table.hpp"
#include "team/team_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runtime_team_test {

using shoal::Rank;
using shoal::TaskGraph;
using shoal::Team;
using shoal::World;
using shoal::testing::in_many_worlds;
using shoal::testing::kSeeds;
using shoal::testing::refusal_of;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::TurnResult;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(Team, OverTheSameRanks_SharesItsMap) {
  in_many_worlds(5, [](World& world) {
    const Team first(world, {Rank(4), Rank(0), Rank(3)});
    const Team second(world, {Rank(4), Rank(0), Rank(3)});
    const Team other(world, {Rank(0), Rank(4), Rank(3)});
    if (!first.is_member()) return;
    EXPECT_EQ(first.core().map(), second.core().map());
    EXPECT_NE(first.core().map(), other.core().map());
    EXPECT_EQ(other.world_rank(Rank(0)), 0);
  });
}

TEST(Team, OverManyLists_LeavesFewMaps) {
  const int code = run_world(6, 2, [](World& world) {
    std::vector<Rank> ranks;
    for (int rank = 0; rank < world.size(); ++rank) ranks.emplace_back(rank);
    for (int i = 0; i < 200; ++i) {
      std::next_permutation(ranks.begin(), ranks.end());
      const Team team(world, ranks);
      EXPECT_EQ(team.world_rank(Rank(5)), ranks[5]);
    }
    auto& services = world.core().messenger().services();
    EXPECT_LT(services.get<shoal::team::RankMapTable>().size(), 100U);
  });
  EXPECT_EQ(code, 0);
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
    team.send(Rank(1), shoal::am<add_to>, 5, team.publish(std::move(promise)));
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

// --- messages of a team to others

/// Messages of one simulated world that tasks and handlers of a team have sent to others, and
/// those that were handled, by number of the team.
struct Outside {
  std::map<int, int> sent;
  std::map<int, int> handled;
};
Outside& outside() {
  static Outside all;
  return all;
}

TEST(Team, Wait_IncludesItsMessagesToOthers) {
  in_many_worlds(5, [](World& world) {
    if (world.rank() == 0) outside() = {};
    world.barrier();
    const auto to_world = world.make_am([](int from) { ++outside().handled[from]; });
    Team other(world, {Rank(4), Rank(2), Rank(0), Rank(1), Rank(3)}, "other");
    const auto to_other = other.make_am([](int from) { ++outside().handled[from]; });
    const int colour = world.rank() % 2;
    Team half = world.split(colour);
    const auto inside = half.make_am([&](int left) {  // a handler sends to others, too
      ++outside().sent[colour];
      to_world.send(Rank(left % world.size()), colour);
    });
    for (int round = 0; round < 3; ++round) {
      half.spawn([&] {
        for (int i = 0; i < 4; ++i) {
          ++outside().sent[colour];
          (i % 2 == 0 ? to_world : to_other).send(Rank((world.rank() + i) % 5), colour);
          inside.send(Rank(i % half.size()), i);
        }
      });
      half.wait();
      EXPECT_EQ(outside().handled[colour], outside().sent[colour]);
      EXPECT_EQ(outside().sent[colour], 8 * half.size() * (round + 1));
      half.barrier();
    }
    other.wait();  // for those of the other half, which need the handlers here
    world.wait();
  });
}

void note_outside(Team& team, int from) {
  EXPECT_EQ(team.size(), 2);
  ++outside().handled[from];
}

// From ranks that are no members, through the first member.
TEST(Team, MessagesByHandle_AreWaitedFor) {
  in_many_worlds(5, [](World& world) {
    if (world.rank() == 0) outside() = {};
    Team pair(world, {Rank(3), Rank(1)}, "pair");
    shoal::TeamHandle handle = pair.is_member() ? pair.handle() : shoal::TeamHandle{};
    handle = world.broadcast(handle, Rank(1));
    Team half = world.split(world.rank() / 3);
    const int colour = world.rank() / 3;
    half.spawn([&] {
      for (int i = 0; i < 4; ++i) {
        ++outside().sent[colour];
        half.send(handle, Rank(i % 2), shoal::am<note_outside>, colour);
      }
    });
    half.wait();
    EXPECT_EQ(outside().handled[colour], outside().sent[colour]);
    EXPECT_THAT(refusal_of([&] {
                  if (pair.is_member()) throw shoal::CheckError("rank 2 is out of range");
                  half.send(handle, Rank(2), shoal::am<note_outside>, colour);
                }),
                HasSubstr("rank 2 is out of range"));
    world.wait();
  });
}

TEST(Team, ThatHasEnded_IsNotFound) {
  in_many_worlds(3, [](World& world) {
    shoal::TeamHandle handle;
    {
      const Team pair(world, {Rank(0), Rank(2)}, "pair");
      if (!pair.is_member()) return;
      handle = pair.handle();
      EXPECT_EQ(world.find(handle), &pair);
    }
    EXPECT_EQ(world.find(handle), nullptr);
  });
}

TEST(Team, MessageToOthersThatIsNotHandled_IsNamed) {
  const TurnResult result = run_turns({.seed = 4, .ranks = 3, .workers = 1}, [](World& world) {
    std::optional<shoal::ActiveMessage<int>> early;
    if (world.rank() == 0) early.emplace(world.make_am([](int) {}));  // no other member does
    Team half = world.split(world.rank() < 2 ? 0 : 1, 0, "half");
    if (world.rank() == 0) {
      half.spawn([&] { early->send(Rank(1), 5); });
    }
    half.wait();
    return 0;
  });
  for (const int rank : {0, 1}) {
    ASSERT_NE(result.errors[static_cast<std::size_t>(rank)], nullptr);
    EXPECT_THAT(shoal::describe(result.errors[static_cast<std::size_t>(rank)]),
                AllOf(HasSubstr("team 'half': 1 of its messages to other teams"),
                      HasSubstr("messages from rank 0 are for active message 0 ("),
                      HasSubstr("which was never made here")));
  }
}

// Messages that the other team drops, because it has failed, count as handled.
TEST(Team, MessagesToATeamThatFails_AreNotWaitedForForEver) {
  in_many_worlds(4, [](World& world) {
    Team half = world.split(world.rank() % 2);
    try {
      Team other(world, {Rank(1), Rank(2), Rank(3), Rank(0)}, "other");
      const auto note = other.make_am([](int value) {
        if (value == 3) throw std::runtime_error("planned");
      });
      half.spawn([&] {
        for (int i = 0; i < 8; ++i) note.send(Rank(i % 4), i);
      });
      half.wait();
      other.wait();
      ADD_FAILURE();
    } catch (const shoal::TaskError& error) {
      EXPECT_THAT(error.what(), HasSubstr("planned"));
    }
    half.wait();
    world.wait();
  });
}

// Rank 0 never makes the team, so rank 1 would wait for its end for ever.
TEST(Team, EndOfATeamThatAMemberHasNotMade_IsFound) {
  for (const bool is_first : {true, false}) {
    const TurnResult result =
        run_turns({.seed = 2, .ranks = 3, .workers = 1}, [is_first](World& world) {
          const std::vector<Rank> ranks =
              is_first ? std::vector{Rank(0), Rank(1)} : std::vector{Rank(1), Rank(0)};
          if (world.rank() == 1) const Team team(world, ranks, "lonely");
          world.wait();
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_NE(error, nullptr);
      EXPECT_THAT(shoal::describe(error),
                  AllOf(HasSubstr("nothing runs any more"), HasSubstr("the end of team 'lonely'")));
    }
  }
}

// A team nested in one that a member has not made.
TEST(Team, EndOfATeamInATeamThatAMemberHasNotMade_IsFound) {
  const TurnResult result = run_turns({.seed = 2, .ranks = 3, .workers = 1}, [](World& world) {
    if (world.rank() != 0) {
      Team outer(world, {Rank(0), Rank(1), Rank(2)}, "outer");
      const Team inner(outer, {Rank(0), Rank(1)}, "inner");
    }
    world.wait();
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(shoal::describe(error), HasSubstr("the end of team 'inner'"));
  }
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
    EXPECT_THAT(refusal_of([&] { team.send(Rank(2), shoal::am<rank_in>); }),
                HasSubstr("rank 2 is out of range: team 'pair' has ranks 0 to 1"));
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
    EXPECT_EQ(world.core().state().teams.size(), 0U);
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) EXPECT_EQ(error, nullptr);
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

}  // namespace runtime_team_test

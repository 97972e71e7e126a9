// Teams that come and go on real threads: nothing uses the destroyed parts of an ended team.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "team/team_state.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <vector>

namespace runtime_team_test {

using shoal::ActiveMessage;
using shoal::Future;
using shoal::Rank;
using shoal::RankSet;
using shoal::TaskError;
using shoal::Team;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::sized;

constexpr int kRanks = 4;
constexpr int kWorkers = 3;

// Messages that hop between the members, and tasks on each. Returns how much of it happened.
// Handlers that tasks make are called at once: no hops in a task, where `hop` is not yet set.
int work_in(Team& team, int hops, int messages = 1) {
  std::atomic<int> done{0};
  const ActiveMessage<int>* hop = nullptr;
  const auto message = team.make_am([&](int left) {
    ++done;
    if (left > 0) hop->send(Rank(left % team.size()), left - 1);
    team.spawn([&] { ++done; });
  });
  hop = &message;
  for (int i = 0; i < messages; ++i) message.send(Rank((team.rank() + 1) % team.size()), hops);
  for (int i = 0; i < 3; ++i) {
    team.spawn([&] { ++done; });
  }
  team.wait();
  return team.allreduce(done.load(), std::plus<>());
}

int expected_work(const Team& team, int hops, int messages = 1) {
  return team.size() * (2 * messages * (hops + 1) + 3);
}

TEST(TeamStress, OverlappingTeams_ComeAndGo) {
  std::atomic<int> wrong{0};
  const int code = run_world(kRanks, kWorkers, [&](World& world) {
    for (int round = 0; round < sized(2000, 300); ++round) {
      const int hops = round % 7;
      Team half = world.split((world.rank() + round / 2) % 2);
      Team all(world, {Rank(3), Rank(1), Rank(0), Rank(2)});
      if (work_in(all, hops) != expected_work(all, hops)) ++wrong;
      if (work_in(half, hops) != expected_work(half, hops)) ++wrong;
      Team inner(half, {Rank(round % half.size())});
      if (inner.is_member() && work_in(inner, hops) != expected_work(inner, hops)) ++wrong;
    }
    world.wait();
    if (world.core().state().teams.size() != 0) ++wrong;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(wrong, 0);
}

// A task of each member makes a team while the main function waits in the outer one.
TEST(TeamStress, TeamsOfTasks_ComeAndGo) {
  std::atomic<int> wrong{0};
  const int code = run_world(kRanks, kWorkers, [&](World& world) {
    for (int round = 0; round < sized(1000, 200); ++round) {
      Team half = world.split((world.rank() + round) % 2);
      half.spawn([&half, &wrong, round] {
        for (int i = 0; i < 3; ++i) {
          Team inner(half, {Rank(1), Rank(0)});
          if (work_in(inner, 0, round % 5) != expected_work(inner, 0, round % 5)) ++wrong;
        }
      });
      half.wait();
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(TeamStress, TeamsThatFail_LeaveTheWorldAlone) {
  std::atomic<int> failures{0};
  std::atomic<int> wrong{0};
  static constexpr int kRounds = sized(1000, 200);
  const int code = run_world(kRanks, kWorkers, [&](World& world) {
    for (int round = 0; round < kRounds; ++round) {
      Team half = world.split((world.rank() + round) % 2);
      const auto echo = half.make_am([&](int left) {
        if (left == 0) throw std::runtime_error("planned");
        half.spawn([] {});
      });
      for (int i = 5; i >= 0; --i) echo.send(Rank(i % half.size()), i);
      try {
        half.wait();
        ++wrong;
      } catch (const TaskError&) {
        ++failures;
      }
    }
    world.wait();
    if (world.core().state().teams.size() != 0) ++wrong;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(failures, kRounds * kRanks);
}

std::atomic<int>& launched() {
  static std::atomic<int> count{0};
  return count;
}

// From all ranks at the same time, so that teams are met in different orders.
TEST(TeamStress, LaunchedTeams_ComeAndGo) {
  static constexpr int kTeams = sized(3000, 400);
  launched() = 0;
  std::atomic<int> wrong{0};
  const int code = run_world(kRanks, kWorkers, [&](World& world) {
    std::vector<Future<void>> ends;
    for (int i = 0; i < kTeams; ++i) {
      const auto ranks = RankSet::range(Rank(i % kRanks), kRanks - i % kRanks);
      ends.push_back(world.launch_team(
          ranks,
          [](Team& team, int number) {
            ++launched();
            if (number % 3 == 0) team.barrier();
            team.send(Rank(0), [](Team& team) { team.spawn([] { ++launched(); }); });
          },
          i));
      if (ends.size() < 20) continue;
      for (Future<void>& end : ends) end.get();
      ends.clear();
    }
    for (Future<void>& end : ends) end.get();
    world.wait();
    if (world.core().state().teams.size() != 0) ++wrong;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(launched(), kRanks * kTeams / kRanks * (4 + 3 + 2 + 1) * 2);
}

}  // namespace runtime_team_test

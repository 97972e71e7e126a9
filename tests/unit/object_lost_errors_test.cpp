// Errors of distributed objects that no caller waits for: each reaches somebody.

#include "support/object_worlds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace object_lost_errors_test {

using shoal::all_ranks;
using shoal::construct;
using shoal::DistributedObject;
using shoal::Futures;
using shoal::Handle;
using shoal::ObjectDeleter;
using shoal::Rank;
using shoal::RankSet;
using shoal::Team;
using shoal::World;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 24;

class Apple : public DistributedObject<Apple> {
 public:
  explicit Apple(Team& team) : DistributedObject(team) {}
  void fail() const { throw std::runtime_error("bad apple on rank " + std::to_string(rank())); }
  void hit() { ++hits; }
  void pass_on() const { async<&Apple::fail>(Rank(0)); }
  [[nodiscard]] int count() const { return hits; }
  [[nodiscard]] int fail_to_count() const { throw std::runtime_error("no apples to count"); }
  int hits = 0;
};

/// Errors of all ranks for each seed; `program` must fail on all of them.
template <class F, class Matcher>
void expect_errors(int ranks, F program, const Matcher& matcher) {
  shoal::testing::check_object_worlds(
      ranks, kSeeds, program, [&](const std::exception_ptr& error, std::uint64_t seed) {
        ASSERT_NE(error, nullptr) << "seed " << seed;
        EXPECT_THAT(shoal::describe(error), matcher) << "seed " << seed;
      });
}

TEST(LostErrors, AnInvocationOfAConstructedObjectThatThrows_FailsTheTeamItWasMadeFrom) {
  const auto named = AllOf(HasSubstr("bad apple on rank 1"), HasSubstr("rank 1"),
                           HasSubstr("Apple::fail of object 1, invoked by rank 0"));
  expect_errors(
      2,
      [](World& world) {
        if (world.rank() == 0) {
          const Handle<Apple> apple = construct<Apple>(world, {Rank(0), Rank(1)}).get();
          apple.async<&Apple::fail>(Rank(1));
          ObjectDeleter<Apple>()(apple);
        }
        world.wait();
      },
      named);
  expect_errors(  // it is never deleted, and the caller is no member
      3,
      [](World& world) {
        if (world.rank() == 2) {
          const Handle<Apple> apple = construct<Apple>(world, {Rank(0), Rank(1)}).get();
          apple.async<&Apple::fail>(all_ranks);
        }
        world.wait();
      },
      HasSubstr("bad apple"));
  expect_errors(  // by another invocation, of an object over the ranks of an object
      3,
      [](World& world) {
        if (world.rank() == 1) {
          const Handle<Apple> apple = construct<Apple>(world, {Rank(2), Rank(1)}).get();
          const Handle<Apple> second = construct<Apple>(apple, all_ranks).get();
          second.async<&Apple::pass_on>(Rank(1));
        }
        world.wait();
      },
      HasSubstr("bad apple"));
}

TEST(LostErrors, AnInvocationOfAConstructedObjectThatIsDeleted_IsNamed) {
  for (const bool waits : {false, true}) {
    expect_errors(
        2,
        [waits](World& world) {
          Handle<Apple> apple;
          if (world.rank() == 0) {
            apple = construct<Apple>(world, {Rank(1), Rank(0)}).get();
            ObjectDeleter<Apple>()(apple);
          }
          if (waits) world.wait();  // its team ends
          if (world.rank() == 0) apple.async<&Apple::hit>(Rank(0));
          world.wait();
        },
        AllOf(HasSubstr("Apple"), testing::AnyOf(HasSubstr("destroyed"), HasSubstr("has ended"))));
  }
}

TEST(LostErrors, OfAnObjectThatATeamHasConstructed_StayInThatTeam) {
  shoal::testing::in_object_worlds(
      3,
      [](World& world) {
        Team team(world, {Rank(2), Rank(0)}, "orchard");
        if (team.is_member()) {
          if (team.rank() == 0) {
            const Handle<Apple> apple = construct<Apple>(team, {Rank(1)}).get();
            apple.async<&Apple::fail>(Rank(0));
          }
          try {
            team.wait();
            ADD_FAILURE() << "the team did not fail";
          } catch (const shoal::TaskError& error) {
            EXPECT_THAT(error.what(), HasSubstr("bad apple on rank 0"));
          }
        }
      },
      kSeeds);
}

TEST(LostErrors, AFailureWhileAnObjectIsConstructed_ReachesItsMaker) {
  class Early : public DistributedObject<Early> {
   public:
    explicit Early(Team& team) : DistributedObject(team) {
      async<&Early::fail>(Rank((team.rank() + 1) % team.size()));
    }
    void fail() { throw std::runtime_error("too early"); }
  };
  expect_errors(
      2,
      [](World& world) {
        if (world.rank() == 1) {
          static_cast<void>(construct<Early>(world, RankSet::range(Rank(0), 2)).get());
        }
        world.wait();
      },
      testing::AnyOf(HasSubstr("too early"), HasSubstr("cancelled")));
}

TEST(LostErrors, AnObjectThatNobodyDeletes_IsNamedWithItsRemedy) {
  expect_errors(
      2,
      [](World& world) {
        if (world.rank() == 1) {
          static_cast<void>(construct<Apple>(world, {Rank(0), Rank(1)}).get());
        }
        world.wait();
      },
      AllOf(HasSubstr("team '1 of rank 1 for object_lost_errors_test::Apple' has not ended"),
            HasSubstr("delete its object_lost_errors_test::Apple, which construct() has made, by "
                      "ObjectDeleter"),
            testing::Not(HasSubstr("share()"))));
}

// An error of all results is that of each one.
TEST(LostErrors, OfTheResultsOfAllRanks_IsThatOfEachResult) {
  shoal::testing::in_object_worlds(
      3,
      [](World& world) {
        Team team(world, {Rank(0), Rank(1), Rank(2)}, "orchard");
        Apple apple(team);
        try {
          Futures<int> counts = apple.allgather<&Apple::count>();
          EXPECT_EQ(counts.size(), 3U);
          EXPECT_EQ(counts.get(), (std::vector<int>{0, 0, 0}));
          if (team.rank() == 1) apple.async<&Apple::fail>(Rank(2));
          Futures<int> results = apple.allgather<&Apple::count>();
          if (team.rank() == 1) {
            EXPECT_EQ(results.get(0), 0);
            EXPECT_THROW(static_cast<void>(results.get(0)), shoal::CheckError);
            EXPECT_EQ(results.get(2), 0);
          } else {
            EXPECT_EQ(std::move(results).whole().get(), (std::vector<int>{0, 0, 0}));
          }
        } catch (const shoal::TaskError& error) {
          EXPECT_THAT(error.what(), HasSubstr("bad apple on rank 2"));
        }
        EXPECT_THROW(team.wait(), shoal::TaskError);
      },
      kSeeds);
}

}  // namespace object_lost_errors_test

// Multicasts for handlers and teams that a rank has not made yet: nothing waits for them but later
// ones of their sender, and the ranks below get them all the same, in their order.

#include <shoal/shoal.hpp>

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace team_held_multicast_test {

using namespace shoal;
using shoal::testing::run_turns;
using shoal::testing::sized_on_one_thread;
using shoal::testing::TurnResult;
using ::testing::ElementsAre;

void expect_no_errors(const TurnResult& result, std::uint64_t seed) {
  for (const auto& error : result.errors) {
    ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
  }
}

/// Runs `program` on several ranks and orders; a promise of its rank is kept by the message `tell`.
void run_told(int ranks, const std::function<void(World& world, const ActiveMessage<>& tell,
                                                  Future<void>& told)>& program) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = ranks}, [&](World& world) {
      Promise<void> promise;
      Future<void> told = promise.future();
      const auto tell = world.make_am([&] { promise.set_value(); });
      program(world, tell, told);
      return 0;
    });
    expect_no_errors(result, seed);
  }
}

const Recipients kOneThenTwo({Rank(1), Rank(2)}, {TreeShape::chain});

TEST(HeldMulticasts, DoNotHoldBackMessagesOfTheRankThatPassesThemOn) {
  run_told(3, [](World& world, const ActiveMessage<>& tell, Future<void>& told) {
    const auto pass = world.make_am([&] { tell.send(Rank(2)); });
    if (world.rank() == 2) told.get();  // from rank 1, behind what rank 1 has passed on
    int handled = 0;
    const auto late = world.make_am([&] { ++handled; });
    if (world.rank() == 0) {
      world.multicast(kOneThenTwo, late);
      pass.send(Rank(1));
    }
    world.wait();
    EXPECT_EQ(handled, world.rank() == 0 ? 0 : 1);
  });
}

TEST(HeldMulticasts, DoNotHoldBackThoseOfOtherSenders) {
  run_told(4, [](World& world, const ActiveMessage<>& tell, Future<void>& told) {
    const auto follow = world.make_am([&] { world.multicast(kOneThenTwo, tell); });
    if (world.rank() == 1 || world.rank() == 2) told.get();  // from rank 3
    int handled = 0;
    const auto late = world.make_am([&] {
      ++handled;
      if (world.rank() == 0) follow.send(Rank(3));
    });
    if (world.rank() == 0) {
      world.multicast(Recipients({Rank(1), Rank(2), Rank(0)}, {TreeShape::chain}), late);
    }
    world.wait();
    EXPECT_EQ(handled, world.rank() == 3 ? 0 : 1);
  });
}

// The later one goes to ranks 2 and 3 only, and may reach rank 3 first: along the same last branch.
TEST(HeldMulticasts, DoNotHoldBackEarlierOnesAlongOtherTrees) {
  run_told(4, [](World& world, const ActiveMessage<>& tell, Future<void>& told) {
    const MulticastTree chain{TreeShape::chain};
    if (world.rank() == 0) world.multicast(Recipients({Rank(1), Rank(2), Rank(3)}, chain), tell);
    if (world.rank() == 3) told.get();
    int handled = 0;
    const auto late = world.make_am([&] { ++handled; });
    if (world.rank() == 0) world.multicast(Recipients({Rank(2), Rank(3)}, chain), late);
    world.wait();
    EXPECT_EQ(handled, world.rank() >= 2 ? 1 : 0);
  });
}

// Some recipients share the sender's process: they share an object, along a tree of their own.
TEST(HeldMulticasts, DoNotHoldBackEarlierOnesWithoutAnObject) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto result =
        run_turns({.seed = seed, .ranks = 6, .ranks_per_process = 3}, [](World& world) {
          Promise<void> promise;
          const auto tell = world.make_am([&] {
            if (world.rank() == 2) promise.set_value();
          });
          world.barrier();
          const Recipients to({Rank(3), Rank(1), Rank(2)}, {TreeShape::chain});
          if (world.rank() == 0) world.multicast(to, tell);
          if (world.rank() == 2) promise.future().get();
          int handled = 0;
          const auto late = world.make_am([&](const std::vector<int>&) { ++handled; });
          if (world.rank() == 0) world.multicast(to, late, std::vector<int>(3));
          world.wait();
          EXPECT_EQ(handled, world.rank() >= 1 && world.rank() <= 3 ? 1 : 0);
          return 0;
        });
    expect_no_errors(result, seed);
  }
}

// A payload that is passed on with its message comes later than short multicasts.
TEST(HeldMulticasts, DoNotHoldBackEarlierPayloads) {
  constexpr int kRanks = 9;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = kRanks}, [](World& world) {
      const bool is_last = world.rank() == kRanks - 1;
      Promise<void> promise;
      std::vector<int> into;
      const auto tell = world.make_large_am<int>(
          [&](std::size_t size) {
            into.resize(size);
            return std::span(into);
          },
          [&](std::span<int> /*data*/) {
            if (is_last) promise.set_value();
          });
      world.barrier();
      std::vector<Rank> ranks;
      for (int rank = 1; rank < kRanks; ++rank) ranks.emplace_back(rank);
      const Recipients to(ranks, {TreeShape::k_ary, 4});
      const std::vector<int> from(20'000, 1);
      if (world.rank() == 0) world.multicast(to, tell, from);
      if (is_last) promise.future().get();
      int handled = 0;
      const auto late = world.make_am([&] { ++handled; });
      if (world.rank() == 0) world.multicast(to, late);
      world.wait();
      EXPECT_EQ(handled, world.rank() == 0 ? 0 : 1);
      return 0;
    });
    expect_no_errors(result, seed);
  }
}

TEST(HeldMulticasts, BehindOthers_ArePassedOn) {
  run_told(3, [](World& world, const ActiveMessage<>& tell, Future<void>& told) {
    if (world.rank() == 1) told.get();  // from rank 2, which has handled both
    int handled = 0;
    const auto late = world.make_am([&] {
      ++handled;
      if (world.rank() == 2) tell.send(Rank(handled == 1 ? 0 : 1));
    });
    if (world.rank() == 0) {
      world.multicast(kOneThenTwo, late);
      told.get();
      world.multicast(kOneThenTwo, late);
    }
    world.wait();
    EXPECT_EQ(handled, world.rank() == 0 ? 0 : 2);
  });
}

TEST(HeldMulticasts, BehindOthersInTheSamePacket_ArePassedOnInOrder) {
  run_told(3, [](World& world, const ActiveMessage<>& tell, Future<void>& told) {
    std::vector<int> order;
    const auto other = world.make_am([&](int number) {
      order.push_back(number);
      if (world.rank() == 2 && number == 2) tell.send(Rank(1));
    });
    if (world.rank() == 1) told.get();  // from rank 2, which has handled all of them
    const auto late = world.make_am([&] {
      order.push_back(0);
      if (world.rank() == 2) tell.send(Rank(0));
    });
    if (world.rank() == 0) {
      world.multicast(kOneThenTwo, late);
      world.multicast(kOneThenTwo, other, 1);
      told.get();  // from rank 2, which has handled the first one
      world.multicast(kOneThenTwo, other, 2);
    }
    world.wait();
    if (world.rank() != 0) {
      EXPECT_THAT(order, ElementsAre(0, 1, 2));
    }
  });
}

/// Rank 0 multicasts numbers in a team that rank 1, which passes them on, makes while they come.
void make_team_late(World& world, int late_by) {
  constexpr int kCount = 20;
  Promise<void> promise;
  Future<void> told = promise.future();
  const auto tell = world.make_am([&] { promise.set_value(); });
  std::vector<Promise<void>> answers(kCount);
  const auto answer =
      world.make_am([&](int number) { answers[static_cast<std::size_t>(number)].set_value(); });
  const auto ask = world.make_am([&](int number) { answer.send(Rank(0), number); });
  if (world.rank() == 1) told.get();
  Team team(world, {Rank(0), Rank(1), Rank(2)});
  int handled = 0;
  const auto message = team.make_am([&](int number) { EXPECT_EQ(number, handled++); });
  for (int i = 0; i < kCount && world.rank() == 0; ++i) {
    team.multicast(kOneThenTwo, message, i);
    if (i == late_by) tell.send(Rank(1));
    Future<void> answered = answers[static_cast<std::size_t>(i)].future();
    ask.send(Rank(2), i);
    answered.get();
  }
  team.wait();
  EXPECT_EQ(handled, world.rank() == 0 ? 0 : kCount);
  world.wait();
}

TEST(HeldMulticasts, OfATeamThatIsMadeLater_KeepTheirOrder) {
  const std::uint64_t seeds = sized_on_one_thread(200, 20);
  for (std::uint64_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    expect_no_errors(run_turns({.seed = seed, .ranks = 3},
                               [seed](World& world) {
                                 make_team_late(world, static_cast<int>(seed % 5));
                                 return 0;
                               }),
                     seed);
  }
}

/// One rank of a random program: it makes its handlers one by one, and in between multicasts to all
/// others, and sends, by those that it has.
class RandomRank {
 public:
  RandomRank(World& world, std::uint64_t seed)
      : world_(world), random_(seed * 100 + static_cast<std::uint64_t>(world.rank().value())) {
    for (int i = 1; i < world.size(); ++i) others_.push_back(rank_after(i));
    tree_.shape = seed % 2 == 0 ? TreeShape::chain : TreeShape::binomial;
  }
  void run() {
    make();
    for (int i = 0; i < 40; ++i) {
      if (handlers_.size() < kHandlers && below(8) == 0) make();
      act();
    }
    while (handlers_.size() < kHandlers) make();
    world_.wait();
  }
  [[nodiscard]] bool is_in_order() const { return in_order_; }

 private:
  static constexpr std::size_t kHandlers = 4;

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  [[nodiscard]] Rank rank_after(int distance) const {
    return Rank((world_.rank().value() + distance) % world_.size());
  }
  void make() {
    handlers_.push_back(world_.make_am([this](int from, int number, const std::string& kind) {
      int& next = next_[{from, kind}];
      in_order_ = in_order_ && number == next;
      next = number + 1;
    }));
  }
  void act() {
    const auto& handler = handlers_[random_() % handlers_.size()];
    const int me = world_.rank().value();
    const int what = below(4);
    if (what == 0) {
      world_.async([] {}).get();  // lets messages in
    } else if (what == 1) {
      const Rank to = rank_after(1 + below(world_.size() - 1));
      handler.send(to, me, sent_[to.value()]++, std::string("sent"));
    } else {
      world_.multicast(Recipients(others_, tree_), handler, me, multicasts_++,
                       std::string("multicast"));
    }
  }

  World& world_;
  std::mt19937_64 random_;
  std::vector<Rank> others_;
  MulticastTree tree_;
  std::map<int, int> sent_;
  int multicasts_ = 0;
  std::map<std::pair<int, std::string>, int> next_;
  bool in_order_ = true;
  std::vector<ActiveMessage<int, int, std::string>> handlers_;  // the last member: they use others
};

TEST(HeldMulticasts, AmongMessagesOfRandomPrograms_KeepTheOrderOfTheirSender) {
  const std::uint64_t seeds = sized_on_one_thread(300, 30);
  for (std::uint64_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    expect_no_errors(run_turns({.seed = seed, .ranks = 4 + static_cast<int>(seed % 4)},
                               [seed](World& world) {
                                 RandomRank rank(world, seed);
                                 rank.run();
                                 EXPECT_TRUE(rank.is_in_order()) << "seed " << seed;
                                 return 0;
                               }),
                     seed);
  }
}

}  // namespace team_held_multicast_test

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

/// A type of the program, with members of its own.
struct Item {
  int number = 0;
  std::string name;
  std::vector<double> values;
  bool operator==(const Item&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, name, values);
  }
};

Item item_of(int rank) {
  return {rank, "rank " + std::to_string(rank),
          std::vector<double>(static_cast<std::size_t>(rank), rank)};
}

class Collectives : public testing::TestWithParam<int> {
 protected:
  template <class F>
  void run(F function) {
    EXPECT_EQ(run_world(GetParam(), 1, std::move(function)), 0);
  }
};

TEST_P(Collectives, Barrier_ReturnsWhenAllHaveCalledIt) {
  std::vector<int> arrived(static_cast<std::size_t>(GetParam()), 0);  // plain: the barrier orders
  run([&](World& world) {
    for (int round = 1; round <= 20; ++round) {
      arrived[static_cast<std::size_t>(world.rank())] = round;
      world.barrier();
      EXPECT_THAT(arrived, Each(round));
      world.barrier();
    }
  });
}

TEST_P(Collectives, Broadcast_FromEveryRoot_GivesItsValueToAll) {
  run([](World& world) {
    for (int root = 0; root < world.size(); ++root) {
      EXPECT_EQ(world.broadcast(item_of(world.rank()), Rank(root)), item_of(root));
      EXPECT_EQ(world.broadcast(world.rank() * 10, Rank(root)), root * 10);
    }
  });
}

TEST_P(Collectives, AllReduce_CombinesAllValuesInTheSameOrderOnAllRanks) {
  std::vector<std::string> orders(static_cast<std::size_t>(GetParam()));
  run([&](World& world) {
    const int n = world.size();
    EXPECT_EQ(world.allreduce(world.rank() + 1, std::plus<>()), n * (n + 1) / 2);
    const auto larger = [](int a, int b) { return std::max(a, b); };
    EXPECT_EQ(world.allreduce(world.rank().value(), larger), n - 1);
    const auto join = [](const std::string& a, const std::string& b) { return a + "," + b; };
    const std::string mine = std::to_string(world.rank());
    const std::string order = world.allreduce(mine, join);
    EXPECT_EQ(std::count(order.begin(), order.end(), ','), n - 1);
    EXPECT_EQ(world.allreduce(mine, join), order);
    orders[static_cast<std::size_t>(world.rank())] = order;
  });
  EXPECT_THAT(orders, Each(orders.front()));
}

TEST_P(Collectives, Gather_ToEveryRoot_GivesItAllValuesInRankOrder) {
  run([](World& world) {
    for (int root = 0; root < world.size(); ++root) {
      const std::vector<Item> all = world.gather(item_of(world.rank()), Rank(root));
      ASSERT_EQ(all.size(), world.rank() == root ? static_cast<std::size_t>(world.size()) : 0U);
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], item_of(static_cast<int>(i)));
    }
  });
}

TEST_P(Collectives, AllGather_GivesAllValuesInRankOrderToAll) {
  run([](World& world) {
    const std::vector<Item> all = world.allgather(item_of(world.rank()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(world.size()));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], item_of(static_cast<int>(i)));
  });
}

TEST_P(Collectives, OfNestedContainersAndEmptyValues_KeepThem) {
  using Table = std::map<std::string, std::optional<std::vector<int>>>;
  run([](World& world) {
    const Table table{{"none", std::nullopt}, {"empty", std::vector<int>{}}, {"two", {{1, 2}}}};
    EXPECT_EQ(world.broadcast(world.rank() == 0 ? table : Table{}, Rank(0)), table);
    EXPECT_THAT(world.allgather(std::string()), Each(""));
  });
}

TEST_P(Collectives, WithLargeValues_KeepThem) {
  run([](World& world) {
    const std::vector<int> mine(100'000, world.rank());
    const auto all = world.allgather(mine);
    for (int rank = 0; rank < world.size(); ++rank) {
      EXPECT_TRUE(all[static_cast<std::size_t>(rank)] == std::vector<int>(mine.size(), rank));
    }
  });
}

// No operation waits for all ranks but barrier(): several are under way at once.
TEST_P(Collectives, ManyInARowMixedWithWait_DoNotMixUp) {
  run([](World& world) {
    std::vector<int> received(3, 0);
    const auto am = world.make_am([&](int kind) { ++received[static_cast<std::size_t>(kind)]; });
    for (int i = 0; i < 30; ++i) {
      const Rank root(i % world.size());
      EXPECT_EQ(world.broadcast(i + world.rank(), root), i + root);
      am.send(Rank((world.rank() + i) % world.size()), i % 3);
      EXPECT_EQ(world.gather(i, root).size(),
                world.rank() == root ? static_cast<std::size_t>(world.size()) : 0U);
      EXPECT_EQ(world.allreduce(1, std::plus<>()), world.size());
      if (i % 5 == 0) world.wait();
      if (i % 7 == 0) world.barrier();
      EXPECT_EQ(world.allgather(world.rank().value()).back(), world.size() - 1);
    }
    world.wait();
    EXPECT_EQ(received, std::vector<int>(3, 10));
  });
}

TEST_P(Collectives, WhileTasksRun_OnlySuspendTheMainFunction) {
  run([](World& world) {
    std::atomic<int> ran{0};
    for (int i = 0; i < 50; ++i) world.spawn([&ran] { ran.fetch_add(1); });
    for (int i = 0; i < 5; ++i) world.barrier();
    world.wait();
    EXPECT_EQ(ran.load(), 50);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Range(1, 10));

// --- errors

/// Runs `function` on each rank and returns what its exception says, "" if there was none.
std::vector<std::string> errors_of(int ranks, const std::function<void(World&)>& function) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  testing::internal::CaptureStderr();
  const int code = run_world(ranks, 1, [&](World& world) {
    try {
      function(world);
      world.wait();
    } catch (const shoal::Error& error) {
      texts[static_cast<std::size_t>(world.rank())] = error.what();
      throw;
    }
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  return texts;
}

TEST(CollectivesMismatch, SkippedBarrier_IsStuckAndNamed) {
  const auto texts = errors_of(5, [](World& world) {
    if (world.rank() != 3) world.barrier();
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("nothing runs any more"),
                                HasSubstr("rank 0: the main function waits in barrier()"))));
}

TEST(CollectivesMismatch, OneRankAheadOfTheOthers_IsStuckAndNamed) {
  const auto texts = errors_of(3, [](World& world) {
    world.barrier();
    if (world.rank() == 2) (void)world.gather(1, Rank(2));
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 2: the main function waits in gather()")));
}

TEST(CollectivesMismatch, DifferentOperations_AreNamedOnAllRanks) {
  const auto texts = errors_of(4, [](World& world) {
    if (world.rank() == 1) {
      (void)world.allreduce(1, std::plus<>());
    } else {
      world.barrier();
    }
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("collective number 1"), HasSubstr("allreduce()"),
                                HasSubstr("barrier()"))));
}

TEST(CollectivesMismatch, OperationsOfDifferentDirection_AreNamedOnAllRanks) {
  const auto texts = errors_of(3, [](World& world) {
    if (world.rank() == 0) {
      world.barrier();
    } else {
      (void)world.broadcast(1, Rank(0));
    }
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("barrier()"), HasSubstr("broadcast()"))));
}

TEST(CollectivesMismatch, DifferentTypes_AreAnError) {
  const auto texts = errors_of(2, [](World& world) {
    if (world.rank() == 0) {
      (void)world.broadcast(1, Rank(0));
    } else {
      (void)world.broadcast(std::string("one"), Rank(0));
    }
  });
  EXPECT_THAT(texts, Each(HasSubstr("broadcast()")));
}

TEST(CollectivesMismatch, RootOutOfRange_IsRefused) {
  for (const int root : {-1, 3, 99}) {
    const auto texts = errors_of(3, [root](World& world) { (void)world.broadcast(1, Rank(root)); });
    EXPECT_THAT(texts, Each(HasSubstr("rank " + std::to_string(root) + " is out of range")));
    const auto gathered = errors_of(3, [root](World& world) { (void)world.gather(1, Rank(root)); });
    EXPECT_THAT(gathered, Each(HasSubstr("rank " + std::to_string(root) + " is out of range")));
  }
}

TEST(CollectivesMismatch, DifferentRoots_AreAnError) {
  const auto texts = errors_of(2, [](World& world) { (void)world.broadcast(1, world.rank()); });
  EXPECT_THAT(texts, Each(HasSubstr("broadcast()")));
}

// After a barrier that ended in StuckError, its remains must not end a later wait().
TEST(CollectivesMismatch, CaughtStuckBarrier_LeavesLaterWaitsWhole) {
  const int code = run_world(2, 1, [](World& world) {
    if (world.rank() == 0) {
      EXPECT_THROW(world.barrier(), shoal::StuckError);
      EXPECT_THROW(world.wait(), shoal::StuckError);
    } else {
      EXPECT_THROW(world.wait(), shoal::StuckError);
      EXPECT_THROW(world.barrier(), shoal::StuckError);  // the one that rank 0 has given up
    }
    world.wait();
  });
  EXPECT_EQ(code, 0);
}

}  // namespace

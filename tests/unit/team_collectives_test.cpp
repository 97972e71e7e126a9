#include <shoal/shoal.hpp>

#include "support/random_collectives.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

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
#include <thread>
#include <vector>

namespace team_collectives_test {

using shoal::Future;
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

/// "0,1,2".
std::string ranks_up_to(int last) {
  std::string text = "0";
  for (int rank = 1; rank <= last; ++rank) text += "," + std::to_string(rank);
  return text;
}

int larger(int a, int b) { return a < b ? b : a; }
struct Larger {
  double operator()(double a, double b) const { return a < b ? b : a; }
};
template <class T>
struct Operations {
  struct Sum : std::plus<T> {};
  struct Product : std::multiplies<T> {};
};

const auto kJoin = [](const std::string& a, const std::string& b) { return a + "," + b; };

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
    const std::string order = world.allreduce(std::to_string(world.rank()), kJoin);
    EXPECT_EQ(order, ranks_up_to(n - 1));
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

TEST_P(Collectives, Reduce_ToEveryRoot_CombinesInTheOrderOfRanks) {
  run([](World& world) {
    for (int root = 0; root < world.size(); ++root) {
      const auto joined = world.reduce(std::to_string(world.rank()), kJoin, Rank(root));
      ASSERT_EQ(joined.has_value(), world.rank() == root);
      EXPECT_EQ(joined.value_or(ranks_up_to(world.size() - 1)), ranks_up_to(world.size() - 1));
    }
  });
}

TEST_P(Collectives, Scans_CombineWhatStandsBefore) {
  run([](World& world) {
    const std::string mine = std::to_string(world.rank());
    EXPECT_EQ(world.scan(mine, kJoin), ranks_up_to(world.rank().value()));
    const std::string before = world.rank() == 0 ? "" : "," + ranks_up_to(world.rank().value() - 1);
    EXPECT_EQ(world.exclusive_scan(mine, kJoin, std::string("x")), "x" + before);
  });
}

TEST_P(Collectives, AllToAll_ExchangesAValueForEachPair) {
  run([](World& world) {
    std::vector<std::string> values;
    for (int to = 0; to < world.size(); ++to) {
      values.push_back(std::to_string(world.rank()) + ">" + std::to_string(to));
    }
    const auto got = world.alltoall(values);
    const std::string joined = world.reduce_scatter(values, kJoin);
    std::string expected;
    for (int from = 0; from < world.size(); ++from) {
      const std::string text = std::to_string(from) + ">" + std::to_string(world.rank());
      EXPECT_EQ(got[static_cast<std::size_t>(from)], text);
      expected += (from == 0 ? "" : ",") + text;
    }
    EXPECT_EQ(joined, expected);
  });
}

TEST_P(Collectives, BroadcastOfAnySize_FromEveryRoot_ReachesAll) {
  run([](World& world) {
    for (const std::size_t size : {0UL, 1UL, 40UL, 4'000UL, 70'000UL, 300'000UL}) {
      const Rank root(static_cast<int>(size) % world.size());
      std::vector<int> values(size, world.rank() == root ? 7 : 0);
      values.resize(size, 7);
      EXPECT_TRUE(world.broadcast(values, root) == std::vector<int>(size, 7)) << size;
      world.broadcast(std::span(values), root);
      EXPECT_TRUE(values == std::vector<int>(size, 7)) << size;
    }
  });
}

TEST_P(Collectives, AllReduceInPlace_OfAnySize_CombinesEachElement) {
  run([](World& world) {
    const int n = world.size();
    for (const std::size_t size : {0UL, 1UL, 5UL, 1'000UL, 9'001UL, 50'000UL}) {
      std::vector<long> values(size);
      for (std::size_t i = 0; i < size; ++i) {
        values[i] = static_cast<long>(i) * (world.rank().value() + 1);
      }
      world.allreduce(std::span(values), std::plus<>());
      bool good = true;
      for (std::size_t i = 0; i < size; ++i) {
        good = good && values[i] == static_cast<long>(i) * n * (n + 1) / 2;
      }
      EXPECT_TRUE(good) << size;
    }
  });
}

// In the order of ranks, for sizes on both sides of every change of the algorithm.
TEST_P(Collectives, OnArraysOfAnySize_GiveWhatValuesGive) {
  run([](World& world) {
    const int n = world.size();
    const int me = world.rank().value();
    const auto parts = static_cast<std::size_t>(n);
    for (const std::size_t size : {0UL, 1UL, 2'047UL, 2'048UL, 8'192UL, 40'000UL}) {
      const Rank root(static_cast<int>(size) % n);
      const auto last = [](long /*a*/, long b) { return b; };  // associative, not commutative
      std::vector<long> values(size, me);
      world.reduce(std::span(values), last, root);
      EXPECT_TRUE(values == std::vector<long>(size, world.rank() == root ? n - 1 : me)) << size;
      std::vector<long> upto(size, me + 1);
      world.scan(std::span(upto), std::plus<>());
      EXPECT_TRUE(upto == std::vector<long>(size, (me + 1) * (me + 2) / 2)) << size;

      const std::vector<long> mine(size, me);
      std::vector<long> all(parts * size, -1);
      std::vector<long> expected;
      for (int rank = 0; rank < n; ++rank) expected.insert(expected.end(), size, rank);
      world.allgather(mine, std::span(all));
      EXPECT_TRUE(all == expected) << size;
      std::vector<long> at_root(world.rank() == root ? parts * size : 0, -1);
      world.gather(mine, std::span(at_root), root);
      EXPECT_TRUE(world.rank() == root ? at_root == expected : at_root.empty()) << size;
      std::vector<long> theirs(parts * size, -1);
      world.alltoall(std::vector<long>(parts * size, me), std::span(theirs));
      EXPECT_TRUE(theirs == expected) << size;
      std::vector<long> sum(size, -1);
      world.reduce_scatter(expected, std::span(sum), std::plus<>());
      EXPECT_TRUE(sum == std::vector<long>(size, n * me)) << size;
    }
  });
}

// One large value among small ones, and values of all sizes.
TEST_P(Collectives, ValuesOfDifferentSizes_AreGathered) {
  run([](World& world) {
    for (const bool one : {true, false}) {
      const auto text_of = [one](int rank) {
        const std::size_t large = 30'000 + static_cast<std::size_t>(rank);
        const bool is_large = one ? rank == 1 : rank % 2 == 0;
        return std::string(is_large ? large : static_cast<std::size_t>(rank), 'a');
      };
      std::vector<std::string> expected;
      for (int rank = 0; rank < world.size(); ++rank) expected.push_back(text_of(rank));
      const std::string mine = text_of(world.rank().value());
      EXPECT_TRUE(world.allgather(mine) == expected);
      const Rank root(world.size() - 1);
      const std::vector<std::string> all = world.gather(mine, root);
      EXPECT_TRUE(world.rank() == root ? all == expected : all.empty());
    }
  });
}

// Begun in one order, waited for in another, while the main function does other things.
TEST_P(Collectives, WithFutures_ManyAreUnderWay) {
  run([](World& world) {
    const int n = world.size();
    const int me = world.rank().value();
    std::vector<int> large(100'000, me == 0 ? 3 : 0);
    std::vector<double> sums(20'000, me);
    auto placed = world.broadcast_async(std::span(large), Rank(0));
    auto summed = world.allreduce_async(std::span(sums), std::plus<>());
    auto barrier = world.barrier_async();
    auto sum = world.allreduce_async(me, std::plus<>());
    auto all = world.allgather_async(me);
    auto root = world.gather_async(me, Rank(n - 1));
    auto least = world.reduce_async(
        me, [](int a, int b) { return std::min(a, b); }, Rank(0));
    auto value = world.broadcast_async(me, Rank(n - 1));
    auto upto = world.scan_async(me, std::plus<>());
    auto before = world.exclusive_scan_async(me, std::plus<>(), 0);
    auto theirs = world.alltoall_async(std::vector<int>(static_cast<std::size_t>(n), me));
    auto mine =
        world.reduce_scatter_async(std::vector<int>(static_cast<std::size_t>(n), 1), std::plus<>());
    EXPECT_EQ(world.allreduce(1, std::plus<>()), n);  // in between
    EXPECT_EQ(mine.get(), n);
    EXPECT_EQ(theirs.get().back(), n - 1);
    EXPECT_EQ(before.get(), me * (me - 1) / 2);
    EXPECT_EQ(upto.get(), me * (me + 1) / 2);
    EXPECT_EQ(value.get(), n - 1);
    const std::optional<int> smallest = least.get();
    EXPECT_EQ(smallest.has_value(), me == 0);
    EXPECT_EQ(smallest.value_or(0), 0);
    EXPECT_EQ(root.get().size(), me == n - 1 ? static_cast<std::size_t>(n) : 0U);
    EXPECT_EQ(all.get().size(), static_cast<std::size_t>(n));
    EXPECT_EQ(sum.get(), n * (n - 1) / 2);
    barrier.get();
    summed.get();
    EXPECT_THAT(sums, Each(n * (n - 1) / 2));
    placed.get();
    EXPECT_THAT(large, Each(3));
  });
}

TEST_P(Collectives, BroadcastOfAnImmutable_SharesIt) {
  using Values = shoal::Immutable<std::vector<int>>;
  std::vector<const void*> addresses(static_cast<std::size_t>(GetParam()));
  run([&](World& world) {
    const Rank root(world.size() - 1);
    Values mine;
    if (world.rank() == root) mine = shoal::make_immutable<std::vector<int>>(50'000, 3);
    const Values got = world.broadcast(mine, root);
    EXPECT_THAT(*got, Each(3));
    addresses[static_cast<std::size_t>(world.rank())] = got->data();
    world.barrier();
    EXPECT_FALSE(world.broadcast(Values(), root));  // a handle to nothing
  });
  EXPECT_THAT(addresses, Each(addresses.back()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Range(1, 10));

// Teams overlap, members wait in different orders, and values are of all sizes.
TEST(RandomCollectives, OverSeeds_GiveTheKnownResults) {
  constexpr std::uint64_t kSeeds = shoal::testing::sized_on_one_thread(60, 20);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 7);
    const auto result = shoal::testing::run_turns(
        {.seed = seed, .ranks = ranks, .workers = 1 + static_cast<int>(seed % 2)},
        [&](World& world) {
          const std::string wrong = shoal::testing::run_random_collectives(world, seed, 12);
          EXPECT_EQ(wrong, "") << seed;
          world.wait();
          return 0;
        });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << seed << ": " << shoal::describe(error);
    }
  }
}

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

// Each waits for the other's value: no message shows the difference.
TEST(CollectivesMismatch, DifferentRootsThatSendNothing_AreNamed) {
  const auto texts =
      errors_of(2, [](World& world) { (void)world.broadcast(1, Rank(1 - world.rank())); });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("rank 0: the main function waits in broadcast() with "
                                          "root 1 (collective number 1), which not every rank "
                                          "called with this root"),
                                HasSubstr("rank 1: the main function waits in broadcast() with "
                                          "root 0 (collective number 1)"))));
  const auto of_team = errors_of(2, [](World& world) {
    shoal::Team pair(world, {Rank(0), Rank(1)}, "pair");
    (void)pair.broadcast(1, Rank(1 - pair.rank()));
  });
  EXPECT_THAT(of_team, Each(AllOf(HasSubstr("broadcast() with root 1 (collective number 1) of team "
                                            "'pair'"),
                                  HasSubstr("broadcast() with root 0 (collective number 1)"))));
  const auto later = errors_of(
      2, [](World& world) { (void)world.broadcast_async(1, Rank(1 - world.rank())).get(); });
  EXPECT_THAT(later, Each(AllOf(HasSubstr("broadcast() with root 1 (collective number 1) waits"),
                                HasSubstr("broadcast() with root 0 (collective number 1) waits"))));
}

TEST(CollectivesMismatch, OfOperations_IsNamed) {
  const auto texts = errors_of(2, [](World& world) {
    if (world.rank() == 0) {
      (void)world.allreduce(2, std::plus<>());
    } else {
      (void)world.allreduce(2, std::multiplies<>());
    }
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("allreduce() of int by std::plus on rank 0"),
                                HasSubstr("allreduce() of int by std::multiplies on rank 1"))));
  const auto of_arrays = errors_of(2, [](World& world) {
    std::vector<double> values(3, 1.0);
    if (world.rank() == 0) {
      world.scan(std::span(values), Larger());
    } else {
      world.scan(std::span(values), std::plus<double>());
    }
  });
  EXPECT_THAT(of_arrays,
              Each(AllOf(HasSubstr("scan() of 3 elements of double by "),
                         HasSubstr("Larger on rank 0"), HasSubstr("by std::plus on rank 1"))));
}

TEST(CollectivesMismatch, OfOperationsOfOneTemplate_IsNamed) {
  const auto texts = errors_of(2, [](World& world) {
    if (world.rank() == 0) {
      (void)world.allreduce(2, Operations<int>::Sum());
    } else {
      (void)world.allreduce(2, Operations<int>::Product());
    }
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("Operations<int>::Sum on rank 0"),
                                HasSubstr("Operations<int>::Product on rank 1"))));
}

// An operation may be written in several ways.
TEST(CollectivesMismatch, OfTypesOfEqualOperations_IsNone) {
  run_world(2, 1, [](World& world) {
    const bool first = world.rank() == 0;
    EXPECT_EQ(first ? world.allreduce(2, std::plus<>()) : world.allreduce(2, std::plus<int>()), 4);
    EXPECT_EQ(first ? world.allreduce(2, [](int a, int b) { return a * b; })
                    : world.allreduce(2, [](int a, int b) { return b * a; }),
              4);
    EXPECT_EQ(first ? world.allreduce(2, &larger) : world.allreduce(2, std::function(&larger)), 2);
    EXPECT_EQ(first ? world.allreduce(2, [](int a, int b) { return a + b; })
                    : world.allreduce(2, std::plus<>()),
              4);
    struct Sum {
      int operator()(int a, int b) const { return a + b; }
    };
    EXPECT_EQ(first ? world.allreduce(2, Sum()) : world.allreduce(2, std::plus<>()), 4);
  });
}

// A leaf of the tree has ended its part, and gone on, when the difference is seen.
TEST(CollectivesMismatch, OfAMemberThatHasGoneOn_IsNamedOnBoth) {
  for (const int others : {0, 1, 14, 16}) {
    const auto texts = errors_of(2, [others](World& world) {
      if (world.rank() == 0) {
        shoal::sleep_for(std::chrono::milliseconds(2));
        (void)world.reduce(1, std::plus<>(), Rank(0));
      } else {
        (void)world.reduce(1.5, std::plus<>(), Rank(0));
      }
      for (int i = 0; i < others; ++i) (void)world.reduce(1, std::plus<>(), Rank(0));
    });
    const std::string theirs =
        others < 16 ? "reduce() of double by std::plus with root 0" : "another operation";
    EXPECT_THAT(
        texts,
        Each(HasSubstr("collective number 1 is " + theirs +
                       " on rank 1, and reduce() of int by std::plus with root 0 on rank 0")));
  }
}

TEST(CollectivesMismatch, SizesOfArrays_AreNamedOnBoth) {
  const auto of_int = [](int count, int rank) {
    return " of " + std::to_string(count) + " elements of int by std::plus on rank " +
           std::to_string(rank);
  };
  for (const std::size_t size : {10UL, 100'000UL}) {
    const int count = static_cast<int>(size);
    const auto texts = errors_of(2, [size](World& world) {
      std::vector<int> values(size + static_cast<std::size_t>(world.rank().value()));
      world.allreduce(std::span(values), std::plus<>());
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("allreduce()" + of_int(count, 0)),
                                  HasSubstr("allreduce()" + of_int(count + 1, 1)))));
  }
}

TEST(CollectivesMismatch, DifferentRoots_AreAnError) {
  const auto texts = errors_of(2, [](World& world) { (void)world.broadcast(1, world.rank()); });
  EXPECT_THAT(texts, Each(HasSubstr("broadcast()")));
}

TEST(CollectivesMismatch, SpansOfDifferentSizes_AreAnError) {
  for (const std::size_t size : {10UL, 100'000UL}) {
    const auto texts = errors_of(2, [size](World& world) {
      std::vector<int> values(size + static_cast<std::size_t>(world.rank().value()));
      world.broadcast(std::span(values), Rank(0));
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("broadcast() of "), HasSubstr("arrays of one size"))));
  }
}

TEST(CollectivesMismatch, ArraysOfDifferentSizes_AreAnError) {
  for (const std::size_t size : {10UL, 100'000UL}) {
    const auto texts = errors_of(3, [size](World& world) {
      std::vector<int> values(size + (world.rank() == 1 ? 5 : 0));
      world.scan(std::span(values), std::plus<>());
    });
    EXPECT_THAT(texts, Each(AllOf(HasSubstr("scan() of "), HasSubstr("arrays of one size"))));
  }
}

TEST(CollectivesMismatch, ArraysThatHaveNoRoom_AreRefused) {
  const auto texts = errors_of(3, [](World& world) {
    std::vector<int> all(8);
    world.allgather(std::vector<int>(3), std::span(all));
  });
  EXPECT_THAT(texts,
              Each(HasSubstr("allgather(): an array of 32 bytes for 3 members, of 12 bytes")));
}

TEST(CollectivesMismatch, TooFewValues_AreRefused) {
  const auto texts = errors_of(3, [](World& world) { (void)world.alltoall(std::vector<int>(2)); });
  EXPECT_THAT(texts, Each(HasSubstr("alltoall() takes a value for each member: 2 were given")));
}

TEST(CollectivesMismatch, OperationThatThrows_FailsTheWorld) {
  const auto texts = errors_of(4, [](World& world) {
    (void)world.allreduce(1, [](int, int) -> int { throw std::runtime_error("no sum"); });
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("allreduce()"), HasSubstr("no sum"))));
}

TEST(CollectivesMismatch, FutureThatOthersNeverJoin_IsStuckAndNamed) {
  const auto texts = errors_of(3, [](World& world) {
    Future<int> sum;
    if (world.rank() != 1) sum = world.allreduce_async(1, std::plus<>());
    world.wait();
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("nothing runs any more"),
                                HasSubstr("allreduce() (collective number 1) waits for a message "
                                          "from rank 1"))));
}

// A barrier that ended in StuckError counts as called: those that come later find the others there.
TEST(CollectivesMismatch, CaughtStuckBarrier_LeavesLaterWaitsWhole) {
  const int code = run_world(2, 1, [](World& world) {
    if (world.rank() == 0) {
      EXPECT_THROW(world.barrier(), shoal::StuckError);
    } else {
      EXPECT_THROW(world.wait(), shoal::StuckError);
      world.barrier();  // the one that rank 0 has given up
    }
    world.wait();
    EXPECT_EQ(world.allreduce(1, std::plus<>()), 2);
  });
  EXPECT_EQ(code, 0);
}

}  // namespace team_collectives_test

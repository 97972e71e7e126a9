// wait() when nothing runs any more and something still waits: the report, and repair.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace team_stuck_test {

using shoal::Delivery;
using shoal::Rank;
using shoal::StuckError;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::run_world;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// Text of the StuckError on each rank when `body` and a wait() run there.
std::vector<std::string> stuck_texts(int ranks, int workers,
                                     const std::function<void(World&)>& body) {
  std::vector<std::string> texts(index(ranks));
  testing::internal::CaptureStderr();
  const int code = run_world(ranks, workers, [&](World& world) {
    try {
      body(world);
      world.wait();
    } catch (const StuckError& error) {
      texts[index(world.rank())] = error.what();
      throw;
    }
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(texts, Each(texts.front()));
  EXPECT_EQ(said, "shoal: error: " + texts.front() + "\n");
  return texts;
}

template <class K>
void set_up(TaskGraph<K>& graph, int indegree, std::atomic<int>* ran = nullptr) {
  graph.set_indegree([indegree](const K&) { return indegree; })
      .set_mapping([](const K&) { return 0; })
      .set_task([ran](const K&) {
        if (ran != nullptr) ++*ran;
      });
}

TEST(Stuck, OneOfThreeFulfilled_NamesGraphAndKeyOnEveryRank) {
  const auto texts = stuck_texts(4, 2, [](World& world) {
    TaskGraph<std::array<int, 3>> graph(world, "gemm");
    set_up(graph, 3);
    if (world.rank() == 2) graph.fulfill({1, 2, 3});
    world.wait();
  });
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("nothing runs any more"), HasSubstr("rank 2: "),
                                HasSubstr("'gemm'"), HasSubstr("gemm[(1, 2, 3)]"),
                                HasSubstr("fulfilled 1 of 3"))));
  EXPECT_EQ(occurrences(texts.front(), "rank "), 1U);
}

TEST(Stuck, SeveralGraphsOnSeveralRanks_AreAllNamed) {
  const auto texts = stuck_texts(6, 1, [](World& world) {
    TaskGraph<int> first(world, "first");
    TaskGraph<std::string> second(world, "second");
    set_up(first, 2);
    set_up(second, 3);
    second.set_name([](const std::string& key) { return "the task " + key; });
    first.fulfill(world.rank());
    if (world.rank() == 5) second.fulfill("panel", 2);
    world.wait();
  });
  for (int rank = 0; rank < 6; ++rank) {
    const std::string number = std::to_string(rank);
    EXPECT_THAT(texts.front(), HasSubstr("rank " + number + ": task graph 'first': first[" +
                                         number + "] has fulfilled 1 of 2"));
  }
  EXPECT_THAT(texts.front(), HasSubstr("rank 5: task graph 'second': the task panel has fulfilled "
                                       "2 of 3"));
}

TEST(Stuck, WithManyKeys_NamesSixteenAndCountsTheRest) {
  const auto texts = stuck_texts(2, 3, [](World& world) {
    TaskGraph<int> graph(world, "wide");
    set_up(graph, 2);
    if (world.rank() == 1) {
      for (int k = 0; k < 100; ++k) graph.fulfill(k);
    }
    world.wait();
  });
  EXPECT_EQ(occurrences(texts.front(), "fulfilled 1 of 2"), 16U);
  EXPECT_THAT(texts.front(), HasSubstr("rank 1: task graph 'wide': and 84 more tasks"));
}

TEST(Stuck, WithSixteenKeys_NamesAllAndCountsNoRest) {
  const auto texts = stuck_texts(1, 1, [](World& world) {
    TaskGraph<int> graph(world, "wide");
    set_up(graph, 2);
    for (int k = 0; k < 16; ++k) graph.fulfill(k);
    world.wait();
  });
  EXPECT_EQ(occurrences(texts.front(), "fulfilled 1 of 2"), 16U);
  EXPECT_THAT(texts.front(), Not(HasSubstr("more tasks")));
}

// 40 ranks with 17 lines each: more than a reader wants to see.
TEST(Stuck, OnManyRanks_TheReportStaysShortAndCountsTheRest) {
  const auto texts = stuck_texts(40, 1, [](World& world) {
    TaskGraph<int> graph(world, "wide");
    set_up(graph, 2);
    for (int k = 0; k < 20; ++k) graph.fulfill(k);
    world.wait();
  });
  EXPECT_EQ(occurrences(texts.front(), "\n  rank "), 256U);
  std::vector<int> ranks;
  for (std::size_t at = 0; (at = texts.front().find("\n  rank ", at)) != std::string::npos; ++at) {
    ranks.push_back(std::stoi(texts.front().substr(at + std::string_view("\n  rank ").size())));
  }
  EXPECT_TRUE(std::ranges::is_sorted(ranks));
  EXPECT_THAT(texts.front(), HasSubstr("and " + std::to_string(40 * 17 - 256) + " more lines"));
}

TEST(Stuck, DenseGraph_IsNamedByKeyOrByIndex) {
  const auto texts = stuck_texts(1, 1, [](World& world) {
    TaskGraph<int> named(world, "named");
    TaskGraph<int> numbered(world, "numbered");
    set_up(named, 3);
    set_up(numbered, 3);
    const auto same = [](int k) { return index(k); };
    named.set_dense(10, same, [](std::size_t i) { return static_cast<int>(i); });
    numbered.set_dense(10, same);
    TaskGraph<int> shifted(world, "shifted");
    set_up(shifted, 3);
    shifted.set_dense(10, [](int k) { return index(k) - 5; });
    named.fulfill(7);
    numbered.fulfill(8);
    shifted.fulfill(9);
    world.wait();
  });
  EXPECT_THAT(texts.front(), AllOf(HasSubstr("named[7] has fulfilled 1 of 3"),
                                   HasSubstr("numbered[8] has fulfilled 1 of 3"),
                                   HasSubstr("the task of index 4 waits for 2 more")));
}

TEST(Stuck, CaughtAndRepaired_TheNextWaitCompletes) {
  std::atomic<int> ran{0};
  const int code = run_world(4, 2, [&](World& world) {
    TaskGraph<int> graph(world, "graph");
    set_up(graph, 3, &ran);
    for (int round = 0; round < 5; ++round) {
      if (world.rank() == round % 4) graph.fulfill(round);
      EXPECT_THROW(world.wait(), StuckError);
      EXPECT_EQ(ran.load(), round);
      world.barrier();
      if (world.rank() == round % 4) graph.fulfill(round, 2);
      world.wait();
      EXPECT_EQ(ran.load(), round + 1);
      world.barrier();
    }
  });
  EXPECT_EQ(code, 0);
}

TEST(Stuck, CaughtTwiceWithoutRepair_SaysTheSameAgain) {
  std::vector<std::string> texts(6);
  testing::internal::CaptureStderr();
  run_world(3, 1, [&](World& world) {
    TaskGraph<int> graph(world, "graph");
    set_up(graph, 2);
    if (world.rank() == 1) graph.fulfill(1);
    for (int i = 0; i < 2; ++i) {
      try {
        world.wait();
      } catch (const StuckError& error) {
        texts[index(2 * world.rank() + i)] = error.what();
      }
    }
  });
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(texts, Each(AllOf(texts.front(), HasSubstr("graph[1]"))));
}

TEST(Stuck, GraphDestroyedAfterwards_IsForgotten) {
  const int code = run_world(3, 1, [](World& world) {
    {
      TaskGraph<int> graph(world, "graph");
      set_up(graph, 2);
      graph.fulfill(world.rank());
      EXPECT_THROW(world.wait(), StuckError);
    }
    world.wait();
  });
  EXPECT_EQ(code, 0);
}

TEST(Stuck, MessagesForAnActiveMessageNeverMadeThere_NamesSourceAndTarget) {
  const auto texts = stuck_texts(4, 1, [](World& world) {
    const auto first = world.make_am([](int) {});
    if (world.rank() == 3) return world.wait();
    const auto second = world.make_am([](const std::string&) {}, {.name = "second"});
    if (world.rank() == 1) {
      for (int i = 0; i < 10; ++i) second.send(Rank(3), std::string(100, 'x'));
    }
    world.wait();
  });
  EXPECT_THAT(texts.front(), AllOf(HasSubstr("rank 3: messages from rank 1"),
                                   HasSubstr("for second, which was never made here")));
}

TEST(Stuck, MessagesForAnActiveMessageMadeLater_RunThen) {
  std::atomic<int> ran{0};
  const int code = run_world(3, 2, [&](World& world) {
    const auto make = [&] {
      return world.make_am([&](const std::vector<int>& v) { ran += v.at(0); });
    };
    if (world.rank() == 2) {
      EXPECT_THROW(world.wait(), StuckError);
      const auto am = make();
      world.wait();
    } else {
      const auto am = make();
      for (int i = 1; i <= 100; ++i) am.send(Rank(2), std::vector<int>{i});
      EXPECT_THROW(world.wait(), StuckError);
      world.wait();
    }
    EXPECT_EQ(ran.load(), 2 * 5050);
  });
  EXPECT_EQ(code, 0);
}

TEST(Stuck, LargeMessagesForOneNeverMadeThere_AreNamedAndFreed) {
  const auto texts = stuck_texts(2, 1, [](World& world) {
    if (world.rank() == 1) return world.wait();
    std::vector<double> place(100);
    const auto large = world.make_large_am<double>(
        [&](std::size_t count, const std::string&) { return std::span(place).first(count); },
        [](std::span<double>, const std::string&) {}, [](const std::string&) {});
    const std::vector<double> payload(100);
    large.send(Rank(1), payload, std::string(100, 'y'));
    world.wait();
  });
  EXPECT_THAT(texts.front(), HasSubstr("rank 1: messages from rank 0"));
}

// More than the window holds: the sender must not stand still in send() for ever.
TEST(Stuck, FloodForAnActiveMessageNeverMadeThere_DoesNotHang) {
  const auto texts = stuck_texts(2, 1, [](World& world) {
    if (world.rank() == 1) return world.wait();
    const auto am = world.make_am([](const std::vector<char>&) {});
    for (int i = 0; i < 100; ++i) am.send(Rank(1), std::vector<char>(100'000));
    world.wait();
  });
  EXPECT_THAT(texts.front(), HasSubstr("rank 1: messages from rank 0"));
}

TEST(Stuck, RepairedWhileOtherRanksHaveEnded_IsNoErrorOfTheirs) {
  const int code = run_world(3, 1, [](World& world) {
    if (world.rank() != 1) return;
    TaskGraph<int> graph(world, "graph");
    set_up(graph, 2);
    graph.fulfill(1);
    EXPECT_THROW(world.wait(), StuckError);
    graph.fulfill(1);
    world.wait();
  });
  EXPECT_EQ(code, 0);
}

TEST(Stuck, UncaughtOnOneRank_EndsTheOthersThatRepair) {
  std::atomic<int> told{0};
  testing::internal::CaptureStderr();
  const int code = run_world(3, 1, [&](World& world) {
    TaskGraph<int> graph(world, "graph");
    set_up(graph, 2);
    if (world.rank() == 0) graph.fulfill(1);
    if (world.rank() == 2) return world.wait();
    EXPECT_THROW(world.wait(), StuckError);
    try {
      world.wait();
    } catch (const shoal::TaskError& error) {
      EXPECT_EQ(error.rank(), 2);
      EXPECT_THAT(error.text(), HasSubstr("graph[1]"));
      ++told;
      throw;
    }
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_EQ(occurrences(said, "graph[1]"), 1U) << said;
  EXPECT_EQ(told.load(), 2);
}

TEST(Stuck, WhileAFailureIsKnown_TheFailureIsReported) {
  testing::internal::CaptureStderr();
  const int code = run_world(3, 1, [](World& world) {
    TaskGraph<int> graph(world, "graph");
    set_up(graph, 2);
    graph.fulfill(1);
    if (world.rank() == 1) world.spawn([] { throw std::runtime_error("worse"); });
    EXPECT_THROW(world.wait(), shoal::TaskError);
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);  // all ranks caught it
}

// A function of the program that throws while the report is made.
TEST(Stuck, NameFunctionThatThrows_StandsInTheReportInstead) {
  for (const int culprit : {0, 1}) {
    std::atomic<int> thrown{0};
    const int code = run_world(2, 1, [&](World& world) {
      TaskGraph<int> graph(world, "graph");
      set_up(graph, 2);
      graph.set_name([](int) -> std::string { throw std::runtime_error("no name"); });
      if (world.rank() == culprit) graph.fulfill(1);
      try {
        world.wait();
      } catch (const StuckError& error) {
        EXPECT_THAT(error.what(), HasSubstr("no name"));
        ++thrown;
      }
    });
    EXPECT_EQ(code, 0);  // caught, and the graph is gone
    EXPECT_EQ(thrown.load(), 2);
  }
}

}  // namespace team_stuck_test

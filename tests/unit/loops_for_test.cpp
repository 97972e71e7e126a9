// Loops: each iteration runs once, whatever the others do.

#include <shoal/loops.hpp>
#include <shoal/shoal.hpp>

#include "support/many_orders.hpp"
#include "support/on_workers.hpp"
#include "support/refusal.hpp"
#include "support/wait_world.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <forward_list>
#include <limits>
#include <list>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace loops_for_test {

using shoal::CancelledError;
using shoal::CheckError;
using shoal::TaskGroup;
using shoal::World;
using shoal::testing::in_many_orders;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::text_of;
using shoal::testing::texts_of;
using testing::Each;
using testing::HasSubstr;

class Loops : public shoal::testing::OnWorkers {};
INSTANTIATE_TEST_SUITE_P(Workers, Loops, shoal::testing::kWorkerCounts,
                         testing::PrintToStringParamName());

TEST_P(Loops, EachIteration_RunsOnce) {
  run([](World&) {
    for (const int count : {0, 1, 2, 3, 7, 100, 10'000, 300'000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      shoal::parallel_for(0, count, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
      for (const auto& one : runs) ASSERT_EQ(one.load(), 1) << count;
    }
  });
}

TEST_P(Loops, RunInATask_AndInTheMainFunction) {
  run([](World& world) {
    std::atomic<long> sum{0};
    for (int t = 0; t < 10; ++t) {
      world.spawn([&] { shoal::parallel_for(0, 1000, [&](int i) { sum += i; }); });
    }
    shoal::parallel_for(0, 1000, [&](int i) { sum += i; });
    world.wait();
    EXPECT_EQ(sum.load(), 11L * 999 * 500);
  });
}

TEST_P(Loops, NumbersOfAnyType) {
  run([](World&) {
    std::atomic<long> sum{0};
    shoal::parallel_for(-5, 6L, [&](long i) { sum += i + 1; });
    EXPECT_EQ(sum.load(), 11);
    const std::vector<int> values(77, 1);
    shoal::parallel_for(0, values.size(), [&](std::size_t i) { sum += values[i]; });
    EXPECT_EQ(sum.load(), 88);
    constexpr auto kLargest = std::numeric_limits<std::uint64_t>::max();
    std::atomic<std::uint64_t> all{0};
    shoal::parallel_for(kLargest - 10, kLargest, [&](std::uint64_t i) { all += kLargest - i; });
    EXPECT_EQ(all.load(), 55U);
    std::atomic<int> small{0};
    shoal::parallel_for(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t i) { small += i; });
    EXPECT_EQ(small.load(), -255);
  });
}

TEST_P(Loops, PiecesOfARange) {
  run([](World&) {
    std::vector<std::atomic<int>> runs(5000);
    shoal::parallel_for(0, 5000, [&](int begin, int end) {
      ASSERT_LT(begin, end);
      for (; begin != end; ++begin) ++runs[static_cast<std::size_t>(begin)];
    });
    for (const auto& one : runs) ASSERT_EQ(one.load(), 1);
  });
}

TEST_P(Loops, IteratorsAndContainers) {
  run([](World&) {
    std::vector<int> values(1000, 1);
    shoal::parallel_for(values.begin(), values.end(), [](int& value) { ++value; });
    shoal::parallel_for(values, [](int& value) { ++value; });
    int plain[3] = {5, 6, 7};
    shoal::parallel_for(plain, [](int& value) { ++value; });
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 3000);
    EXPECT_EQ(plain[0] + plain[1] + plain[2], 21);
  });
}

TEST_P(Loops, RowsAndColumns) {
  run([](World&) {
    for (const auto& [rows, columns] :
         {std::pair{1, 1}, {3, 1000}, {1000, 3}, {130, 257}, {0, 5}, {5, 0}}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(rows * columns));
      const auto at = [&](std::int64_t i, std::int64_t j) {
        return static_cast<std::size_t>((i - 10) * columns + (j + 7));
      };
      const shoal::Range2D range{{10, 10 + rows}, {-7, columns - 7}};
      shoal::parallel_for(range, [&](std::int64_t i, std::int64_t j) { ++runs[at(i, j)]; });
      shoal::parallel_for(range, [&](const shoal::Range2D& block) {
        ASSERT_LE(block.rows.size(), 64);
        ASSERT_LE(block.columns.size(), 64);
        for (std::int64_t i = block.rows.first; i < block.rows.last; ++i) {
          for (std::int64_t j = block.columns.first; j < block.columns.last; ++j) ++runs[at(i, j)];
        }
      });
      for (const auto& one : runs) ASSERT_EQ(one.load(), 2) << rows << " x " << columns;
    }
  });
}

TEST_P(Loops, Invoke_CallsEachFunctionOnce) {
  run([](World&) {
    std::array<std::atomic<int>, 4> calls{};
    for (int round = 0; round < 100; ++round) {
      shoal::parallel_invoke([&] { ++calls[0]; }, [&] { ++calls[1]; }, [&] { ++calls[2]; },
                             [&] { ++calls[3]; });
      shoal::parallel_invoke([&] { ++calls[0]; });
    }
    EXPECT_EQ(calls[0].load(), 200);
    for (const int n : {1, 2, 3}) EXPECT_EQ(calls[static_cast<std::size_t>(n)].load(), 100);
  });
}

int fib(int n) {
  if (n < 2) return n;
  int a = 0;
  int b = 0;
  shoal::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
  return a + b;
}

TEST_P(Loops, Invoke_Nests) {
  run([](World&) { EXPECT_EQ(fib(15), 610); });
}

TEST_P(Loops, ForEach_IteratorsOfAllKinds) {
  run([](World&) {
    std::list<int> list(500, 1);
    shoal::parallel_for_each(list, [](int& value) { ++value; });
    EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0), 1000);
    std::forward_list<int> other(list.begin(), list.end());
    std::atomic<int> sum{0};
    shoal::parallel_for_each(other.begin(), other.end(), [&](int value) { sum += value; });
    std::istringstream text("1 2 3 4 5");
    shoal::parallel_for_each(std::istream_iterator<int>(text), std::istream_iterator<int>(),
                             [&](int value) { sum += value; });
    std::vector<int> vector(10, 1);
    shoal::parallel_for_each(vector, [&](int value) { sum += value; });
    EXPECT_EQ(sum.load(), 1025);
  });
}

TEST_P(Loops, ForEach_FedItems_AreTakenToo) {
  run([](World&) {
    // Nodes of a binary tree, by their numbers.
    std::vector<std::atomic<int>> visits(20'000);
    const std::vector<int> roots{1};
    shoal::parallel_for_each(roots, [&](int node, shoal::Feeder<int>& feeder) {
      ++visits[static_cast<std::size_t>(node)];
      for (const int child : {2 * node, 2 * node + 1}) {
        if (child < 20'000) feeder.add(child);
      }
    });
    for (std::size_t n = 1; n < visits.size(); ++n) ASSERT_EQ(visits[n].load(), 1) << n;
  });
}

TEST_P(Loops, ForEach_ItemsThatOnlyMove) {
  run([](World&) {
    std::vector<std::unique_ptr<int>> items;
    items.push_back(std::make_unique<int>(10));
    std::atomic<int> calls{0};
    shoal::parallel_for_each(
        std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()),
        [&](std::unique_ptr<int> item, shoal::Feeder<std::unique_ptr<int>>& feeder) {
          ++calls;
          if (*item > 0) feeder.add(std::make_unique<int>(*item - 1));
        });
    EXPECT_EQ(calls.load(), 11);
  });
}

TEST_P(Loops, Nest) {
  run([](World&) {
    std::vector<std::atomic<int>> runs(40 * 50 * 30);
    shoal::parallel_for(0, 40, [&](int i) {
      shoal::parallel_for(0, 50, [&](int j) {
        shoal::parallel_for(
            0, 30, [&](int k) { ++runs[static_cast<std::size_t>((i * 50 + j) * 30 + k)]; });
      });
    });
    for (const auto& one : runs) ASSERT_EQ(one.load(), 1);
  });
}

TEST_P(Loops, FirstException_ComesOut_AndTheRestIsSkipped) {
  run([](World&) {
    std::atomic<int> begun{0};
    const auto loop = [&] {
      shoal::parallel_for(0, 1'000'000, [&](int i) {
        ++begun;
        if (i == 100) throw std::runtime_error("iteration 100");
      });
    };
    EXPECT_EQ(text_of<std::runtime_error>(loop), "iteration 100");
    EXPECT_LT(begun.load(), 1'000'000);
    begun = 0;
    EXPECT_EQ(text_of<std::runtime_error>([] {
                shoal::parallel_invoke([] { throw std::runtime_error("one"); },
                                       [] { throw std::runtime_error("one"); });
              }),
              "one");
    EXPECT_EQ(text_of<std::runtime_error>([] {
                const std::vector<int> one{1};
                shoal::parallel_for_each(one, [](int item, shoal::Feeder<int>& feeder) {
                  for (int i = 0; i < 10; ++i) feeder.add(item + 1);
                  if (item == 5) throw std::runtime_error("item 5");
                });
              }),
              "item 5");
  });
}

TEST_P(Loops, AnExceptionOfANestedLoop_ComesOutOfTheOuterOne) {
  run([](World&) {
    const auto loop = [] {
      shoal::parallel_for(0, 100, [](int i) {
        shoal::parallel_for(0, 100, [i](int j) {
          if (i == 7 && j == 9) throw std::runtime_error("7, 9");
        });
      });
    };
    EXPECT_EQ(text_of<std::runtime_error>(loop), "7, 9");
  });
}

TEST_P(Loops, OfACancelledGroup_SkipTheRest) {
  run([](World&) {
    std::atomic<int> begun{0};
    std::string text;
    TaskGroup group;
    group.spawn([&] {
      text = text_of<CancelledError>([&] {
        shoal::parallel_for(0, 1'000'000,
                            [&](int i) {
                              ++begun;
                              if (i == 100) group.cancel();
                            },
                            {.name = "sweep"});
      });
      if (!text.empty()) throw CancelledError("the task ends");  // is no error of the group
    });
    group.wait();
    EXPECT_EQ(text, "sweep: the task group of its caller was cancelled");
    EXPECT_LT(begun.load(), 1'000'000);
  });
}

TEST_P(Loops, CancelledByTheLastIteration_SkipNothing) {
  run([](World&) {
    TaskGroup group;
    group.spawn([&] { shoal::parallel_for(0, 1, [&](int) { group.cancel(); }); });
    group.wait();
  });
}

/// The CancelledError of `loop` in a group that is cancelled already.
template <class F>
std::string text_when_cancelled(F loop) {
  std::string text;
  TaskGroup group;
  group.spawn([&] {
    group.cancel();
    text = text_of<CancelledError>(loop);
  });
  group.wait();
  return text;
}

TEST_P(Loops, InACancelledGroup_BeginNoIteration) {
  run([](World&) {
    int begun = 0;
    for (const int count : {1, 2, 1000}) {
      const std::vector<int> items(static_cast<std::size_t>(count));
      EXPECT_THAT(
          text_when_cancelled([&] { shoal::parallel_for(0, count, [&](int) { ++begun; }); }),
          HasSubstr("parallel_for: the task group of its caller was cancelled"));
      EXPECT_THAT(text_when_cancelled([&] {
                    shoal::parallel_for_each(items, [&](int, shoal::Feeder<int>&) { ++begun; });
                  }),
                  HasSubstr("parallel_for_each: the task group of its caller was cancelled"));
    }
    EXPECT_EQ(begun, 0);
  });
}

// Each share of a waiting worker began its first piece, and so all did.
TEST_P(Loops, WhoseIterationsWait_BeginNoShareAfterACancellation) {
  run([](World& world) {
    shoal::Promise<void> go("go");
    auto gone = go.future();
    std::atomic<int> begun{0};
    std::atomic<int> late{0};
    TaskGroup group;
    group.spawn([&] {
      shoal::parallel_for(0, 100'000, [&](int) {
        if (group.is_cancelled()) ++late;
        if (++begun == 5) {
          group.cancel();
          go.set_value();
        }
        gone.wait();
      });
    });
    group.wait();
    // those that were about to begin
    EXPECT_LE(late.load(), world.worker_count());
  });
}

TEST_P(Loops, IterationsThatWait_LetOthersRun) {
  run([](World& world) {
    // Each waits for a task that is queued after the loop has begun.
    std::atomic<int> done{0};
    shoal::parallel_for(0, 200, [&](int i) {
      shoal::Future<int> later = world.async([i] { return i; });
      shoal::yield();
      if (later.get() == i) ++done;
    });
    EXPECT_EQ(done.load(), 200);
  });
}

// An iteration of the outer loop on the stack of one that has the lock would wait for it for ever.
void check_isolation(World& world, int outer, int inner) {
  shoal::Mutex mutex(world, "of an iteration");
  int done = 0;
  shoal::parallel_for(0, outer, [&](int) {
    const std::unique_lock lock(mutex);
    shoal::parallel_for(0, inner, [](int i) {
      if (i % 3 == 0) shoal::yield();
    });
    ++done;
  });
  EXPECT_EQ(done, outer);
}

TEST_P(Loops, AreIsolated_AWaitRunsNoIterationOfAnOuterLoop) {
  run([](World& world) { check_isolation(world, 100, 20); });
}

TEST(LoopsInOrders, AreIsolated_InAnyOrder) {
  in_many_orders([](World& world) { check_isolation(world, 6, 4); });
}

TEST_P(Loops, FunctionsOfAnInvoke_MayWaitForEachOther) {
  run([](World&) {
    // One at a time is in a piece, so that one that waits holds up no other.
    shoal::Latch first(1);
    shoal::Latch second(1);
    shoal::parallel_invoke(
        [&] {
          second.wait();
          first.count_down();
        },
        [&] { second.count_down(); }, [&] { first.wait(); });
  });
}

TEST_P(Loops, Invoke_WithOptions) {
  run([](World&) {
    std::atomic<int> calls{0};
    const auto call = [&calls] { ++calls; };
    const shoal::LoopOptions options{.name = "both", .priority = 3};
    shoal::parallel_invoke(options, call, call);
    shoal::parallel_invoke({.name = "one"}, call);
    EXPECT_EQ(calls.load(), 3);
  });
}

TEST_P(Loops, WithAPriority) {
  run([](World& world) {
    std::atomic<int> sum{0};
    for (const int priority : {5, -5}) {
      shoal::parallel_for(0, 10'000, [&](int) { ++sum; }, {.priority = priority});
    }
    world.spawn([&] { shoal::parallel_for(0, 10'000, [&](int) { ++sum; }); }, {.priority = 7});
    world.wait();
    EXPECT_EQ(sum.load(), 30'000);
  });
}

TEST_P(Loops, WithAnAffinity_BeginWhereTheLastOneRan) {
  run([](World& world) {
    shoal::Affinity affinity;
    EXPECT_FALSE(affinity.worker_of(0).has_value());
    for (int round = 0; round < 20; ++round) {
      std::vector<std::atomic<int>> runs(2000);
      shoal::parallel_for(0, 2000, [&](int i) { ++runs[static_cast<std::size_t>(i)]; },
                          {.affinity = &affinity});
      for (const auto& one : runs) ASSERT_EQ(one.load(), 1) << round;
      for (int i = 0; i < 2000; ++i) {
        const auto worker = affinity.worker_of(i);
        ASSERT_TRUE(worker.has_value()) << i;
        ASSERT_LT(worker->value(), world.worker_count());
      }
    }
    EXPECT_FALSE(affinity.worker_of(2000).has_value());
    std::atomic<int> sum{0};
    shoal::parallel_for(0, 7, [&](int) { ++sum; }, {.affinity = &affinity});  // another number
    EXPECT_EQ(sum.load(), 7);
  });
}

TEST_P(Loops, ManyRepeatedOnes_LeaveNoTaskBehind) {
  run([](World& world) {
    std::atomic<long> sum{0};
    world.spawn([&] {
      for (int round = 0; round < 20'000; ++round) {
        shoal::parallel_for(0, 3, [&](int) { sum.fetch_add(1, std::memory_order_relaxed); });
      }
    });
    world.wait();
    EXPECT_EQ(sum.load(), 60'000);
  });
}

TEST_P(Loops, TasksThatIterationsSpawn_RunBesides) {
  run([](World& world) {
    std::atomic<int> spawned{0};
    for (int round = 0; round < 50; ++round) {
      shoal::parallel_for(0, 20, [&](int) { world.spawn([&] { ++spawned; }); });
    }
    world.wait();
    EXPECT_EQ(spawned.load(), 1000);
  });
}

TEST(LoopsInOrders, EachIteration_RunsOnce_InAnyOrder) {
  in_many_orders([](World& world) {
    std::vector<int> runs(60, 0);
    std::set<int> workers;
    shoal::Affinity affinity;
    for (int round = 0; round < 3; ++round) {
      shoal::parallel_for(0, 60,
                          [&](int i) {
                            ++runs[static_cast<std::size_t>(i)];
                            if (i % 7 == 0) shoal::yield();
                            if (i == 30)
                              shoal::parallel_for(0, 10,
                                                  [&](int j) { runs[59] += j == 3 ? 1 : 0; });
                          },
                          {.affinity = &affinity});
    }
    for (std::size_t i = 0; i < 59; ++i) ASSERT_EQ(runs[i], 3) << i;
    EXPECT_EQ(runs[59], 6);
    int fed = 0;
    shoal::parallel_for_each(std::vector<int>{1}, [&](int node, shoal::Feeder<int>& feeder) {
      ++fed;
      if (node % 5 == 0) shoal::yield();
      for (const int child : {2 * node, 2 * node + 1}) {
        if (child < 64) feeder.add(child);
      }
    });
    EXPECT_EQ(fed, 63);
    static_cast<void>(world);
  });
}

TEST(LoopsInOrders, Exceptions_InAnyOrder) {
  in_many_orders([](World&) {
    int caught = 0;
    try {
      shoal::parallel_for(0, 50, [](int i) {
        if (i % 10 == 3) shoal::yield();
        if (i % 20 == 7) throw std::runtime_error("7");
      });
    } catch (const std::runtime_error&) {
      ++caught;
    }
    EXPECT_EQ(caught, 1);
  });
}

TEST(LoopsInOrders, OtherWorkersTakePart) {
  int shared = 0;  // orders in which two workers ran iterations
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    shoal::testing::run_turns({.seed = seed, .ranks = 1, .workers = 2}, [&](World&) {
      shoal::Affinity affinity;
      shoal::parallel_for(0, 100, [](int) {}, {.affinity = &affinity});
      std::set<int> workers;
      for (int i = 0; i < 100; ++i) workers.insert(affinity.worker_of(i)->value());
      shared += workers.size() == 2 ? 1 : 0;
      return 0;
    });
  }
  EXPECT_GT(shared, 10);
}

// --- misuse

TEST(LoopsRefused, InAHandler) {
  const auto texts = texts_of<shoal::TaskError>(1, 1, [](World& world) {
    const auto handler = world.make_am([](int n) { shoal::parallel_for(0, n, [](int) {}); });
    handler.send(world.rank(), 5);
    world.wait();
  });
  EXPECT_THAT(texts, Each(HasSubstr("parallel_for was called in")));
}

TEST(LoopsRefused, OnAThreadThatIsNoWorker) {
  EXPECT_EQ(run_world(1, 1,
                      [](World&) {
                        std::string text;
                        std::thread thread([&text] {
                          text = text_of<CheckError>([] { shoal::parallel_for(0, 3, [](int) {}); });
                        });
                        thread.join();
                        EXPECT_THAT(text, HasSubstr("parallel_for was made or used on a thread "
                                                    "outside shoal's workers"));
                      }),
            0);
  EXPECT_THAT(text_of<CheckError>([] { shoal::parallel_invoke([] {}, [] {}); }),
              HasSubstr("parallel_invoke was made or used on a thread outside shoal's workers"));
}

TEST_P(Loops, OfARangeThatEndsBeforeItBegins_RunNothing) {
  run([](World&) {
    int begun = 0;
    const auto count = [&](auto&&...) { ++begun; };
    shoal::parallel_for(1, -1, [&](int i) { count(i); });
    shoal::parallel_for(INT64_MAX, INT64_MIN, [&](std::int64_t i) { count(i); });
    shoal::parallel_for(std::size_t{3}, -1, [&](std::size_t i) { count(i); });
    shoal::parallel_for(5, 3, [&](int b, int e) { count(b, e); });
    shoal::parallel_for(shoal::Range2D{.rows = {0, 3}, .columns = {1, 0}},
                        [&](std::int64_t i, std::int64_t j) { count(i, j); });
    std::vector<int> values = {3, 2, 1};
    const auto begin = values.begin();
    const auto end = values.end();
    shoal::parallel_for(end, begin, [&](int i) { count(i); });
    shoal::parallel_for_each(end, begin, [&](int i) { count(i); });
    EXPECT_EQ(shoal::parallel_reduce(1, -1, 7, [&](int i) { return ++begun, i; }), 7);
    EXPECT_EQ(shoal::parallel_reduce(end, begin, 7, [&](int i) { return ++begun, i; }), 7);
    shoal::parallel_scan(end, begin, end);
    shoal::parallel_exclusive_scan(end, begin, end, 5);
    shoal::parallel_sort(end, begin);
    EXPECT_EQ(begun, 0);
    EXPECT_EQ(values, (std::vector<int>{3, 2, 1}));
  });
}

TEST(LoopsRefused, ARangeThatItsTypeDoesNotCount) {
  EXPECT_EQ(
      run_world(1, 1,
                [](World&) {
                  EXPECT_EQ(text_of<CheckError>([] {
                              const std::size_t none = 0;
                              shoal::parallel_for(1, none - 1, [](std::size_t) {},
                                                  {.name = "inner"});
                            }),
                            "parallel_for 'inner': its range, 1 to 18446744073709551615, has more "
                            "than 2^63 - 1 iterations: is an unsigned number below zero?");
                  EXPECT_EQ(text_of<CheckError>([] {
                              static_cast<void>(shoal::parallel_reduce(
                                  INT64_MIN, INT64_MAX, 0, [](std::int64_t) { return 0; }));
                            }),
                            "parallel_reduce: its range, -9223372036854775808 to "
                            "9223372036854775807, has more than 2^63 - 1 iterations: is an "
                            "unsigned number below zero?");
                  EXPECT_EQ(text_of<CheckError>([] {
                              shoal::parallel_for(-1, std::size_t{3}, [](std::size_t) {});
                            }),
                            "parallel_for: its range, -1 to 3, has an end that the common type of "
                            "both ends does not hold: give both the same type");
                }),
      0);
}

TEST(LoopsRefused, ARangeOfNumbersBelowZero_In32Bits) {
  EXPECT_EQ(run_world(1, 1,
                      [](World&) {
                        const unsigned none = 0;
                        EXPECT_EQ(
                            text_of<CheckError>(
                                [] { shoal::parallel_for(1, none - 2, [](unsigned) {}); }),
                            "parallel_for: its range, 1 to 4294967294, ends just below 2^32: is an "
                            "unsigned number below zero? If not, give 64 bits");
                        int begun = 0;
                        shoal::parallel_for(none - 2, none - 1, [&](unsigned) { ++begun; });
                        EXPECT_EQ(begun, 1);
                      }),
            0);
}

TEST(LoopsRefused, NumbersThatTheParameterDoesNotHold) {
  EXPECT_EQ(
      run_world(1, 1,
                [](World&) {
                  const auto cut = [](const std::string& call, const std::string& range) {
                    return call + ": its range, " + range +
                           ", has numbers that the parameter of the function does not hold: give "
                           "that more bits";
                  };
                  const std::int64_t large = std::int64_t{1} << 32;
                  EXPECT_EQ(text_of<CheckError>([&] { shoal::parallel_for(0, large, [](int) {}); }),
                            cut("parallel_for", "0 to 4294967296"));
                  EXPECT_EQ(
                      text_of<CheckError>([&] { shoal::parallel_for(0, large, [](int, int) {}); }),
                      cut("parallel_for", "0 to 4294967296"));
                  const auto map = [](int& sum, std::uint8_t i) { sum += i; };
                  EXPECT_EQ(text_of<CheckError>(
                                [&] { static_cast<void>(shoal::parallel_reduce(0, 257, 0, map)); }),
                            cut("parallel_reduce", "0 to 257"));
                  EXPECT_EQ(shoal::parallel_reduce(0, 256, 0, map), 32640);
                  EXPECT_EQ(text_of<CheckError>([&] {
                              shoal::parallel_for(shoal::Range2D{{0, 1}, {-5, large}},
                                                  [](std::int64_t, int) {});
                            }),
                            cut("parallel_for", "-5 to 4294967296"));
                  std::atomic<long> sum{0};
                  shoal::parallel_for(-3L, 4L, [&](int i) { sum += i + 1; });
                  EXPECT_EQ(sum.load(), 7);
                }),
      0);
}

// There are 4096 blocks, or nearly as many, which a worker goes through in some 50 pieces.
TEST(LoopsOfTwo, BlocksOfAPiece_AreJoined) {
  const auto result = run_turns({.seed = 1, .ranks = 1, .workers = 1}, [](World&) {
    for (const auto& [size, most] : {std::pair{64, 200}, {100, 400}, {1000, 1500}}) {
      int blocks = 0;
      shoal::parallel_for(shoal::Range2D{{0, size}, {0, size}},
                          [&](const shoal::Range2D&) { ++blocks; });
      EXPECT_LT(blocks, most) << size;
    }
    return 0;
  });
  EXPECT_EQ(result.errors[0], nullptr);
}

TEST(LoopsStuck, AnIterationThatWaitsForEver_IsNamed) {
  const auto texts = texts_of<shoal::StuckError>(1, 2, [](World& world) {
    world.spawn([] {
      shoal::Latch never(1, "a latch that nobody counts down");
      shoal::parallel_for(0, 2, [&](int i) { i == 1 ? never.wait() : static_cast<void>(0); },
                          {.name = "sweep"});
    });
    world.wait();
  });
  EXPECT_THAT(texts, Each(HasSubstr("a latch that nobody counts down")));
}

TEST(LoopsStuck, InTheMainFunction_FailTheWorld) {
  for (const int workers : {1, 2}) {
    const auto texts = texts_of<shoal::StuckError>(1, workers, [](World&) {
      shoal::Latch never(1, "a latch that nobody counts down");
      shoal::parallel_for(0, 10, [&](int i) {
        if (i == 7) never.wait();
      });
    });
    EXPECT_THAT(texts, Each(HasSubstr("a latch that nobody counts down")));
  }
}

TEST(LoopsStuck, OfAFailedWorld_End) {
  const auto texts = texts_of<shoal::TaskError>(1, 2, [](World& world) {
    world.spawn([] { throw std::runtime_error("fails"); });
    for (;;) shoal::parallel_for(0, 1000, [](int) { shoal::yield(); });
  });
  EXPECT_THAT(texts, Each(HasSubstr("fails")));
}

}  // namespace loops_for_test

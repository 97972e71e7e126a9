// Reductions, scans, and values of workers.

#include <shoal/loops.hpp>
#include <shoal/shoal.hpp>
#include <shoal/task_group.hpp>
#include <shoal/worker_local.hpp>

#include "support/many_orders.hpp"
#include "support/on_workers.hpp"
#include "support/wait_world.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace loops_reduce_test {

using shoal::World;
using shoal::testing::in_many_orders;
using shoal::testing::run_world;
using testing::HasSubstr;

class Reductions : public shoal::testing::OnWorkers {};
INSTANTIATE_TEST_SUITE_P(Workers, Reductions, shoal::testing::kWorkerCounts,
                         testing::PrintToStringParamName());

struct Join {
  std::string operator()(const std::string& a, const std::string& b) const { return a + b; }
};

TEST_P(Reductions, Sum) {
  run([](World&) {
    for (const int count : {0, 1, 2, 3, 1000, 1023, 1024, 1025, 100'000}) {
      EXPECT_EQ(shoal::parallel_reduce(0, count, 0L, [](int i) { return long{i}; }),
                long{count} * (count - 1) / 2)
          << count;
    }
    const std::vector<int> values(5000, 3);
    EXPECT_EQ(shoal::parallel_reduce(values, 0, [](int value) { return value; }), 15'000);
    EXPECT_EQ(shoal::parallel_reduce(values.begin() + 1, values.end(), 0,
                                     [](int value) { return value; }),
              14'997);
    const int* const begin = values.data();
    EXPECT_EQ(shoal::parallel_reduce(begin, begin + 10, 0, [](const int& value) { return value; }),
              30);
  });
}

TEST_P(Reductions, OfRowsAndColumns) {
  run([](World&) {
    for (const std::int64_t rows : {0, 1, 3, 1023, 2000}) {
      for (const std::int64_t columns : {0, 1, 7, 64, 1025, 5000}) {
        if (rows * columns > 2'000'000) continue;
        const shoal::Range2D range{.rows = {-1, rows - 1}, .columns = {2, columns + 2}};
        std::int64_t expected = 0;
        for (std::int64_t i = -1; i < rows - 1; ++i) {
          for (std::int64_t j = 2; j < columns + 2; ++j) expected += i * 10'000 + j;
        }
        EXPECT_EQ(shoal::parallel_reduce(range, std::int64_t{0},
                                         [](std::int64_t i, int j) { return i * 10'000 + j; }),
                  expected)
            << rows << " x " << columns;
        EXPECT_EQ(shoal::parallel_reduce(range, std::int64_t{0},
                                         [](std::int64_t& sum, std::int64_t i, std::int64_t j) {
                                           sum += i * 10'000 + j;
                                         }),
                  expected)
            << rows << " x " << columns;
      }
    }
  });
}

TEST_P(Reductions, OfRowsAndColumns_KeepTheOrder) {
  run([](World&) {
    for (const int columns : {1, 5, 300}) {
      constexpr int kRows = 11;
      std::string expected;
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < columns; ++j) expected += std::to_string((i + j) % 10);
      }
      EXPECT_EQ(shoal::parallel_reduce(
                    shoal::Range2D{.rows = {0, kRows}, .columns = {0, columns}}, std::string(),
                    [](int i, int j) { return std::to_string((i + j) % 10); }, Join()),
                expected);
    }
  });
}

TEST(Reductions2D, OfTooManyParts_AreRefused) {
  EXPECT_EQ(run_world(1, 1,
                      [](World&) {
                        constexpr std::int64_t kMany = std::int64_t{1} << 40;
                        try {
                          static_cast<void>(shoal::parallel_reduce(
                              shoal::Range2D{.rows = {0, kMany}, .columns = {0, kMany}}, 0,
                              [](std::int64_t, std::int64_t) { return 1; }));
                          ADD_FAILURE() << "not refused";
                        } catch (const shoal::CheckError& error) {
                          EXPECT_THAT(error.what(), HasSubstr("has more than 2^63 - 1 parts"));
                        }
                      }),
            0);
}

TEST_P(Reductions, KeepTheOrder) {
  run([](World&) {
    for (const int count : {1, 2, 3, 5, 1030, 3000}) {
      std::string expected;
      for (int i = 0; i < count; ++i) expected += std::to_string(i % 10);
      EXPECT_EQ(shoal::parallel_reduce(
                    0, count, std::string(), [](int i) { return std::to_string(i % 10); }, Join()),
                expected);
    }
  });
}

TEST_P(Reductions, ThatAddToTheSum) {
  run([](World&) {
    const auto counts = shoal::parallel_reduce(
        0, 10'000, std::vector<int>(10),
        [](std::vector<int>& sum, int i) { ++sum[static_cast<std::size_t>(i % 10)]; },
        [](std::vector<int> a, const std::vector<int>& b) {
          for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
          return a;
        });
    EXPECT_EQ(counts, std::vector<int>(10, 1000));
  });
}

TEST_P(Reductions, Exceptions) {
  run([](World&) {
    const auto sum = [] {
      return shoal::parallel_reduce(0, 100'000, 0, [](int i) {
        if (i == 60'000) throw std::runtime_error("60000");
        return i % 3;
      });
    };
    EXPECT_THROW(static_cast<void>(sum()), std::runtime_error);
  });
}

/// Calls `call(step)` in a group, where step() cancels that, or throws, at its 1000th call, and
/// sleeps from then on; expects that few calls begin after it, and the error.
template <class F>
void expect_early_end(const char* name, int workers, bool throws, F call) {
  SCOPED_TRACE(name);
  SCOPED_TRACE(throws ? "throws" : "is cancelled");
  std::atomic<int> begun{0};
  std::string text;
  shoal::TaskGroup group;
  const auto step = [&] {
    const int number = ++begun;
    if (number < 1000) return;
    if (number > 1000) return std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (throws) throw std::runtime_error("step 1000");
    group.cancel();
  };
  group.spawn([&] {
    try {
      call(step);
      ADD_FAILURE() << "returned a result";
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
  });
  group.wait();
  EXPECT_THAT(text, HasSubstr(throws ? "step 1000" : "the task group of its caller was cancelled"));
  // A piece has some thousands of calls at most, as those before the 1000th are short.
  EXPECT_LT(begun.load(), 1000 + 5000 * workers);
}

constexpr int kCount = 10'000'000;

void expect_early_ends(int workers) {
  const auto of_step = [](const auto& step) {
    return [&step](unsigned a, unsigned b) {  // scans of what was scanned overflow
      step();
      return a + b;
    };
  };
  std::vector<unsigned> values(1'000'000, 1);
  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i) names.push_back(std::to_string(i * 7919 % 100'003));
  for (const bool throws : {false, true}) {
    expect_early_end("reduce", workers, throws, [](const auto& step) {
      static_cast<void>(shoal::parallel_reduce(0, kCount, 0L, [&](int i) { return step(), i; }));
    });
    expect_early_end("reduce in place", workers, throws, [](const auto& step) {
      static_cast<void>(
          shoal::parallel_reduce(0, kCount, 0L, [&](long& sum, int i) { step(), sum += i; }));
    });
    expect_early_end("scan", workers, throws, [&](const auto& step) {
      shoal::parallel_scan(values.begin(), values.end(), values.begin(), of_step(step));
    });
    expect_early_end("exclusive scan", workers, throws, [&](const auto& step) {
      shoal::parallel_exclusive_scan(values.begin(), values.end(), values.begin(), 1U,
                                     of_step(step));
    });
    expect_early_end("sort", workers, throws, [&](const auto& step) {
      shoal::parallel_sort(values, [&](unsigned a, unsigned b) { return step(), a < b; });
    });
    expect_early_end("sort of strings", workers, throws, [&](const auto& step) {
      shoal::parallel_sort(
          names, [&](const std::string& a, const std::string& b) { return step(), a < b; });
    });
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::unique(names).size(), 0U) << "a sort has lost elements";
  }
}

TEST_P(Reductions, ThatAreCancelledOrFail_EndSoon) {
  run([](World& world) { expect_early_ends(world.worker_count()); });
}

// An iteration that waits lets its worker take a share of the rest, whose first piece is a block.
TEST_P(Reductions, WhoseIterationsWait_EndSoon) {
  run([](World&) {
    std::atomic<int> late{0};
    std::string text;
    shoal::TaskGroup group;
    shoal::Promise<void> go("go");
    auto gone = go.future();
    group.spawn([&] {
      std::atomic<int> begun{0};
      try {
        static_cast<void>(shoal::parallel_reduce(0, 100'000, 0L, [&](int i) {
          if (group.is_cancelled()) ++late;
          if (++begun == 5) {
            group.cancel();
            go.set_value();
          }
          gone.wait();
          return i;
        }));
        ADD_FAILURE() << "returned a sum";
      } catch (const shoal::CancelledError& error) {
        text = error.what();
      }
    });
    group.wait();
    EXPECT_EQ(text, "parallel_reduce: the task group of its caller was cancelled");
    EXPECT_LE(late.load(), 100);
  });
}

TEST(SortOfTheMainFunction, WhenTheWorldFails_ThrowsTheFailure) {
  const std::string text = shoal::testing::text_of<shoal::TaskError>(1, 2, [](World& world) {
    std::atomic<bool> begun{false};
    std::atomic<bool> fails{false};
    world.spawn([&] {
      while (!begun) shoal::yield();
      fails = true;
      throw std::runtime_error("no order");
    });
    std::vector<int> values(300'000);
    std::iota(values.rbegin(), values.rend(), 0);
    shoal::parallel_sort(values, [&](int a, int b) {
      begun = true;
      while (!fails) std::this_thread::yield();
      return a < b;
    });
  });
  EXPECT_THAT(text, testing::HasSubstr("no order"));
}

double sum_of(int count) {
  return shoal::parallel_reduce(0, count, 0.0, [](int i) { return std::sin(i * 0.37) * 1e3; });
}

double sum_of(const shoal::Range2D& range) {
  return shoal::parallel_reduce(
      range, 0.0, [](int i, int j) { return std::sin(i * 0.37) * std::cos(j * 0.71) * 1e3; });
}

TEST(SameResult, ForAnyNumberOfWorkers_BitByBit) {
  std::set<double> sums;
  std::set<double> sums_2d;
  std::set<std::vector<double>> scans;
  for (const int workers : {1, 2, 3, 4, 8}) {
    EXPECT_EQ(run_world(1, workers,
                        [&](World&) {
                          std::vector<double> values(50'000);
                          std::iota(values.begin(), values.end(), 0.1);
                          for (double& value : values) value = std::sin(value);
                          for (int round = 0; round < 5; ++round) {
                            sums.insert(sum_of(54'321));
                            sums_2d.insert(sum_of({.rows = {0, 123}, .columns = {5, 700}}));
                            std::vector<double> out(values.size());
                            shoal::parallel_scan(values.begin(), values.end(), out.begin());
                            scans.insert(out);
                          }
                        }),
              0);
  }
  EXPECT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums_2d.size(), 1U);
  EXPECT_EQ(scans.size(), 1U);
}

TEST(SameResult, InAnyOrder) {
  std::set<double> sums;
  std::set<double> sums_2d;
  in_many_orders([&](World&) {
    sums.insert(sum_of(300));
    sums_2d.insert(sum_of({.rows = {0, 20}, .columns = {0, 30}}));
  });
  EXPECT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums_2d.size(), 1U);
}

TEST_P(Reductions, Scan) {
  run([](World&) {
    for (const int count : {0, 1, 2, 3, 1023, 1025, 50'000}) {
      std::vector<long> values(static_cast<std::size_t>(count));
      std::iota(values.begin(), values.end(), 1);
      std::vector<long> expected(values.size());
      std::partial_sum(values.begin(), values.end(), expected.begin());
      std::vector<long> out(values.size());
      shoal::parallel_scan(values.begin(), values.end(), out.begin());
      ASSERT_EQ(out, expected) << count;
      shoal::parallel_exclusive_scan(values.begin(), values.end(), out.begin(), 10L);
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], 10 + (i == 0 ? 0 : expected[i - 1]));
      }
      shoal::parallel_scan(values.begin(), values.end(), values.begin());  // in place
      ASSERT_EQ(values, expected) << count;
    }
  });
}

TEST_P(Reductions, ScanIntoALargerType) {
  run([](World&) {
    const std::vector<bool> flags(1000, true);
    std::vector<int> counts(1000);
    shoal::parallel_scan(flags.begin(), flags.end(), counts.begin());
    EXPECT_EQ(counts.back(), 1000);
    const std::vector<std::int32_t> large(3, 2'000'000'000);
    std::vector<std::int64_t> sums(3);
    shoal::parallel_scan(large.begin(), large.end(), sums.begin());
    EXPECT_EQ(sums.back(), 6'000'000'000);
  });
}

TEST_P(Reductions, ScanKeepsTheOrder) {
  run([](World&) {
    std::vector<std::string> letters(1500, "a");
    for (std::size_t i = 0; i < letters.size(); i += 3) letters[i] = "b";
    std::vector<std::string> out(letters.size());
    shoal::parallel_scan(letters.begin(), letters.end(), out.begin(), Join());
    std::string so_far;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      so_far += letters[i];
      ASSERT_EQ(out[i], so_far);
    }
  });
}

TEST(ScanInOrders, InAnyOrder) {
  in_many_orders([](World&) {
    std::vector<int> values(100, 1);
    shoal::parallel_scan(values.begin(), values.end(), values.begin());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i + 1);
  });
}

TEST_P(Reductions, WorkerLocal_AddsUp) {
  run([](World& world) {
    shoal::WorkerLocal<long> sums;
    shoal::parallel_for(0, 100'000, [&](int begin, int end) {
      const auto sum = sums.local();
      for (; begin != end; ++begin) *sum += begin;
    });
    EXPECT_EQ(sums.combine([](long a, long b) { return a + b; }), 99'999L * 50'000);
    EXPECT_LE(sums.size(), 2 * static_cast<std::size_t>(world.worker_count()));
  });
}

TEST_P(Reductions, WorkerLocal_StaysTheTasks_WhileItWaits) {
  run([](World&) {
    shoal::WorkerLocal<std::map<int, int>> maps;
    shoal::parallel_for(0, 300, [&](int i) {
      const auto map = maps.local();
      const auto before = map->size();
      shoal::yield();  // others run meanwhile, and it may go on on another worker
      ASSERT_EQ(map->size(), before);
      (*map)[i] = i;
    });
    std::size_t size = 0;
    maps.for_each([&](const std::map<int, int>& map) { size += map.size(); });
    EXPECT_EQ(size, 300U);
  });
}

TEST(WorkerLocalRefused, ReadWhileItIsUsed) {
  EXPECT_EQ(run_world(1, 1,
                      [](World&) {
                        shoal::WorkerLocal<int> values;
                        const auto use = values.local();
                        try {
                          values.for_each([](int) {});
                          ADD_FAILURE();
                        } catch (const shoal::CheckError& error) {
                          EXPECT_THAT(error.what(),
                                      HasSubstr("1 of 1 values of a WorkerLocal are in use"));
                        }
                      }),
            0);
  EXPECT_THROW(shoal::WorkerLocal<int>(), shoal::CheckError);  // outside of workers
}

}  // namespace loops_reduce_test

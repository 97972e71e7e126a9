// Sorting.

#include <shoal/loops.hpp>
#include <shoal/shoal.hpp>

#include "support/many_orders.hpp"
#include "support/on_workers.hpp"
#include "support/wait_world.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace loops_sort_test {

using shoal::World;
using shoal::testing::in_many_orders;

class Sorting : public shoal::testing::OnWorkers {};
INSTANTIATE_TEST_SUITE_P(Workers, Sorting, shoal::testing::kWorkerCounts,
                         testing::PrintToStringParamName());

/// Numbers in patterns that are hard on a quicksort.
std::vector<int> pattern(int kind, int size, std::mt19937& random) {
  std::vector<int> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), 0);
  switch (kind) {
    case 0:
      std::shuffle(values.begin(), values.end(), random);
      break;
    case 1:
      break;  // sorted
    case 2:
      std::reverse(values.begin(), values.end());
      break;
    case 3:
      std::fill(values.begin(), values.end(), 5);
      break;
    case 4:
      for (int& value : values) value = static_cast<int>(random() % 3);
      break;
    case 5:  // organ pipe
      std::reverse(values.begin() + size / 2, values.end());
      break;
    case 6:  // saw teeth
      for (int& value : values) value %= 100;
      break;
    default:
      std::rotate(values.begin(), values.begin() + size / 3, values.end());
  }
  return values;
}

TEST_P(Sorting, Patterns) {
  run([](World&) {
    std::mt19937 random(1);
    for (int kind = 0; kind < 8; ++kind) {
      for (const int size : {0, 1, 2, 24, 25, 129, 1000, 5000, 20'000}) {
        std::vector<int> values = pattern(kind, size, random);
        std::vector<int> expected = values;
        std::sort(expected.begin(), expected.end());
        shoal::parallel_sort(values);
        ASSERT_EQ(values, expected) << "pattern " << kind << ", size " << size;
        values = pattern(kind, size, random);
        expected = values;
        std::sort(expected.begin(), expected.end(), std::greater<>());
        shoal::parallel_sort(values.begin(), values.end(), std::greater<>());
        ASSERT_EQ(values, expected) << "pattern " << kind << ", size " << size;
      }
    }
  });
}

TEST_P(Sorting, LargeElements) {
  run([](World&) {
    std::mt19937 random(2);
    std::vector<std::string> values(20'000);
    for (std::string& value : values) value = std::to_string(random()) + std::string(20, 'x');
    std::vector<std::string> expected = values;
    std::sort(expected.begin(), expected.end());
    shoal::parallel_sort(values);
    EXPECT_EQ(values, expected);
  });
}

TEST_P(Sorting, ElementsThatOnlyMove) {
  run([](World&) {
    std::vector<std::unique_ptr<int>> values;
    for (int i = 0; i < 10'000; ++i) values.push_back(std::make_unique<int>((i * 7919) % 10'000));
    shoal::parallel_sort(values, [](const auto& a, const auto& b) { return *a < *b; });
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(*values[static_cast<std::size_t>(i)], i);
  });
}

TEST_P(Sorting, WhenLessThrows_ElementsAreThere) {
  run([](World&) {
    std::vector<std::string> values(30'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::to_string(i * 7919 % 30'000);
    std::vector<std::string> expected = values;
    const auto less = [](const std::string& a, const std::string& b) {
      if (a == "777") throw std::runtime_error("777");
      return a < b;
    };
    EXPECT_THROW(shoal::parallel_sort(values, less), std::runtime_error);
    std::sort(values.begin(), values.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(values, expected);
  });
}

TEST_P(Sorting, BadPivots_CostNoSquare) {
  run([](World&) {
    // An adversary that decides what is less as late as it can (M. D. McIlroy, 1999).
    constexpr int kSize = 20'000;
    std::vector<int> values(kSize);
    std::vector<int> keys(kSize, kSize);  // not decided yet
    std::iota(values.begin(), values.end(), 0);
    int solid = 0;
    int candidate = 0;
    std::int64_t comparisons = 0;
    const auto less = [&](int a, int b) {
      ++comparisons;
      int& of_a = keys[static_cast<std::size_t>(a)];
      int& of_b = keys[static_cast<std::size_t>(b)];
      if (of_a == kSize && of_b == kSize) (a == candidate ? of_a : of_b) = solid++;
      if (of_a == kSize) {
        candidate = a;
      } else if (of_b == kSize) {
        candidate = b;
      }
      return of_a < of_b;
    };
    if (GetParam() == 1) shoal::parallel_sort(values, less);  // it is no function of many workers
    EXPECT_LT(comparisons, 20'000LL * 15 * 10);
  });
}

TEST(SortingInOrders, InAnyOrder) {
  in_many_orders([](World&) {
    std::vector<int> values(9000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 7919 % 9000);
    shoal::parallel_sort(values);
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  });
}

}  // namespace loops_sort_test

// METG(50 %) of made-up runtime systems whose costs are known.

#include "metg/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace bench_metg_search_test {

using metg::Metg;

constexpr double kPeakUs = 0.003;

TEST(MetgSearch, WhenEachTaskCostsTheSame_TwiceThatIsFound) {
  for (const double overhead_us : {0.1, 1.0, 20.0}) {
    const Metg metg = metg::search(
        [=](std::int64_t iterations) {
          return overhead_us + static_cast<double>(iterations) * kPeakUs;
        },
        kPeakUs);
    EXPECT_TRUE(metg.reached);
    EXPECT_DOUBLE_EQ(metg.overhead_us, overhead_us);
    EXPECT_NEAR(metg.metg_us, 2 * overhead_us, 0.02 * overhead_us);
  }
}

TEST(MetgSearch, WhenShortTasksAreFarCheaper_TheSearchGoesUp) {
  const Metg metg = metg::search(
      [](std::int64_t iterations) {
        const double work_us = static_cast<double>(iterations) * kPeakUs;
        return work_us + std::min(10.0, 0.1 + 2 * work_us);
      },
      kPeakUs);
  EXPECT_TRUE(metg.reached);
  EXPECT_NEAR(metg.metg_us, 20, 0.5);
}

TEST(MetgSearch, WhenHalfThePeakIsNeverReached_ItIsSaid) {
  const Metg metg = metg::search(
      [](std::int64_t iterations) { return 1 + 3 * static_cast<double>(iterations) * kPeakUs; },
      kPeakUs);
  EXPECT_FALSE(metg.reached);
  EXPECT_GT(metg.metg_us, 1000);
}

TEST(MetgSearch, WhenEvenOneIterationIsEnough_ItsGranularityIsTheResult) {
  const Metg metg = metg::search(
      [](std::int64_t iterations) { return 0.001 + static_cast<double>(iterations) * kPeakUs; },
      kPeakUs);
  EXPECT_TRUE(metg.reached);
  EXPECT_DOUBLE_EQ(metg.metg_us, 0.004);
}

TEST(MetgSearch, APointThatWasDisturbed_DoesNotEndTheSearch) {
  int call = 0;
  const Metg metg = metg::search(
      [&](std::int64_t iterations) {
        const double us = 1 + static_cast<double>(iterations) * kPeakUs;
        return ++call == 3 ? 10 * us : us;
      },
      kPeakUs);
  EXPECT_NEAR(metg.metg_us, 2, 0.05);
}

}  // namespace bench_metg_search_test

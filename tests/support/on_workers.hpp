#pragma once
// Tests that run a program on one rank with several numbers of workers.

#include "support/run_world.hpp"

#include <gtest/gtest.h>

namespace shoal::testing {

/// The parameter is the number of workers. A file has a class of its own derived from it, and
/// INSTANTIATE_TEST_SUITE_P(Workers, ...) with kWorkerCounts.
class OnWorkers : public ::testing::TestWithParam<int> {
 protected:
  template <class F>
  static void run(F program) {
    EXPECT_EQ(run_world(1, GetParam(), program), 0);
  }
};
inline const auto kWorkerCounts = ::testing::Values(1, 2, 4);

}  // namespace shoal::testing

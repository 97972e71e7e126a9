// What processes tell each other before a world starts, and where workers go.

#include "env/topology.hpp"
#include "runtime/process_info.hpp"

#include "support/run_world.hpp"

#include <shoal/base/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using shoal::World;
using shoal::runtime::check_fingerprints;
using shoal::runtime::ProcessInfo;
using shoal::testing::run_world;
using testing::AllOf;
using testing::HasSubstr;

TEST(Fingerprints, OfOneProgram_AreAccepted) {
  EXPECT_NO_THROW(check_fingerprints({{7, "a", {}, 1, 1}, {7, "b", {}, 1, 1}}, 1));
}

TEST(Fingerprints, OfTwoPrograms_AreRefusedWithBothProcesses) {
  const std::vector<ProcessInfo> all{
      {7, "here", {}, 1, 1}, {7, "here", {}, 1, 1}, {8, "there", {}, 1, 1}};
  for (const int process : {0, 2}) {
    try {
      check_fingerprints(all, process);
      ADD_FAILURE() << "accepted";
    } catch (const shoal::ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("here"), HasSubstr("there"), HasSubstr("2")));
    }
  }
}

int pus_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

TEST(Pinning, ToHardwareThreads_LeavesEachWorkerOne) {
  const int before = pus_of_this_thread();
  const int code = run_world(1, 1,
                             [](World& world) {
                               EXPECT_EQ(pus_of_this_thread(), 1);
                               world.spawn([] { EXPECT_EQ(pus_of_this_thread(), 1); });
                               world.wait();
                             },
                             {"--pin", "pu"});
  EXPECT_EQ(code, 0);
  EXPECT_EQ(pus_of_this_thread(), before) << "the program's own thread got its place back";
}

TEST(Pinning, MoreWorkersThanHardwareThreads_WarnsThatRanksOverlap) {
  const int pus = shoal::env::Topology().allowed_pus();
  testing::internal::CaptureStderr();
  const int code = run_world(2, pus, [](World& world) { world.wait(); }, {"--pin", "pu"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("warning: "));
  EXPECT_EQ(code, 0);
}

}  // namespace

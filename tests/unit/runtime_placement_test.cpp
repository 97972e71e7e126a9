// Where workers go.

#include "env/topology.hpp"
#include "runtime/placement.hpp"
#include "runtime/process_info.hpp"

#include "support/run_world.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace runtime_placement_test {

using shoal::MachineLevel;
using shoal::Rank;
using shoal::World;
using shoal::env::PuSet;
using shoal::runtime::check_ranks;
using shoal::runtime::LaunchInfo;
using shoal::runtime::placement_advice;
using shoal::runtime::ProcessInfo;
using shoal::testing::run_world;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Ranks, AnotherNumberThanTheLaunchHas_IsRefusedInAllProcesses) {
  const std::vector<ProcessInfo> all{{.ranks_asked = 4}, {.ranks_asked = 0}};
  EXPECT_NO_THROW(check_ranks(all, {4, 2, 0}));
  try {
    check_ranks({{.ranks_asked = 0}, {.ranks_asked = 3}}, {4, 2, 0});
    ADD_FAILURE() << "accepted";
  } catch (const shoal::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("process 1 was told --ranks 3"));
  }
}

// ---- advice about a node ------------------------------------------------------------------------

/// A process that its mask lets use one of the 8 PUs of its node.
ProcessInfo on_one_pu(int pu, const std::string& host = "h") {
  return {.host = host, .allowed_pus = {pu}, .node_pus = 8};
}

const LaunchInfo by_mpirun{true, 2, "a launcher", "VARIABLE", "an option"};

std::vector<std::string> advice(const std::vector<ProcessInfo>& all, int process = 0,
                                const LaunchInfo& launch = by_mpirun, bool workers_asked = false) {
  return placement_advice(all, {static_cast<int>(all.size()), 1, process}, launch, workers_asked);
}

TEST(PlacementAdvice, AMaskThatLeavesMostOfTheNodeUnused_IsNotedWithWhatMendsIt) {
  EXPECT_THAT(advice({on_one_pu(0)}),
              ElementsAre(AllOf(HasSubstr("note: a launcher lets the process of this node use 1 of "
                                          "its 8 processors, for 1 worker"),
                                HasSubstr("an option"))));
  EXPECT_THAT(advice({on_one_pu(0), on_one_pu(1)}), ElementsAre(HasSubstr("the 2 processes")));
}

TEST(PlacementAdvice, OfSeveralProcesses_OnlyTheFirstOfEachNodeGivesIt) {
  const std::vector<ProcessInfo> all{on_one_pu(0, "a"), on_one_pu(1, "a"), on_one_pu(0, "b")};
  EXPECT_EQ(advice(all, 0).size(), 1U);
  EXPECT_EQ(advice(all, 1).size(), 0U);
  EXPECT_EQ(advice(all, 2).size(), 1U);
}

TEST(PlacementAdvice, AMaskThatFits_IsNotNoted) {
  EXPECT_THAT(advice({on_one_pu(0)}, 0, LaunchInfo{}), IsEmpty()) << "no launcher";
  EXPECT_THAT(advice({on_one_pu(0)}, 0, by_mpirun, true), IsEmpty()) << "one worker was asked for";
  std::vector<ProcessInfo> most;
  for (int pu = 0; pu < 5; ++pu) most.push_back(on_one_pu(pu));
  EXPECT_THAT(advice(most), IsEmpty()) << "5 of 8";
}

TEST(PlacementAdvice, AMaskThatManyWorkersShare_IsNoted) {
  ProcessInfo busy = on_one_pu(0);
  busy.workers = 2;
  EXPECT_THAT(advice({busy}, 0, by_mpirun, true), ElementsAre(HasSubstr("for 2 workers")));
}

TEST(PlacementAdvice, WorkersThatShareProcessors_AreOneWarning) {
  std::vector<ProcessInfo> all;
  for (int process = 0; process < 64; ++process) {
    all.push_back(on_one_pu(0));
    all.back().places = {{0}};
  }
  EXPECT_THAT(advice(all, 0, LaunchInfo{}),
              ElementsAre(AllOf(HasSubstr("warning: 64 of 64 workers"), HasSubstr("0 to 63"))));
}

TEST(PlacementAdvice, WorkersThatCannotBeBound_AreCounted) {
  ProcessInfo one = on_one_pu(0);
  one.workers = 3;
  one.unbindable = 3;
  EXPECT_THAT(advice({one, one}, 0, LaunchInfo{}),
              ElementsAre(HasSubstr("warning: the system refuses to bind 6 of 6 workers")));
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

long lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Pinning, MoreWorkersThanHardwareThreads_WarnsOnceThatRanksOverlap) {
  const int pus = shoal::env::Topology().allowed_pus();
  testing::internal::CaptureStderr();
  const int code = run_world(4, pus, [](World& world) { world.wait(); }, {"--pin", "pu"});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("warning: "));
  EXPECT_EQ(lines_of(text), 1) << text;
  EXPECT_EQ(code, 0);
}

// ---- --info -------------------------------------------------------------------------------------

TEST(Info, Embedded_SaysWhatARunWouldUseAndDoesNotRun) {
  testing::internal::CaptureStdout();
  const int code = run_world(3, 2, [](World&) { ADD_FAILURE() << "it ran"; }, {"--info"});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(text, HasSubstr("3 ranks, 2 workers each, in this process"));
  EXPECT_THAT(text, HasSubstr("not used: no launcher was found"));
  EXPECT_THAT(text, HasSubstr("transport: memory of the process"));
  EXPECT_THAT(text, HasSubstr("process 0: ranks 0-2 on "));
}

TEST(Info, Simulated_SaysSo) {
  testing::internal::CaptureStdout();
  const int code = run_world(3, 2, [](World&) { ADD_FAILURE() << "it ran"; },
                             {"--info", "--sim", "--sim-seed", "5"});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(text, AllOf(HasSubstr("3 ranks, 2 workers each, simulated"), HasSubstr("seed 5"),
                          HasSubstr("fixed:1us,10G")));
}

TEST(Machine, PartsAreThoseOfTheFirstWorkerOfEachRank) {
  const auto topology = shoal::env::Topology::from_synthetic("pack:2 numa:2 core:2 pu:1");
  // Three ranks of two workers; the last ones are not bound.
  const std::vector<shoal::env::PuSet> places{PuSet({0}), PuSet({1}), PuSet({6}),
                                              PuSet({0}), PuSet(),    PuSet()};
  const auto sites = shoal::runtime::locate_ranks(topology, places, 3);
  EXPECT_THAT(sites, ElementsAre(std::pair(0, 0), std::pair(1, 3), std::pair(0, 0)));
  const auto machine = shoal::runtime::make_machine({{.host = "a", .sites = sites},
                                                     {.host = "b", .sites = {{0, 0}}},
                                                     {.host = "a", .sites = {{1, 2}}}});
  const auto parts = [&](MachineLevel level) {
    std::vector<int> all;
    for (int rank = 0; rank < 5; ++rank) all.push_back(machine->part_of(Rank(rank), level));
    return all;
  };
  EXPECT_THAT(parts(MachineLevel::node), ElementsAre(0, 0, 0, 1, 0));
  EXPECT_THAT(parts(MachineLevel::socket), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(parts(MachineLevel::numa), ElementsAre(0, 1, 0, 2, 3));
}

}  // namespace runtime_placement_test

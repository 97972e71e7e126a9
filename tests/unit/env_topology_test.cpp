// Placement of workers on machines that do not exist, and binding on the one that does.

#include "env/topology.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {
std::atomic<int> binds{0};  // of threads, since the last reset
}

// In place of that of the C library, also in hwloc.
extern "C" int sched_setaffinity(pid_t pid, std::size_t bytes, const cpu_set_t* set) noexcept {
  ++binds;
  return static_cast<int>(syscall(SYS_sched_setaffinity, pid, bytes, set));
}

namespace env_topology_test {

using shoal::CheckError;
using shoal::Rank;
using shoal::env::overlap_warning;
using shoal::env::Pin;
using shoal::env::PuSet;
using shoal::env::Topology;
using shoal::env::WorkerPlacement;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 2 packages x 4 cores x 2 PUs; core i has the PUs 2i and 2i+1.
const std::string two_packages = "pack:2 core:4 pu:2";

std::vector<std::string> text_of(const std::vector<PuSet>& sets) {
  std::vector<std::string> texts;
  texts.reserve(sets.size());
  for (const PuSet& set : sets) {
    texts.push_back(set.to_string());
  }
  return texts;
}

PuSet kernel_binding() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> pus;
  for (int pu = 0; pu < CPU_SETSIZE; ++pu) {
    if (CPU_ISSET(static_cast<std::size_t>(pu), &set)) {
      pus.push_back(pu);
    }
  }
  return PuSet(pus);
}

TEST(PuSet, Indices_AreSortedAndUnique) {
  const PuSet set({5, 1, 3, 1});
  EXPECT_THAT(set.indices(), ElementsAre(1, 3, 5));
  EXPECT_EQ(set.count(), 3);
  EXPECT_TRUE(set.contains(3));
  EXPECT_FALSE(set.contains(2));
  EXPECT_EQ(set, PuSet({1, 3, 5}));
  EXPECT_THROW(PuSet({1, -1}), CheckError);
}

TEST(PuSet, Text_IsWrittenAsLinuxWritesIt) {
  EXPECT_EQ(PuSet().to_string(), "");
  EXPECT_EQ(PuSet({7}).to_string(), "7");
  EXPECT_EQ(PuSet({0, 1, 2, 3, 8, 10, 11}).to_string(), "0-3,8,10-11");
}

TEST(PuSet, CommonWith_IsTheIntersection) {
  EXPECT_EQ(PuSet({1, 2, 3}).common_with(PuSet({2, 3, 4})), PuSet({2, 3}));
  EXPECT_TRUE(PuSet({1}).common_with(PuSet({2})).empty());
}

TEST(Place, PinNone_LeavesEveryWorkerUnbound) {
  const Topology machine = Topology::from_synthetic(two_packages);
  EXPECT_EQ(machine.allowed_pus(), 16);
  EXPECT_THAT(machine.place(0, 2, 2, Pin::none), ElementsAre(PuSet(), PuSet()));
}

TEST(Place, FewWorkersOnCores_SpreadOverThePackages) {
  const Topology machine = Topology::from_synthetic(two_packages);
  EXPECT_THAT(text_of(machine.place(0, 2, 2, Pin::core)), ElementsAre("0-1", "8-9"));
  EXPECT_THAT(text_of(machine.place(0, 4, 4, Pin::core)),
              ElementsAre("0-1", "4-5", "8-9", "12-13"));
  EXPECT_THAT(text_of(machine.place(0, 3, 3, Pin::core)), ElementsAre("0-1", "4-5", "10-11"));
}

TEST(Place, FewWorkersOnPus_SpreadOverTheCores) {
  const Topology machine = Topology::from_synthetic(two_packages);
  EXPECT_THAT(text_of(machine.place(0, 4, 4, Pin::pu)), ElementsAre("0", "4", "8", "12"));
  EXPECT_THAT(text_of(machine.place(0, 8, 8, Pin::pu)),
              ElementsAre("0", "2", "4", "6", "8", "10", "12", "14"));
}

TEST(Place, RanksThatPlaceTheirOwnWorkers_TogetherPlaceLikeOne) {
  const Topology machine = Topology::from_synthetic(two_packages);
  for (const int total : {4, 8, 12, 16, 20}) {
    for (const Pin pin : {Pin::core, Pin::pu}) {
      std::vector<PuSet> joined;
      for (int first = 0; first < total; first += 2) {
        for (const PuSet& set : machine.place(first, 2, total, pin)) {
          joined.push_back(set);
        }
      }
      EXPECT_EQ(joined, machine.place(0, total, total, pin)) << total;
    }
  }
}

TEST(Place, MoreWorkersThanCores_TakeSinglePusAndDoNotOverlap) {
  const Topology machine = Topology::from_synthetic(two_packages);
  for (int total = 9; total <= 16; ++total) {
    std::set<std::string> distinct;
    std::set<int> cores;
    for (const PuSet& set : machine.place(0, total, total, Pin::core)) {
      EXPECT_EQ(set.count(), 1);
      distinct.insert(set.to_string());
      cores.insert(set.indices().front() / 2);
    }
    EXPECT_EQ(static_cast<int>(distinct.size()), total);
    EXPECT_EQ(cores.size(), 8U) << "an idle core beside a shared one, with " << total;
  }
}

TEST(Place, MoreWorkersThanPus_Wraps) {
  const Topology machine = Topology::from_synthetic("core:2 pu:1");
  EXPECT_THAT(text_of(machine.place(0, 5, 5, Pin::pu)), ElementsAre("0", "1", "0", "1", "0"));
  EXPECT_THAT(text_of(machine.place(2, 2, 4, Pin::core)), ElementsAre("0", "1"));
}

TEST(Place, SecondThreadsNumberedLast_AreStillSeenAsOneCore) {
  // As Linux numbers them: core 0 has PU 0 and 4, core 1 has PU 1 and 5, ...
  const Topology machine = Topology::from_synthetic("core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
  ASSERT_THAT(text_of(machine.place(0, 4, 4, Pin::core)), ElementsAre("0,4", "1,5", "2,6", "3,7"));
  EXPECT_THAT(text_of(machine.place(0, 4, 4, Pin::pu)), ElementsAre("0", "1", "2", "3"));
}

TEST(Place, RestrictedCpuset_OnlyAllowedPusAreUsed) {
  // One PU of core 1, both of cores 2 and 3.
  const Topology machine = Topology::from_synthetic(two_packages, PuSet({3, 4, 5, 6, 7}));
  EXPECT_EQ(machine.allowed_pus(), 5);
  EXPECT_THAT(text_of(machine.place(0, 3, 3, Pin::core)), ElementsAre("3", "4-5", "6-7"));
  EXPECT_THAT(text_of(machine.place(0, 5, 5, Pin::pu)), ElementsAre("3", "4", "5", "6", "7"));
  EXPECT_THAT(text_of(machine.place(5, 1, 6, Pin::pu)), ElementsAre("3"));
}

TEST(Place, ProcessesBoundApartByTheLauncher_DoNotOverlap) {
  const Topology first = Topology::from_synthetic(two_packages, PuSet({0, 1, 2, 3}));
  const Topology second = Topology::from_synthetic(two_packages, PuSet({4, 5, 6, 7}));
  std::vector<WorkerPlacement> all;
  for (const PuSet& set : first.place(0, 3, 6, Pin::pu)) {
    all.push_back({Rank(0), set});
  }
  for (const PuSet& set : second.place(3, 3, 6, Pin::pu)) {
    all.push_back({Rank(1), set});
  }
  EXPECT_EQ(overlap_warning(all), "");
}

TEST(Place, WorkersOutOfRange_AreRefused) {
  const Topology machine = Topology::from_synthetic(two_packages);
  EXPECT_THROW(static_cast<void>(machine.place(3, 2, 4, Pin::pu)), CheckError);
  EXPECT_THROW(static_cast<void>(machine.place(-1, 1, 4, Pin::pu)), CheckError);
  EXPECT_THROW(static_cast<void>(machine.place(0, -1, 4, Pin::pu)), CheckError);
  EXPECT_THAT(machine.place(0, 0, 0, Pin::pu), IsEmpty());
}

TEST(Topology, BadSyntheticText_IsRefused) {
  EXPECT_THROW(Topology::from_synthetic("spam:2"), CheckError);
  EXPECT_THROW(Topology::from_synthetic("core:2 pu:1", PuSet({9})), CheckError);
}

TEST(Topology, Describe_NamesPackageCoreAndPu) {
  const Topology machine = Topology::from_synthetic(two_packages);
  EXPECT_EQ(machine.describe(PuSet()), "not bound");
  EXPECT_EQ(machine.describe(PuSet({6, 7})), "package 0 core 3 (PU 6-7)");
  EXPECT_EQ(machine.describe(PuSet({13})), "package 1 core 6 (PU 13)");
  EXPECT_EQ(machine.describe(PuSet({0, 1, 2, 8})),
            "package 0 core 0,1 package 1 core 4 (PU 0-2,8)");
}

TEST(Topology, SyntheticMachine_BindsNothing) {
  const Topology machine = Topology::from_synthetic(two_packages);
  EXPECT_FALSE(machine.bind_current_thread(PuSet({0})));
  EXPECT_TRUE(machine.bind_current_thread(PuSet()));
  EXPECT_TRUE(machine.current_thread_binding().empty());
  EXPECT_EQ(machine.count_unbindable(std::vector<PuSet>{PuSet({0}), PuSet({1}), PuSet()}), 2);
}

TEST(Topology, RealMachine_AllowsWhatTheKernelAllows) {
  const Topology machine;
  EXPECT_GE(machine.allowed_pus(), 1);
  EXPECT_EQ(machine.allowed(), machine.allowed().common_with(kernel_binding()));
  EXPECT_EQ(machine.current_thread_binding(), kernel_binding());
}

TEST(Topology, RealMachine_BindingIsSeenByTheKernelAndCanBeUndone) {
  const Topology machine;
  const PuSet last({machine.allowed().indices().back()});
  const PuSet before = kernel_binding();
  std::thread([&] {
    EXPECT_TRUE(machine.bind_current_thread(last));
    EXPECT_EQ(kernel_binding(), last);
    EXPECT_EQ(machine.current_thread_binding(), last);
    EXPECT_TRUE(machine.bind_current_thread(PuSet()));
    EXPECT_EQ(kernel_binding(), last) << "an empty set must leave the binding alone";
    EXPECT_TRUE(machine.bind_current_thread(machine.allowed()));
    EXPECT_EQ(kernel_binding(), machine.allowed());
  }).join();
  EXPECT_EQ(kernel_binding(), before) << "only the one thread may move";
}

TEST(Topology, RealMachineSeenFromABoundThread_AllowsOnlyThat) {
  const Topology machine;
  const PuSet last({machine.allowed().indices().back()});
  std::thread([&] {
    ASSERT_TRUE(machine.bind_current_thread(last));
    const Topology inner;
    EXPECT_EQ(inner.allowed(), last);
    EXPECT_EQ(inner.place(1, 1, 2, Pin::core).front(), last);
  }).join();
}

TEST(Topology, MachineWithoutSys_IsReadWithoutComplaints) {
  setenv("HWLOC_FSROOT", "/proc/self/fdinfo", 1);  // a folder without /sys
  testing::internal::CaptureStderr();
  const Topology machine;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  unsetenv("HWLOC_FSROOT");
  EXPECT_GE(machine.allowed_pus(), 1);
}

// A thread that is bound to each processor in turn waits for those on which others compute.
TEST(Topology, RealMachine_IsReadWithoutBindingTheThread) {
  if (access("/sys/devices/system/cpu/cpu0/topology/core_id", R_OK) != 0) {
    GTEST_SKIP() << "the system does not show cores";
  }
  binds = 0;
  const Topology machine;
  EXPECT_EQ(binds.load(), 0);
  EXPECT_TRUE(machine.bind_current_thread(machine.current_thread_binding()));
  EXPECT_EQ(binds.load(), 1);  // it counts
}

TEST(Topology, OfTheProcess_IsReadOnce_AndSeesTheBindingOfItsCaller) {
  const Topology machine = Topology::of_process();
  EXPECT_EQ(machine.allowed(), machine.allowed().common_with(kernel_binding()));
  const PuSet last({machine.allowed().indices().back()});
  std::thread([&] {
    ASSERT_TRUE(machine.bind_current_thread(last));
    const int others = machine.machine_pus() + 5;
    setenv("HWLOC_SYNTHETIC", ("core:" + std::to_string(others) + " pu:1").c_str(), 1);
    EXPECT_EQ(Topology().machine_pus(), others);
    EXPECT_EQ(Topology::of_process().machine_pus(), machine.machine_pus());
    EXPECT_EQ(Topology::of_process().allowed(), last);
    unsetenv("HWLOC_SYNTHETIC");
  }).join();
  EXPECT_EQ(Topology::of_process().allowed(), machine.allowed());
}

TEST(Topology, OfAProcessThatWasForked_IsReadAnew) {
  const int others = Topology::of_process().machine_pus() + 5;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("HWLOC_SYNTHETIC", ("core:" + std::to_string(others) + " pu:1").c_str(), 1);
    _exit(Topology::of_process().machine_pus() == others ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Topology::of_process().machine_pus(), others - 5);
}

TEST(Topology, CountUnbindable_LeavesTheThreadWhereItWas) {
  const Topology machine;
  const PuSet before = kernel_binding();
  const PuSet last({machine.allowed().indices().back()});
  EXPECT_EQ(machine.count_unbindable(std::vector<PuSet>{last, PuSet({CPU_SETSIZE - 1}), last}), 1);
  EXPECT_EQ(kernel_binding(), before);
}

TEST(Topology, PuThatDoesNotExist_IsNotBound) {
  const Topology machine;
  const PuSet before = kernel_binding();
  EXPECT_FALSE(machine.bind_current_thread(PuSet({CPU_SETSIZE - 1})));
  EXPECT_EQ(kernel_binding(), before);
}

TEST(OverlapWarning, DistinctOrUnbound_SaysNothing) {
  const std::vector<WorkerPlacement> all{{Rank(0), PuSet({0})},
                                         {Rank(0), PuSet({1})},
                                         {Rank(1), PuSet({2, 3})},
                                         {Rank(2), PuSet()},
                                         {Rank(3), PuSet()}};
  EXPECT_EQ(overlap_warning(all), "");
  EXPECT_EQ(overlap_warning({}), "");
}

TEST(OverlapWarning, WorkersOfSeveralRanks_AreCountedWithWhatToDo) {
  const std::vector<WorkerPlacement> all{{Rank(5), PuSet({0, 1})},
                                         {Rank(2), PuSet({1, 2})},
                                         {Rank(2), PuSet({0})},
                                         {Rank(7), PuSet({3})}};
  EXPECT_THAT(overlap_warning(all),
              AllOf(HasSubstr("3 of 4 workers"), HasSubstr("ranks 2 to 5"), HasSubstr("PU 0-1)"),
                    HasSubstr("--pin none"), HasSubstr("--bind-to")));
}

TEST(OverlapWarning, WorkersOfOneRank_AreNamed) {
  const std::vector<WorkerPlacement> all{{Rank(3), PuSet({4})}, {Rank(3), PuSet({4})}};
  EXPECT_THAT(overlap_warning(all), HasSubstr("those of rank 3"));
}

TEST(Topology, NumaNodes_AreCountedFromThePackageOfTheWorkers) {
  const std::string four_nodes = "pack:2 numa:2 core:2 pu:1";
  const Topology first = Topology::from_synthetic(four_nodes);
  EXPECT_THAT(first.numa_nodes_from({}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(first.numa_nodes_from(PuSet({5})), ElementsAre(2, 3, 0, 1));
  const Topology second = Topology::from_synthetic(four_nodes, PuSet({6, 7}));
  EXPECT_THAT(second.numa_nodes_from({}), ElementsAre(2, 3, 0, 1));
  const Topology small = Topology::from_synthetic("pack:1 core:2 pu:1");
  EXPECT_THAT(small.numa_nodes_from({}), ElementsAre(0));
}

/// NUMA node of the page at `address`, which was touched; -1 if the system does not tell.
int node_of(const std::byte* address) {
  constexpr unsigned long kNodeOfAddress = 1U | 2U;  // MPOL_F_NODE | MPOL_F_ADDR
  int node = -1;
  return syscall(SYS_get_mempolicy, &node, nullptr, 0UL, address, kNodeOfAddress) == 0 ? node : -1;
}

TEST(Topology, Memory_IsBoundOnTheRealMachineOnly) {
  std::vector<std::byte> buffer(1U << 20U);
  EXPECT_FALSE(Topology::from_synthetic("numa:2 core:2 pu:1").bind_memory(buffer, 0));
  const Topology here;
  EXPECT_FALSE(here.bind_memory(buffer, 1000));
  const int node = here.numa_nodes_from({}).front();
  if (!here.bind_memory(buffer, node)) GTEST_SKIP() << "the system refuses to bind memory";
  EXPECT_THAT(node_of(buffer.data() + buffer.size() / 2), AnyOf(node, -1));
  EXPECT_TRUE(here.bind_memory(std::span(buffer).first(10), node));  // no page of its own
}

}  // namespace env_topology_test

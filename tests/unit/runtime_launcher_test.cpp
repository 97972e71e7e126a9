// Launcher of this process, recognized from environments as real launchers leave them.

#include "runtime/launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace runtime_launcher_test {

using shoal::runtime::LaunchInfo;
using testing::AllOf;
using testing::HasSubstr;

LaunchInfo detect(const std::map<std::string, std::string>& variables) {
  return shoal::runtime::detect_launcher(shoal::runtime::environment_of(variables));
}

std::string problem_of(const LaunchInfo& info, int seen_size) {
  return shoal::runtime::lone_process(info, seen_size, "MPICH Version: 4.0.2");
}

void expect_launch(const LaunchInfo& info, int size, const std::string& name) {
  EXPECT_TRUE(info.launched);
  EXPECT_EQ(info.size, size);
  EXPECT_THAT(info.launcher, HasSubstr(name));
  EXPECT_FALSE(info.variable.empty());
  EXPECT_FALSE(info.unbind.empty());
}

TEST(Launcher, PlainShell_NothingWasLaunched) {
  const LaunchInfo info = detect({{"HOME", "/home/x"}, {"OMP_NUM_THREADS", "4"}});
  EXPECT_FALSE(info.launched);
  EXPECT_EQ(info.size, 1);
  EXPECT_EQ(info.launcher, "");
}

TEST(Launcher, OpenMpi_IsRecognized) {
  expect_launch(
      detect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}}), 4,
      "Open MPI");
}

TEST(Launcher, Mvapich_IsRecognized) {
  expect_launch(detect({{"MV2_COMM_WORLD_SIZE", "2"}, {"MV2_COMM_WORLD_RANK", "0"}}), 2, "MVAPICH");
}

TEST(Launcher, MpichHydra_IsRecognized) {
  expect_launch(detect({{"PMI_FD", "6"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "8"}}), 8, "MPICH");
}

TEST(Launcher, LaunchersOfOneMpi_NameIt) {
  EXPECT_EQ(detect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}).mpi, "Open MPI");
  EXPECT_EQ(detect({{"MV2_COMM_WORLD_SIZE", "2"}, {"MV2_COMM_WORLD_RANK", "0"}}).mpi, "MPICH");
  for (const char* mark : {"HYDI_CONTROL_FD", "MPI_LOCALRANKID"}) {
    EXPECT_EQ(detect({{"PMI_RANK", "0"}, {"PMI_SIZE", "8"}, {mark, "0"}}).mpi, "MPICH") << mark;
  }
}

TEST(Launcher, LaunchersOfSeveralMpis_NameNone) {
  EXPECT_EQ(detect({{"PMI_RANK", "0"}, {"PMI_SIZE", "8"}, {"SLURM_STEP_ID", "0"}}).mpi, "");
  EXPECT_EQ(detect({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "1"}}).mpi, "");
  EXPECT_EQ(detect({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}}).mpi, "");
}

TEST(Launcher, SlurmStep_IsRecognized) {
  expect_launch(detect({{"SLURM_JOB_ID", "134"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_NTASKS", "6"},
                        {"SLURM_STEP_NUM_TASKS", "6"},
                        {"SLURM_PROCID", "5"}}),
                6, "Slurm");
}

TEST(Launcher, ScriptOfSbatch_NothingWasLaunched) {
  EXPECT_FALSE(detect({{"SLURM_JOB_ID", "134"},
                       {"SLURM_NTASKS", "6"},
                       {"SLURM_NPROCS", "6"},
                       {"SLURM_PROCID", "0"},
                       {"SLURM_LOCALID", "0"}})
                   .launched);
}

TEST(Launcher, ShellOfSalloc_NothingWasLaunched) {
  EXPECT_FALSE(detect({{"SLURM_JOB_ID", "134"}, {"SLURM_NTASKS", "6"}}).launched);
}

TEST(Launcher, InteractiveStepOfSalloc_NothingWasLaunched) {
  EXPECT_FALSE(detect({{"SLURM_JOB_ID", "134"},
                       {"SLURM_STEP_ID", "4294967290"},
                       {"SLURM_NTASKS", "6"},
                       {"SLURM_STEP_NUM_TASKS", "6"},
                       {"SLURM_PROCID", "0"}})
                   .launched);
}

TEST(Launcher, MpirunInsideASlurmStep_TheNumberOfMpirunCounts) {
  expect_launch(detect({{"SLURM_STEP_NUM_TASKS", "2"},
                        {"SLURM_PROCID", "0"},
                        {"PMI_RANK", "7"},
                        {"PMI_SIZE", "16"}}),
                16, "PMI");
}

TEST(Launcher, PmixWithoutASize_ImpliesAtLeastTheRanksBelow) {
  const LaunchInfo info = detect({{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "1"}});
  expect_launch(info, 4, "PMIx");
  EXPECT_FALSE(info.size_is_known);
}

TEST(Launcher, OpenMpiInitializedWithoutALauncher_NothingWasLaunched) {
  EXPECT_FALSE(detect({{"PMIX_RANK", "0"}, {"OMPI_MCA_ess", "singleton"}}).launched);
  EXPECT_TRUE(detect({{"PMIX_RANK", "0"}, {"OMPI_MCA_ess", "pmi"}}).launched);
}

TEST(Launcher, IncompleteOrBrokenVariables_NothingWasLaunched) {
  EXPECT_FALSE(detect({{"PMI_SIZE", "4"}}).launched);
  EXPECT_FALSE(detect({{"OMPI_COMM_WORLD_RANK", "1"}}).launched);
  EXPECT_FALSE(detect({{"PMI_SIZE", "many"}, {"PMI_RANK", "0"}}).launched);
  EXPECT_FALSE(detect({{"PMI_SIZE", "2"}, {"PMI_RANK", "2"}}).launched);
  EXPECT_FALSE(detect({{"PMI_SIZE", "4 "}, {"PMI_RANK", "0"}}).launched);
  EXPECT_FALSE(detect({{"PMI_SIZE", ""}, {"PMI_RANK", ""}, {"PMIX_RANK", "-1"}}).launched);
}

const LaunchInfo four{true, 4, "Open MPI (mpirun)", "OMPI_COMM_WORLD_SIZE"};

TEST(Launcher, WorldOfOneInALaunchOfFour_IsRefusedWithTheReason) {
  EXPECT_THAT(problem_of(four, 1),
              AllOf(HasSubstr("Open MPI (mpirun) started 4 processes (OMPI_COMM_WORLD_SIZE)"),
                    HasSubstr("MPICH Version: 4.0.2"), HasSubstr("not the MPI of that launcher"),
                    HasSubstr("unset")));
}

TEST(Launcher, WorldAsLaunchedOrNoLaunch_IsFine) {
  EXPECT_EQ(problem_of(four, 4), "");
  EXPECT_EQ(problem_of(LaunchInfo{true, 1, "Open MPI (mpirun)", "OMPI_COMM_WORLD_SIZE"}, 1), "");
  EXPECT_EQ(problem_of(LaunchInfo{}, 1), "");
  EXPECT_EQ(problem_of(LaunchInfo{}, 1), "");
}

}  // namespace runtime_launcher_test

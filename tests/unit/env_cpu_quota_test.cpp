// CPU quotas of containers, from files that the test makes up.

#include "env/topology.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace env_cpu_quota_test {

using shoal::env::cpu_quota;
using shoal::env::ReadFile;
using shoal::env::Topology;

using Files = std::map<std::string, std::string>;

ReadFile reading(Files files) {
  return [all = std::move(files)](const std::string& path) -> std::optional<std::string> {
    const auto found = all.find(path);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  };
}

const std::string groups = "/proc/self/cgroup";

TEST(CpuQuota, WithoutCgroupsOrQuota_ThereIsNone) {
  EXPECT_EQ(cpu_quota(reading({})), std::nullopt);
  EXPECT_EQ(cpu_quota(reading({{groups, "0::/\n"}})), std::nullopt);
  EXPECT_EQ(cpu_quota(reading({{groups, "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "max 100000\n"}})),
            std::nullopt);
  EXPECT_EQ(cpu_quota(reading({{groups, "4:cpu:/\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}})),
            std::nullopt);
}

TEST(CpuQuota, OfVersion2_IsTheSmallestOnTheWayToTheRoot) {
  Files files{{groups, "0::/pod/job\n"},
              {"/sys/fs/cgroup/pod/job/cpu.max", "400000 100000\n"},
              {"/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"},
              {"/sys/fs/cgroup/cpu.max", "max 100000\n"}};
  EXPECT_EQ(cpu_quota(reading(files)), 1.5);
  files["/sys/fs/cgroup/pod/cpu.max"] = "max 100000\n";
  EXPECT_EQ(cpu_quota(reading(files)), 4);
}

TEST(CpuQuota, OfVersion1_IsThatOfTheControllerOfCpus) {
  EXPECT_EQ(
      cpu_quota(reading({{groups, "5:cpuset:/a\n4:cpu,cpuacct:/docker/1\n0::/\n"},
                         {"/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "250000\n"},
                         {"/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n"}})),
      2.5);
}

// The group has its name of the host, and its files at the root of the container.
TEST(CpuQuota, InAContainer_IsFoundAtTheRoot) {
  EXPECT_EQ(cpu_quota(reading({{groups, "4:cpuacct,cpu:/docker/1\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}})),
            0.5);
}

TEST(CpuQuota, OfDamagedFiles_IsNone) {
  for (const char* const text : {"", "many 100000", "100000", "100000 0", "1e", "0 100000"}) {
    EXPECT_EQ(cpu_quota(reading({{groups, "0::/\n"}, {"/sys/fs/cgroup/cpu.max", text}})),
              std::nullopt)
        << text;
  }
  EXPECT_EQ(cpu_quota(reading({{groups, "nonsense\n:\n"}})), std::nullopt);
}

TEST(CpuQuota, LimitsThePusOfTheTopology_NotTheirSet) {
  const Topology free(reading({}));
  for (const auto& [quota, pus] : {std::pair{"100000", 1}, {"190000", 1}, {"1000", 1}}) {
    const Topology limited(
        reading({{groups, "0::/\n"}, {"/sys/fs/cgroup/cpu.max", quota + std::string(" 100000")}}));
    EXPECT_EQ(limited.allowed_pus(), pus);
    EXPECT_EQ(limited.allowed().count(), free.allowed().count());
  }
  const Topology large(
      reading({{groups, "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "99900000 100000"}}));
  EXPECT_EQ(large.allowed_pus(), free.allowed_pus());
}

}  // namespace env_cpu_quota_test

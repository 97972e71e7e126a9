#pragma once
// Limits that containers and batch systems set on the processor time of a process.

#include <shoal/detail/base/function.hpp>

#include <optional>
#include <string>

namespace shoal::env {

/// Content of a file, or nothing.
using ReadFile = Function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> read_file(const std::string& path);

/// CPUs that the process may keep busy, by the smallest quota of its cgroups (cpu.max of version 2,
/// cpu.cfs_quota_us of version 1); nothing without a quota. 1.5: three CPUs for half of the time.
/// **Source**: Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
[[nodiscard]] std::optional<double> cpu_quota(const ReadFile& read = read_file);

}  // namespace shoal::env

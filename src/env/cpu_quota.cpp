#include "env/cpu_quota.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace shoal::env {

namespace {

/// Removes the next word from a text and returns it.
std::string_view next_word(std::string_view& text, std::string_view between) {
  text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(between));
  text.remove_prefix(word.size());
  return word;
}

std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value <= 0) return std::nullopt;
  return value;  // neither "max" nor -1
}

/// A quota and its period, both in microseconds, with nothing but blanks between.
std::optional<double> cpus_of(std::string_view text) {
  const auto quota = number(next_word(text, " \n"));
  const auto period = number(next_word(text, " \n"));
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_of_group(const ReadFile& read, const std::string& folder, bool is_v2) {
  if (is_v2) return cpus_of(read(folder + "/cpu.max").value_or(""));
  return cpus_of(read(folder + "/cpu.cfs_quota_us").value_or("") + " " +
                 read(folder + "/cpu.cfs_period_us").value_or(""));
}

/// Smallest quota of a group and those around it. In a container, the outer ones are not there, or
/// the group's own files are at the root.
std::optional<double> smallest_quota(const ReadFile& read, const std::string& root,
                                     std::string group, bool is_v2) {
  std::optional<double> smallest;
  for (;;) {
    if (group == "/") group.clear();
    if (const auto quota = quota_of_group(read, root + group, is_v2)) {
      smallest = std::min(smallest.value_or(*quota), *quota);
    }
    if (group.empty()) return smallest;
    group.erase(std::min(group.rfind('/'), group.size()));
  }
}

bool has_controller(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    if (next_word(list, ",") == wanted) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A line of /proc/self/cgroup is NUMBER:CONTROLLERS:GROUP, without controllers for version 2.
std::optional<double> cpu_quota(const ReadFile& read) {
  const std::string groups = read("/proc/self/cgroup").value_or("");
  std::string_view rest = groups;
  std::optional<double> smallest;
  while (!rest.empty()) {
    const std::string_view line = next_word(rest, "\n");
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    const bool is_v2 = controllers.empty();
    if (!is_v2 && !has_controller(controllers, "cpu")) continue;
    for (const char* const mount : {"", "/unified", "/cpu", "/cpu,cpuacct"}) {
      const auto quota = smallest_quota(read, std::string("/sys/fs/cgroup") + mount, group, is_v2);
      if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
    }
  }
  return smallest;
}

}  // namespace shoal::env

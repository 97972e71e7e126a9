#include "net/mpi/mpi_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace shoal::net {

namespace {

constexpr std::size_t kNamesMax = 8;  // of hosts and of processes, in a message

struct Process {
  std::string host;
  std::vector<Setting> settings;
};

struct Holders {
  std::string value;
  std::vector<std::string> hosts;
  std::vector<std::string> processes;
};

Process decode(const std::string& text) {
  Process process;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      process.host = line;
    } else {
      process.settings.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    begin = end + 1;
  }
  return process;
}

std::string value_in(const Process& process, const std::string& name) {
  const auto found = std::ranges::find(process.settings, name, &Setting::name);
  return found == process.settings.end() ? "unknown" : found->value;
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

std::string list(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesMax);
  std::string text = fmt::format("{}", fmt::join(std::span(names).first(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::vector<Holders> holders_of(const std::string& name, const std::vector<Process>& processes) {
  std::vector<Holders> groups;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::string value = value_in(processes[i], name);
    auto group = std::ranges::find(groups, value, &Holders::value);
    if (group == groups.end()) group = groups.insert(groups.end(), {value, {}, {}});
    add_once(group->hosts, processes[i].host);
    group->processes.push_back(std::to_string(i));
  }
  return groups;
}

}  // namespace

std::string encode_settings(const std::string& host, const std::vector<Setting>& settings) {
  std::string text = host + '\n';
  for (const auto& [name, value] : settings) text += fmt::format("{}\t{}\n", name, value);
  return text;
}

std::string find_disagreement(const std::vector<std::string>& all) {
  if (std::ranges::adjacent_find(all, [](const std::string& a, const std::string& b) {
        // The host comes first, up to the first line break.
        return a.substr(a.find('\n')) != b.substr(b.find('\n'));
      }) == all.end()) {
    return "";
  }
  std::vector<Process> processes;
  processes.reserve(all.size());
  for (const std::string& text : all) processes.push_back(decode(text));
  for (const Setting& setting : processes.front().settings) {
    const std::vector<Holders> groups = holders_of(setting.name, processes);
    if (groups.size() < 2) continue;
    std::vector<std::string> parts;
    parts.reserve(groups.size());
    for (const Holders& group : groups) {
      parts.push_back(fmt::format("{} on {} (process{} {})", group.value, list(group.hosts),
                                  group.processes.size() == 1 ? "" : "es", list(group.processes)));
    }
    return fmt::format(
        "the processes disagree about {}: {}. Start the same program with the same options, "
        "SHOAL_* variables and configuration file on all hosts",
        setting.name, fmt::join(parts, "; "));
  }
  return "the processes have different lists of settings: they run different versions of shoal";
}

}  // namespace shoal::net

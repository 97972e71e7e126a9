#include "runtime/placement.hpp"

#include "runtime/count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace shoal::runtime {

namespace {

/// The processes of a node together.
struct Node {
  int processes = 0;
  int workers = 0;
  int unbindable = 0;
  int pus = 0;         // that they could use if nothing bound them
  std::set<int> mask;  // the PUs that they may use
  std::vector<env::WorkerPlacement> places;
};

Node gather(const std::vector<ProcessInfo>& all, const std::string& host, int ranks_per_process) {
  Node node;
  for (std::size_t process = 0; process < all.size(); ++process) {
    const ProcessInfo& one = all[process];
    if (one.host != host) continue;
    ++node.processes;
    node.workers += one.workers;
    node.unbindable += one.unbindable;
    node.pus = std::max(node.pus, one.node_pus);
    node.mask.insert(one.allowed_pus.begin(), one.allowed_pus.end());
    const auto workers_per_rank = static_cast<std::size_t>(std::max(1, one.workers / one.ranks));
    for (std::size_t i = 0; i < one.places.size(); ++i) {
      const auto rank =
          process * static_cast<std::size_t>(ranks_per_process) + i / workers_per_rank;
      node.places.push_back({Rank(static_cast<int>(rank)), env::PuSet(one.places[i])});
    }
  }
  return node;
}

bool share_pus(const ProcessInfo& one, const ProcessInfo& other) {
  return one.host == other.host && one.allowed_pus == other.allowed_pus;
}

std::string mask_note(const Node& node, const LaunchInfo& launch, bool workers_asked) {
  if (!launch.launched) return "";
  const auto used = static_cast<int>(node.mask.size());
  const int usable = workers_asked ? std::min(node.workers, node.pus) : node.pus;
  if (usable < 2 * used) return "";
  return fmt::format(
      "note: {} lets {} of this node use {} of its {}, for {}. To use more: {}. To say that this "
      "is "
      "meant: --workers N",
      launch.launcher,
      node.processes == 1 ? "the process" : fmt::format("the {} processes", node.processes), used,
      count(node.pus, "processor"), count(node.workers, "worker"), launch.unbind);
}

}  // namespace

int ranks_sharing(const std::vector<ProcessInfo>& all, const ProcessInfo& mine) {
  int ranks = 0;
  for (const ProcessInfo& other : all) {
    if (share_pus(other, mine)) ranks += other.ranks;
  }
  return ranks;
}

std::vector<env::PuSet> place_workers(const env::Topology& topology, env::Pin pin,
                                      const std::vector<ProcessInfo>& all,
                                      const net::Layout& layout) {
  const auto process = static_cast<std::size_t>(layout.process);
  const ProcessInfo& mine = all[process];
  int before = 0;
  int total = 0;
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (!share_pus(all[other], mine)) continue;
    if (other < process) before += all[other].workers;
    total += all[other].workers;
  }
  return topology.place(before, mine.workers, total, pin);
}

std::vector<std::string> placement_advice(const std::vector<ProcessInfo>& all,
                                          const net::Layout& layout, const LaunchInfo& launch,
                                          bool workers_asked) {
  const auto process = static_cast<std::size_t>(layout.process);
  const std::string& host = all[process].host;
  const auto first = std::find_if(all.begin(), all.end(),
                                  [&](const ProcessInfo& one) { return one.host == host; });
  if (first != all.begin() + layout.process) return {};
  const Node node = gather(all, host, layout.ranks_per_process);
  std::vector<std::string> advice;
  if (node.unbindable > 0) {
    advice.push_back(fmt::format(
        "warning: the system refuses to bind {} of {} of this node: they run unbound (--pin none "
        "asks for that)",
        node.unbindable, count(node.workers, "worker")));
  }
  if (const std::string text = env::overlap_warning(node.places); !text.empty()) {
    advice.push_back("warning: " + text);
  }
  if (const std::string text = mask_note(node, launch, workers_asked); !text.empty()) {
    advice.push_back(text);
  }
  return advice;
}

std::vector<std::pair<int, int>> locate_ranks(const env::Topology& topology,
                                              const std::vector<env::PuSet>& places, int ranks) {
  std::vector<std::pair<int, int>> sites;
  const std::size_t workers = places.size() / static_cast<std::size_t>(ranks);
  for (std::size_t first = 0; first < places.size(); first += workers) {
    const env::Location location = topology.locate(places[first]);
    sites.emplace_back(location.package, location.numa);
  }
  return sites;
}

std::shared_ptr<const Machine> make_machine(const std::vector<ProcessInfo>& all) {
  std::map<std::string, int> nodes;
  std::map<std::pair<int, int>, int> sockets;  // node, package
  std::map<std::pair<int, int>, int> numas;
  const auto number_of = [](auto& numbers, const auto& key) {
    return numbers.try_emplace(key, static_cast<int>(numbers.size())).first->second;
  };
  std::vector<Machine::Place> places;
  for (const ProcessInfo& process : all) {
    const int node = number_of(nodes, process.host);
    for (const auto& [package, numa] : process.sites) {
      places.push_back({node, number_of(sockets, std::pair(node, package)),
                        number_of(numas, std::pair(node, numa))});
    }
  }
  return std::make_shared<const Machine>(std::move(places));
}

}  // namespace shoal::runtime

#include "runtime/process_info.hpp"

#include <shoal/am/archive.hpp>
#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace shoal::runtime {

namespace {

template <class T>
std::string to_text(const T& value) {
  std::vector<std::byte> bytes(encoded_size<T>(value));
  encode<T>(std::span(bytes), value);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
T from_text(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  const std::vector<std::byte> aligned(first, first + text.size());
  return std::get<0>(decode<T>(std::span<const std::byte>(aligned)));
}

template <class T>
std::vector<T> exchange_all(net::Transport* transport, const T& mine) {
  if (transport == nullptr) return {mine};
  std::vector<T> all;
  for (const std::string& text : transport->exchange(to_text(mine))) {
    all.push_back(from_text<T>(text));
  }
  return all;
}

}  // namespace

std::vector<ProcessInfo> exchange_info(net::Transport* transport, const ProcessInfo& mine) {
  return exchange_all(transport, mine);
}

void check_fingerprints(const std::vector<ProcessInfo>& all, int process) {
  const auto mine = static_cast<std::size_t>(process);
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other].fingerprint == all[mine].fingerprint) continue;
    throw ConfigError(
        fmt::format("processes {} (on {}) and {} (on {}) run different programs: their tables of "
                    "active messages "
                    "differ; start the same binary everywhere",
                    mine, all[mine].host, other, all[other].host));
  }
}

Placement place_workers(const env::Topology& topology, env::Pin pin, net::Transport* transport,
                        const std::vector<ProcessInfo>& all, const net::Layout& layout) {
  const auto process = static_cast<std::size_t>(layout.process);
  const ProcessInfo& mine = all[process];
  int before = 0;
  int total = 0;
  for (std::size_t other = 0; other < all.size(); ++other) {
    const bool shares = all[other].host == mine.host && all[other].allowed_pus == mine.allowed_pus;
    if (!shares) continue;
    if (other < process) before += all[other].workers;
    total += all[other].workers;
  }
  Placement placement;
  placement.workers = topology.place(before, mine.workers, total, pin);
  if (pin == env::Pin::none) return placement;

  using Sets = std::vector<std::vector<int>>;
  Sets sets;
  for (const env::PuSet& set : placement.workers) sets.push_back(set.indices());
  const std::vector<Sets> everyone = exchange_all(transport, sets);
  std::vector<env::WorkerPlacement> node;
  bool first_on_node = true;
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other].host != mine.host) continue;
    first_on_node = first_on_node && other >= process;
    const int workers_per_rank = all[other].workers / all[other].ranks;
    for (std::size_t i = 0; i < everyone[other].size(); ++i) {
      const int rank = static_cast<int>(other) * layout.ranks_per_process +
                       static_cast<int>(i) / workers_per_rank;
      node.push_back({Rank(rank), env::PuSet(everyone[other][i])});
    }
  }
  if (first_on_node) placement.warnings = env::overlap_warnings(node);
  return placement;
}

}  // namespace shoal::runtime

#include "sim/memory.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace shoal::sim {

namespace {

// Rounding of sums of fractions.
constexpr double kNothingLeft = 1e-9;

double time_ns(double bytes, double mb_s) { return bytes * 1e3 / mb_s; }

}  // namespace

double network_mb_s(const contention::Model& model, int communication_node) {
  return communication_node >= model.nodes_per_socket ? model.remote.network_mb_s
                                                      : model.local.network_mb_s;
}

Memory::Memory(const Simulator& simulator, At at, const contention::Model& model,
               int communication_node, Nodes nodes)
    : simulator_(simulator),
      at_(std::move(at)),
      ranks_per_node_(nodes.ranks_per_node),
      nodes_(static_cast<std::size_t>((nodes.ranks - 1) / nodes.ranks_per_node + 1)) {
  alone_mb_s_.push_back(0);
  beside_mb_s_.push_back(0);
  communication_mb_s_.push_back(network_mb_s(model, communication_node));
  for (const contention::Bandwidths& one : predict(model, {0, std::max(communication_node, 0)})) {
    alone_mb_s_.push_back(one.computation_alone_mb_s);
    beside_mb_s_.push_back(std::max(one.computation_mb_s, 1.0));  // a model far from measurements
    communication_mb_s_.push_back(one.communication_mb_s);
  }
}

double Memory::value_at(const Curve& curve, double load) {
  const double last = static_cast<double>(curve.size()) - 1;
  if (load >= last) return curve.back();
  const auto below = static_cast<std::size_t>(load);
  const double part = load - static_cast<double>(below);
  return curve[below] + part * (curve[below + 1] - curve[below]);
}

double Memory::alone_ns(double compute_ns, double bytes) const {
  return std::max(compute_ns, time_ns(bytes, alone_mb_s_[1]));
}

void Memory::begin_work(int rank, double compute_ns, double bytes, std::function<void()> done) {
  const double load = time_ns(bytes, alone_mb_s_[1]) / alone_ns(compute_ns, bytes);
  begin(rank, {compute_ns, bytes, load, std::move(done)});
}

void Memory::begin_transfer(int rank, double bytes, std::function<void()> done) {
  begin(rank, {0, bytes, 0, std::move(done)});
}

void Memory::begin(int rank, Flow flow) {
  const auto index = static_cast<std::size_t>(rank / ranks_per_node_);
  Node& node = nodes_[index];
  advance(node);
  node.flows.push_back(std::move(flow));
  set_rates(node);
  plan_end(index);
}

void Memory::advance(Node& node) const {
  const std::uint64_t now_ns = simulator_.agenda_ns();
  const auto passed_ns = static_cast<double>(now_ns - node.updated_ns);
  for (Flow& flow : node.flows) flow.left -= passed_ns * flow.per_ns;
  node.updated_ns = now_ns;
}

void Memory::set_rates(Node& node) const {
  double load = 0;
  double transfers = 0;
  for (const Flow& flow : node.flows) {
    load += flow.load;
    if (flow.load == 0) ++transfers;
  }
  const double computation_mb_s = value_at(transfers > 0 ? beside_mb_s_ : alone_mb_s_, load);
  const double transfer_mb_s = value_at(communication_mb_s_, load) / transfers;
  for (Flow& flow : node.flows) {
    const double ns =
        flow.load == 0
            ? time_ns(flow.bytes, transfer_mb_s)
            : std::max(flow.compute_ns, time_ns(flow.bytes, computation_mb_s * flow.load / load));
    flow.per_ns = 1 / std::max(ns, 1.0);
  }
}

void Memory::plan_end(std::size_t index) {
  Node& node = nodes_[index];
  const std::uint64_t version = ++node.version;
  if (node.flows.empty()) return;
  double next_ns = std::numeric_limits<double>::max();
  for (const Flow& flow : node.flows) next_ns = std::min(next_ns, flow.left / flow.per_ns);
  const auto after_ns = static_cast<std::uint64_t>(std::ceil(std::max(next_ns, 0.0)));
  at_(simulator_.agenda_ns() + after_ns, [this, index, version] {
    if (nodes_[index].version == version) end_some(index);
  });
}

void Memory::end_some(std::size_t index) {
  Node& node = nodes_[index];
  advance(node);
  const auto first_ended =
      std::stable_partition(node.flows.begin(), node.flows.end(),
                            [](const Flow& flow) { return flow.left > kNothingLeft; });
  std::vector<Flow> ended(std::make_move_iterator(first_ended),
                          std::make_move_iterator(node.flows.end()));
  node.flows.erase(first_ended, node.flows.end());
  set_rates(node);
  plan_end(index);
  for (const Flow& flow : ended) flow.done();
}

}  // namespace shoal::sim

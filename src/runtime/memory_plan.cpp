#include "runtime/memory_plan.hpp"

#include "runtime/config.hpp"
#include "runtime/count.hpp"
#include "team/messenger.hpp"

#include <shoal/contention/advice.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace shoal::runtime {

namespace {

contention::Model read_model(const char* option, const std::string& path) {
  std::string problem;
  std::ifstream file = open_input(path, problem);
  if (!problem.empty()) {
    throw ConfigError(fmt::format(
        "--{}: cannot read '{}': {}; name a file that `contention calibrate` has written", option,
        path, problem));
  }
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    return contention::model_from_json(text);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("--{}: '{}': {}", option, path, error.what()));
  }
}

const contention::Model& need_model(const MemoryPlan& plan, const char* option) {
  if (plan.model) return *plan.model;
  throw ConfigError(
      fmt::format("--{} auto: there is no model to decide: name the file of `contention calibrate` "
                  "with --memory-model FILE, or give a number",
                  option));
}

void check_simulated(const MemoryPlan& plan, const Config& config) {
  if (!plan.sim) return;
  const int ranks = std::clamp(config.sim_node_ranks, 1, std::max(config.ranks, 1));
  const int workers = std::max(config.workers, 1);
  if (ranks * workers > plan.sim->cores) {
    throw ConfigError(fmt::format(
        "--sim-memory: each node has {} with {} each, but the model of {} has {} that compute: "
        "lower --sim-node-ranks or --workers",
        count(ranks, "rank"), count(workers, "worker"), plan.sim->machine,
        count(plan.sim->cores, "core")));
  }
}

}  // namespace

int MemoryPlan::limit_of(int workers) const {
  return limit_is_auto ? std::clamp(workers - 1, 1, memory_bound_max) : memory_bound_max;
}

std::shared_ptr<sched::MemoryBoundLimit> MemoryPlan::make_limit(int workers) const {
  if (memory_bound_max == 0) return nullptr;
  return std::make_shared<sched::MemoryBoundLimit>(limit_of(workers));
}

std::string MemoryPlan::describe_limit(int workers) const {
  if (memory_bound_max == 0) return {};
  const std::string source =
      limit_is_auto ? fmt::format("auto: model of {}", model->machine) : "as given";
  return fmt::format("memory-bound tasks: {} of a process run beside large transfers, at most ({})",
                     limit_of(workers), source);
}

MemoryPlan plan_memory(const Config& config) {
  MemoryPlan plan;
  if (!config.sim_memory.empty()) plan.sim = read_model("sim-memory", config.sim_memory);
  if (!config.memory_model.empty()) plan.model = read_model("memory-model", config.memory_model);
  if (!plan.model) plan.model = plan.sim;
  check_simulated(plan, config);
  if (config.buffer_node == Config::kAuto) {
    plan.buffer_node = advise_evenly(need_model(plan, "buffer-node")).placement.communication_node;
  } else if (config.buffer_node.has_value()) {
    plan.buffer_node = *config.buffer_node;
  }
  if (plan.sim && plan.buffer_node >= plan.sim->nodes) {
    throw ConfigError(fmt::format("--buffer-node: there is no NUMA node {}: the model of {} has {}",
                                  plan.buffer_node, plan.sim->machine,
                                  count(plan.sim->nodes, "NUMA node")));
  }
  if (config.memory_bound_max == Config::kAuto) {
    const contention::Model& model = need_model(plan, "memory-bound-max");
    contention::Fixed fixed;
    fixed.communication_node = std::clamp(plan.buffer_node, 0, model.nodes - 1);
    plan.limit_is_auto = true;
    plan.memory_bound_max = std::max(1, advise_evenly(model, fixed).cores);
  } else if (config.memory_bound_max.has_value()) {
    plan.memory_bound_max = *config.memory_bound_max;
  }
  return plan;
}

BufferPlace place_buffers(const MemoryPlan& plan, const std::vector<int>& numa_nodes) {
  if (plan.buffer_node < 0) return {};
  if (numa_nodes.size() == 1) {
    return {{}, "receive buffers: not bound (this machine has one NUMA node)"};
  }
  const auto wanted = static_cast<std::size_t>(plan.buffer_node);
  if (wanted >= numa_nodes.size()) {
    throw ConfigError(fmt::format("--buffer-node: there is no NUMA node {}: this machine has {}",
                                  wanted, count(numa_nodes.size(), "NUMA node")));
  }
  const int node = numa_nodes[wanted];
  return {node, fmt::format("receive buffers of {} KiB and more: bound to NUMA node {} (number {} "
                            "from the socket of the workers)",
                            team::kLargeTransferBytes / 1024, node, wanted)};
}

std::string describe_memory(const MemoryPlan& plan, int workers, const std::string& buffers) {
  std::string text;
  for (const std::string& line : {plan.describe_limit(workers), buffers}) {
    if (!line.empty()) text += line + "\n";
  }
  return text;
}

Function<void(std::span<std::byte>)> buffer_binder(const env::Topology& topology,
                                                   const BufferPlace& place) {
  if (!place.node) return {};
  // Where the system refuses, the buffer stays where it is: it is a matter of speed only.
  return [&topology, node = *place.node](std::span<std::byte> buffer) {
    static_cast<void>(topology.bind_memory(buffer, node));
  };
}

}  // namespace shoal::runtime

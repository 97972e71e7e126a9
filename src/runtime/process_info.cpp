#include "runtime/process_info.hpp"

#include <shoal/detail/team/handler.hpp>
#include <shoal/version.hpp>

#include <fmt/format.h>

#include "env/freed_memory.hpp"
#include "env/host.hpp"
#include "env/topology.hpp"
#include "runtime/count.hpp"
#include "runtime/memory_plan.hpp"
#include "runtime/rank_report.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace shoal::runtime {

std::vector<ProcessInfo> exchange_info(net::Transport* transport, const ProcessInfo& mine) {
  if (transport == nullptr) return {mine};
  return exchange_all(*transport, mine);
}

void check_ranks(const std::vector<ProcessInfo>& all, const net::Layout& layout) {
  for (std::size_t process = 0; process < all.size(); ++process) {
    const int asked = all[process].ranks_asked;
    if (asked == 0 || asked == layout.world_size) continue;
    throw ConfigError(fmt::format(
        "process {} was told --ranks {}, but the launcher started {} processes with {} ranks each: "
        "leave --ranks out, or start a matching number of processes",
        process, asked, layout.process_count(), layout.ranks_per_process));
  }
}

std::vector<net::Setting> agreed_settings(const Config& config) {
  return {{"the program", env::program_id()},
          {"the table of active messages", fmt::format("{:x}", team::static_fingerprint())},
          {"--window-bytes", std::to_string(config.window_bytes)},
          {"--check-payloads", config.check_payloads ? "on" : "off"},
          {"--global-rma", std::to_string(config.global_rma_bytes)},
          {"--trace", config.trace_path},
          {"--stall-report", show_time(config.stall_report_ns)},
          {"--stall-abort", show_time(config.stall_abort_ns)}};
}

namespace {

std::string ranks_and_workers(int ranks, int workers) {
  return fmt::format("{}, {} each", count(ranks, "rank"), count(workers, "worker"));
}

std::string progress_text(net::ProgressPolicy progress) {
  switch (progress) {
    case net::ProgressPolicy::main:
      return "the main thread only (--progress main)";
    case net::ProgressPolicy::thread:
      return "a thread of its own (--progress thread)";
    case net::ProgressPolicy::worker:
      break;
  }
  return "every worker (--progress worker)";
}

/// Whether workers are bound, and where.
std::string binding_text(const ProcessInfo& process) {
  std::string text;
  for (const std::vector<int>& place : process.places) {
    if (place.empty()) return "workers not bound";
    text += fmt::format(" {}", env::PuSet(place).to_string());
  }
  return "workers bound to PU" + text;
}

std::string process_line(std::size_t number, const ProcessInfo& process,
                         const net::Layout& layout) {
  const int first = static_cast<int>(number) * layout.ranks_per_process;
  const std::string ranks = process.ranks == 1
                                ? fmt::format("rank {}", first)
                                : fmt::format("ranks {}-{}", first, first + process.ranks - 1);
  return fmt::format("process {}: {} on {}: {} of {} processors (PU {}), {}", number, ranks,
                     process.host, process.allowed_pus.size(), process.node_pus,
                     env::PuSet(process.allowed_pus).to_string(), binding_text(process));
}

std::string transport_lines(const std::vector<ProcessInfo>& all, const MpiUse& mpi) {
  const auto near = std::minmax_element(
      all.begin(), all.end(),
      [](const ProcessInfo& a, const ProcessInfo& b) { return a.near_count < b.near_count; });
  const int least = near.first->near_count;
  const int most = near.second->near_count;
  const std::string others = least == most ? "" : fmt::format("{} to ", least);
  const std::string shared = most == 0 ? "none"
                                       : fmt::format("each process with {}{} of its node", others,
                                                     count(most, "other process"));
  const bool all_near = least + 1 == static_cast<int>(all.size());
  return fmt::format("transport: {}; MPI is called by {}\nshared memory: {}\n",
                     all_near && most > 0 ? "shared memory, large messages by MPI" : "MPI",
                     progress_text(mpi.progress), shared);
}

}  // namespace

std::string describe_run(const LaunchInfo& launch, const net::Layout& layout,
                         const std::vector<ProcessInfo>& all, const MpiUse& mpi) {
  const ProcessInfo& first = all.front();
  std::string text = fmt::format("shoal {}: {}", SHOAL_VERSION,
                                 ranks_and_workers(layout.world_size, first.workers / first.ranks));
  std::set<std::string> hosts;
  for (const ProcessInfo& process : all) hosts.insert(process.host);
  if (mpi.thread_level.empty()) {
    text += fmt::format(
        ", in this process\nMPI: not used: no launcher was found\nMPI plug-ins: {}\n"
        "transport: memory of the process\n",
        mpi.plugins);
  } else {
    text += fmt::format(", in {} on {}, started by {}\nMPI: {}, {}\nMPI plug-in: {}\n",
                        count(all.size(), "process"), count(hosts.size(), "node"),
                        launch.launched ? launch.launcher : "no known launcher", mpi.library,
                        mpi.thread_level, mpi.plugins);
    text += transport_lines(all, mpi);
  }
  for (std::size_t i = 0; i < all.size(); ++i) text += process_line(i, all[i], layout) + "\n";
  if (const auto quota = env::cpu_quota()) {
    text += fmt::format("CPU quota of the cgroup of process 0: {:.3g} processors\n", *quota);
  }
  return text;
}

std::string describe_malloc() {
  switch (env::treatment_of_freed_memory()) {
    case env::FreedMemory::kept:
      return "malloc: freed memory stays in the process\n";
    case env::FreedMemory::returned:
      return "malloc: freed memory goes back to the system, as the environment or the program "
             "says\n";
    case env::FreedMemory::unknown:
      break;
  }
  return "malloc: not that of glibc\n";
}

std::string describe_simulation(const Config& config, const std::string& mpi_plugins) {
  const MemoryPlan memory = plan_memory(config);
  std::string buffers;
  if (memory.sim) {
    buffers = fmt::format("memory of each node: model of {}, received data on NUMA node {}",
                          memory.sim->machine, std::max(memory.buffer_node, 0));
  }
  return fmt::format(
             "shoal {}: {}, simulated in this process\nMPI: not used: --sim\nMPI plug-ins: {}\n"
             "transport: network {} between nodes, {} within a node of {}\nseed {}\n",
             SHOAL_VERSION,
             ranks_and_workers(std::max(config.ranks, 1), std::max(config.workers, 1)), mpi_plugins,
             config.sim_net, config.sim_node_net, count(config.sim_node_ranks, "rank"),
             config.sim_seed) +
         describe_memory(memory, std::max(config.workers, 1) * config.ranks_per_process, buffers);
}

}  // namespace shoal::runtime

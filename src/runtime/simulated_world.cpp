#include "runtime/simulated_world.hpp"

#include "runtime/end_report.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace shoal::runtime {

namespace {

net::Layout layout_of(const Config& config) {
  const int ranks = std::max(config.ranks, 1);
  if (ranks % config.ranks_per_process != 0) {
    throw ConfigError(fmt::format("--ranks {} is not a multiple of --ranks-per-process {}", ranks,
                                  config.ranks_per_process));
  }
  return {ranks, config.ranks_per_process, 0};
}

}  // namespace

// The default must not depend on the machine.
SimulatedWorld::SimulatedWorld(const Config& config)
    : config_(config),
      workers_(std::max(config.workers, 1)),
      layout_(layout_of(config)),
      link_options_{config.packet_bytes, config.window_bytes},
      simulator_({config.sim_seed, config.sim_order, config.sim_step_ns},
                 {layout_.world_size, workers_}),
      network_(simulator_, sim::parse_net_model(config.sim_net), layout_, link_options_) {
  make_ranks();
}

void SimulatedWorld::make_ranks() {
  for (int process = 0; process < layout_.process_count(); ++process) {
    net::Transport& transport = network_.transport(process);
    fabrics_.push_back(
        std::make_unique<net::Fabric>(transport.layout(), link_options_, &transport));
  }
  for (int i = 0; i < layout_.world_size; ++i) {
    RankOptions options;
    options.scheduler.rank = Rank(i);
    options.scheduler.worker_count = workers_;
    options.scheduler.stack_bytes = config_.stack_bytes;
    options.messenger.rank = Rank(i);
    options.args = config_.args;
    options.launch = Launch::simulated;
    net::Fabric& fabric = *fabrics_[static_cast<std::size_t>(layout_.process_of(Rank(i)))];
    ranks_.push_back(
        std::make_unique<RankRuntime>(simulator_, fabric, options, [](const std::string& text) {
          say("error: " + text);
          std::abort();
        }));
  }
}

void SimulatedWorld::run(const MainFunction& main_function) {
  ranks_running_ = layout_.world_size;
  std::vector<env::Steppable*> all;
  for (const auto& rank : ranks_) {
    rank->start(main_function, [this] {
      if (--ranks_running_ > 0) return;
      for (const auto& each : ranks_) each->scheduler().request_stop();
    });
    for (env::Steppable* worker : rank->scheduler().steppables()) all.push_back(worker);
  }
  try {
    simulator_.drive(all);
  } catch (const env::NoProgress&) {
    throw Error(fmt::format(
        "the simulated world hangs at {} ns: every worker sleeps, nothing is under way, and {} of "
        "{} main functions have not ended. Replay: --sim-seed {}. The last events:\n  {}",
        simulator_.now_ns(), ranks_running_, layout_.world_size, config_.sim_seed,
        fmt::join(trace().last_lines(), "\n  ")));
  }
}

}  // namespace shoal::runtime

#include "runtime/simulated_world.hpp"

#include <shoal/compute.hpp>
#include <shoal/detail/env/guards.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/host.hpp"
#include "runtime/count.hpp"
#include "runtime/end_report.hpp"
#include "runtime/rank_report.hpp"
#include "sched/inspector.hpp"
#include "sim/network.hpp"
#include "team/message_report.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

namespace shoal::runtime {

std::vector<std::string> WorldChecker::outstanding() const {
  std::vector<std::string> lines;
  // In a world that has failed, a main function in an operation of a team is told of the team's
  // end, and continues until it is told of the world's. It may send until then.
  const auto may_be_told = [this](Rank rank) {
    const TeamCore& core = ranks_[static_cast<std::size_t>(rank.value())]->core();
    return core.failed() && core.had_nested();
  };
  for (const auto& rank : ranks_) {
    if (rank->scheduler().inspector().holds_work() && !may_be_told(rank->rank())) {
      lines.push_back(fmt::format("tasks of rank {}", rank->rank().value()));
    }
    // Between steps only work in a handler keeps the rank from ending. The root finds completion in
    // a handler.
    if (rank->rank() != 0 && rank->messenger().is_handling()) {
      lines.push_back(fmt::format("a handler of rank {}", rank->rank().value()));
    }
  }
  const auto add_link = [&](Rank source, Rank target, const char* where) {
    if (may_be_told(source)) return;
    lines.push_back(
        fmt::format("messages of rank {} for rank {}, {}", source.value(), target.value(), where));
  };
  for (const auto& fabric : fabrics_) {
    const net::Layout& layout = fabric->layout();
    for (int i = 0; i < layout.ranks_per_process; ++i) {
      const Rank source(layout.first_local() + i);
      for (const net::LinkState& link : fabric->link_states(source)) {
        if (link.untaken) add_link(source, link.target, "not sent");
      }
    }
  }
  network_.for_each_link([&](const sim::SimLink& link) {
    if (link.lane() == net::Lane::control || link.all_delivered()) return;
    add_link(link.source(), link.target(), "under way");
  });
  if (network_.payloads_under_way() > 0) {
    lines.push_back(fmt::format("{} payloads of large messages", network_.payloads_under_way()));
  }
  return lines;
}

namespace {

net::Layout layout_of(const Config& config) {
  const int ranks = std::max(config.ranks, 1);
  if (ranks % config.ranks_per_process != 0) {
    throw ConfigError(fmt::format("--ranks {} is not a multiple of --ranks-per-process {}", ranks,
                                  config.ranks_per_process));
  }
  return {ranks, config.ranks_per_process, 0};
}

sim::SimulatorOptions options_of(const Config& config) {
  const bool measured = config.sim_cost == sim::CostKind::measured;
  if (measured && (config.sim_check || config.sim_dry)) {
    throw ConfigError(fmt::format("--sim-cost measured does not go with --sim-{}: {}",
                                  config.sim_dry ? "dry" : "check",
                                  config.sim_dry ? "skipped work cannot be measured"
                                                 : "measured times differ from run to run"));
  }
  return {
      config.sim_seed,    config.sim_order, config.sim_dry ? sim::CostKind::dry : config.sim_cost,
      config.sim_step_ns, config.sim_flops, config.sim_limit_ns};
}

// Payloads between nodes come as fast as in the measurements of the memory, if there are some.
sim::NetModel net_model_of(const Config& config, const MemoryPlan& memory) {
  sim::NetModel model{sim::parse_net_model(config.sim_net),
                      sim::parse_net_model(config.sim_node_net), config.sim_node_ranks};
  if (memory.sim) model.far.byte_gap_ns = 1e3 / sim::network_mb_s(*memory.sim, memory.buffer_node);
  return model;
}

}  // namespace

// The default must not depend on the machine.
SimulatedWorld::SimulatedWorld(const Config& config)
    : config_(config),
      workers_(std::max(config.workers, 1)),
      layout_(layout_of(config)),
      link_options_{config.packet_bytes, config.window_bytes},
      simulator_(options_of(config), {layout_.world_size, workers_}),
      faults_(sim::parse_fault_plan(config.sim_faults), config.sim_seed, layout_.world_size),
      network_(simulator_, net_model_of(config, memory_plan_), faults_, layout_, link_options_) {
  if (memory_plan_.sim) {
    const auto at = [this](std::uint64_t time_ns, std::function<void()> action) {
      simulator_.at(time_ns, std::move(action));
    };
    memory_.emplace(simulator_, at, *memory_plan_.sim, memory_plan_.buffer_node,
                    sim::Memory::Nodes{config.sim_node_ranks, layout_.world_size});
    simulator_.set_memory(&*memory_);
    network_.set_memory(&*memory_);
  }
  tracing_ =
      make_tracing(config, {layout_, workers_, layout_.world_size * workers_, "simulation", 0, ""},
                   nullptr, &simulator_);
  make_ranks();
  ranks_.front()->core().set_completion_check([this] { check_completion(); });
}

void SimulatedWorld::make_ranks() {
  std::vector<Machine::Place> places;
  for (int rank = 0; rank < layout_.world_size; ++rank) {
    const int node = rank / std::max(config_.sim_node_ranks, 1);
    places.push_back({node, node, node});
  }
  const auto machine = std::make_shared<const Machine>(std::move(places));
  const auto mapped_guards = std::make_shared<env::GuardCount>(0);
  const flow::Defaults flow = flow_defaults(config_, true);  // its times are not the machine's
  const memory::Defaults memory = memory_defaults(config_);
  for (int process = 0; process < layout_.process_count(); ++process) {
    net::Transport& transport = network_.transport(process);
    fabrics_.push_back(
        std::make_unique<net::Fabric>(transport.layout(), link_options_, &transport));
  }
  std::shared_ptr<sched::MemoryBoundLimit> limit;  // of one process
  for (int i = 0; i < layout_.world_size; ++i) {
    if (i % layout_.ranks_per_process == 0) {
      limit = memory_plan_.make_limit(workers_ * layout_.ranks_per_process);
    }
    RankOptions options;
    options.scheduler.memory_bound = limit;
    options.scheduler.rank = Rank(i);
    options.scheduler.worker_count = workers_;
    if (tracing_ != nullptr) options.scheduler.recorder = &tracing_->recorder();
    options.scheduler.stack_bytes = config_.stack_bytes;
    options.scheduler.mapped_guards = mapped_guards;
    options.messenger.rank = Rank(i);
    options.messenger.check_payloads = !config_.sim_dry;
    options.messenger.carries_payloads = !config_.sim_dry;
    options.args = config_.args;
    options.launch = Launch::simulated;
    options.check_graphs = config_.check_graphs.value_or(true);
    options.dry = config_.sim_dry;
    options.machine = machine;
    options.flow = flow;
    options.memory = memory;
    options.multicast_costs = config_.multicast_costs;
    options.memory.world = config_.sim_seed;
    net::Fabric& fabric = *fabrics_[static_cast<std::size_t>(layout_.process_of(Rank(i)))];
    ranks_.push_back(std::make_unique<RankRuntime>(
        simulator_, fabric, options, [this](const std::string& text) { end_at_once(text); }));
  }
}

// The target of a packet may still have to make its handler.
void SimulatedWorld::keep_log(std::size_t count, bool detection) {
  simulator_.log().keep(count, detection, [this](const net::Packet& packet) {
    const auto source = static_cast<std::size_t>(packet.header().source);
    return team::handler_names(ranks_[source]->messenger(), packet);
  });
}

// An error here is a mistake of shoal, not of the program.
void SimulatedWorld::check_completion() {
  const std::vector<std::string> left = checker_.outstanding();
  if (left.empty()) return;
  simulator_.fail(std::make_exception_ptr(Error(fmt::format(
      "completion was found at {} ns though there are: {}. This is a defect of shoal. Replay: "
      "--sim-seed {}",
      simulator_.now_ns(), fmt::join(left, "; "), config_.sim_seed))));
}

// The step that runs goes no further.
void SimulatedWorld::end_at_once(const std::string& text) {
  const TransportError error(text);
  if (!sched::costs_count()) throw error;  // not in a step
  simulator_.fail(std::make_exception_ptr(error));
  if (ranks_running_ == 0) std::abort();  // workers that stop do not leave a step any more
  while (true) static_cast<void>(sched::spend({}));
}

void SimulatedWorld::plan_faults() {
  constexpr std::uint64_t kNoticeNs = 1'000'000;
  for (const sim::Fault& fault : faults_.plan()) {
    if (fault.kind == sim::FaultKind::pause) {
      simulator_.at(fault.at_ns,
                    [this, &fault] { simulator_.pause(fault.rank, fault.at_ns + fault.for_ns); });
    } else if (fault.kind == sim::FaultKind::die) {
      simulator_.at(fault.at_ns, [this, &fault] {
        const int first = layout_.process_of(Rank(fault.rank)) * layout_.ranks_per_process;
        for (int i = 0; i < layout_.ranks_per_process; ++i) {
          simulator_.pause(first + i, sim::Simulator::kForever);
        }
      });
      // The launcher notices, and ends all processes.
      simulator_.at(fault.at_ns + kNoticeNs, [&fault] {
        throw TransportError(
            fmt::format("the process of rank {} died: the world ends", fault.rank));
      });
    }
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
  plan_faults();
  RankActivity activity(simulator_, ranks_);
  const bool declared = config_.sim_cost != sim::CostKind::measured;  // else each step has a cost
  simulator_.set_movement([this, declared, &activity, before = std::uint64_t{0}]() mutable {
    const std::vector<std::uint64_t>& work_ns = simulator_.work_ns();
    const std::uint64_t now = std::accumulate(work_ns.begin(), work_ns.end(), std::uint64_t{0});
    const bool has_worked = declared && now != before;
    before = now;
    return activity.look() || has_worked;
  });
  try {
    const sync::StrandWatch watch(config_.sim_races);
    simulator_.drive(all);
  } catch (const env::NoProgress&) {
    const std::vector<std::string> lost = network_.lost();
    if (!lost.empty()) {
      throw TransportError(fmt::format("the network lost {}: the run cannot continue without it",
                                       fmt::join(lost, ", ")));
    }
    throw_explained(
        fmt::format("the simulated world hangs at {} ns: every worker sleeps, no message is under "
                    "way, and {} of "
                    "{} main functions have not ended",
                    simulator_.now_ns(), ranks_running_, layout_.world_size));
  } catch (const sim::PollsForEver& polls) {
    throw_explained(fmt::format(
        "the simulated world polls for ever: from {} ns to {} ns nothing has happened but yield(), "
        "sleep_for(), and tests of futures or locks that were not successful. Wait by get() of a "
        "future, or by a lock, event or group, which name what is missing",
        polls.since_ns(), simulator_.now_ns()));
  } catch (const sim::TimeLimit&) {
    throw_explained(fmt::format(
        "the simulated world has not ended at {} ns (--sim-limit): {} of {} main functions still "
        "run",
        simulator_.now_ns(), ranks_running_, layout_.world_size));
  }
  const std::vector<std::string> left = checker_.outstanding();
  if (!left.empty()) {
    throw Error(fmt::format("the simulated world ended and left: {}. This is a defect of shoal",
                            fmt::join(left, "; ")));
  }
}

bool SimulatedWorld::end_run() {
  bool is_used = false;
  for (const auto& rank : ranks_) is_used = rank->end_run() || is_used;
  return is_used;
}

void SimulatedWorld::throw_explained(const std::string& what) {
  throw Error(fmt::format(
      "{}. Replay: --sim-seed {}. The last events:\n  {}\nreport of {} ranks:\n{}", what,
      config_.sim_seed, fmt::join(trace().last_lines(), "\n  "), layout_.world_size, report()));
}

std::vector<std::string> SimulatedWorld::summary() {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
  std::vector<std::string> lines{
      fmt::format("simulated {} with seed {}: {:.3f} us, {} events, trace hash {:016x}",
                  count(layout_.world_size, "rank"), config_.sim_seed, us(now_ns()),
                  trace().count(), trace().hash())};
  const sim::Traffic& traffic = network_.traffic();
  lines.push_back(fmt::format("between processes: {} bytes in {} packets and {} large payloads",
                              traffic.bytes, traffic.packets, traffic.payloads));
  std::vector<std::uint64_t> work_ns = simulator_.work_ns();
  std::ranges::sort(work_ns);
  if (work_ns.back() == 0) return lines;  // nothing said what it costs
  const std::uint64_t sum_ns = std::accumulate(work_ns.begin(), work_ns.end(), std::uint64_t{0});
  const double time_ns = static_cast<double>(now_ns()) * workers_;  // of a rank's workers
  const auto percent = [&](std::uint64_t ns) { return 100 * static_cast<double>(ns) / time_ns; };
  lines.push_back(fmt::format(
      "work: {:.3f} us on {} x {} workers, {:.1f} % of their time (ranks: {:.1f} to {:.1f} %, "
      "median {:.1f} %)",
      us(sum_ns), layout_.world_size, workers_, percent(sum_ns) / layout_.world_size,
      percent(work_ns.front()), percent(work_ns.back()), percent(work_ns[work_ns.size() / 2])));
  return lines;
}

std::string SimulatedWorld::report() {
  std::vector<RankPart> parts;
  for (const auto& rank : ranks_) {
    RankHistory history;
    history.now_ns = simulator_.now_ns();
    parts.push_back(describe_rank(*rank, rank->scheduler().inspector().states_here(), history));
  }
  return merge_parts(std::move(parts), {});
}

namespace {

int run_and_report(SimulatedWorld& world, const Config& config, const MainFunction& main_function) {
  const auto write_log = [&] {
    if (config.sim_log == 0) return;
    for (const std::string& line : world.log_lines()) say(line);
  };
  if (config.sim_log > 0) {
    world.keep_log(static_cast<std::size_t>(config.sim_log), config.sim_log_detection);
  }
  try {
    world.run(main_function);
  } catch (...) {
    write_log();
    world.finish_tracing();
    throw;
  }
  world.finish_tracing();
  const int exit_code = report_errors(world.ranks()).exit_code;
  write_log();
  for (const std::string& line : world.summary()) say(line);
  return exit_code;
}

}  // namespace

int run_simulated(const std::shared_ptr<const Config>& shared, const MainFunction& main_function) {
  const Config& config = *shared;
  for (const std::string& text : config.warnings) say(text);
  const auto run_here = [&](const std::shared_ptr<SimulatedWorld>& world) {
    const int exit_code = run_and_report(*world, config, main_function);
    if (world->end_run()) {
      retain_run(shared);
      retain_run(world);
    }
    return exit_code;
  };
  const auto world = [&config] { return std::make_shared<SimulatedWorld>(config); };
  if (!config.sim_check) return run_here(world());
  sim::Recording recording;
  env::run_in_silent_child([&] {
    SimulatedWorld first(config);
    first.trace().record_into(recording);
    try {
      first.run(main_function);
    } catch (...) {  // the second run ends in the same way
    }
    recording.flush();
  });
  recording.rewind();
  const std::shared_ptr<SimulatedWorld> second = world();
  second->trace().compare_with(recording);
  return run_here(second);
}

}  // namespace shoal::runtime

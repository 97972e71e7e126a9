#pragma once
// All that a simulated world is made of.

#include <shoal/run.hpp>

#include "runtime/config.hpp"
#include "runtime/memory_plan.hpp"
#include "runtime/rank_runtime.hpp"
#include "runtime/tracing.hpp"
#include "sim/memory.hpp"
#include "sim/network.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Looks at queues and links, not at the counters that completion detection goes by.
class WorldChecker {
 public:
  WorldChecker(const std::vector<std::unique_ptr<RankRuntime>>& ranks,
               const std::vector<std::unique_ptr<net::Fabric>>& fabrics,
               const sim::Network& network)
      : ranks_(ranks), fabrics_(fabrics), network_(network) {}

  /// Tasks and messages that exist, one line for each kind and place. Messages held back because
  /// their handler was never made do not count: they wait like unsatisfied tasks.
  [[nodiscard]] std::vector<std::string> outstanding() const;

 private:
  const std::vector<std::unique_ptr<RankRuntime>>& ranks_;
  const std::vector<std::unique_ptr<net::Fabric>>& fabrics_;
  const sim::Network& network_;
};

/// All processes of a simulated world, and their network.
class SimulatedWorld {
 public:
  explicit SimulatedWorld(const Config& config);
  ~SimulatedWorld() { drop_queued(ranks_); }
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  /// Completes the file of --trace, if there is one, also after run() has thrown.
  void finish_tracing() {
    if (tracing_ != nullptr) tracing_->finish();
  }
  [[nodiscard]] sim::Trace& trace() { return simulator_.trace(); }
  /// Keeps the last `count` happenings for log_lines().
  void keep_log(std::size_t count, bool detection);
  [[nodiscard]] std::vector<std::string> log_lines() const {
    return simulator_.log().lines(layout_.world_size);
  }
  [[nodiscard]] std::uint64_t now_ns() { return simulator_.now_ns(); }
  [[nodiscard]] const std::vector<std::unique_ptr<RankRuntime>>& ranks() const { return ranks_; }
  /// Summary of the run and its costs, in a few lines.
  [[nodiscard]] std::vector<std::string> summary();

  /// Once. Returns when all main functions have ended. Errors: Error when nothing can ever happen
  /// again before that, or when the time limit is reached, with the last events and a report of all
  /// ranks; Error when the trace differs from the recorded one.
  void run(const MainFunction& main_function);
  /// Called after run(). Returns whether objects of the program refer to this.
  [[nodiscard]] bool end_run();

 private:
  void make_ranks();
  void plan_faults();
  void check_completion();
  [[noreturn]] void end_at_once(const std::string& text);
  /// Throws an Error with its cause, the last events, and the waits of all ranks.
  [[noreturn]] void throw_explained(const std::string& what);
  /// Report of all ranks at this time.
  [[nodiscard]] std::string report();

  const Config config_;
  const MemoryPlan memory_plan_ = plan_memory(config_);
  const int workers_;  // per rank
  const net::Layout layout_;
  const net::LinkOptions link_options_;
  sim::Simulator simulator_;
  sim::Faults faults_;
  sim::Network network_;
  std::optional<sim::Memory> memory_;
  std::vector<std::unique_ptr<net::Fabric>> fabrics_;  // by process
  std::unique_ptr<Tracing> tracing_;                   // outlives the ranks
  std::vector<std::unique_ptr<RankRuntime>> ranks_;
  WorldChecker checker_{ranks_, fabrics_, network_};
  int ranks_running_ = 0;
};

/// Runs all ranks in this thread, by the options that begin with sim; returns the result of run().
/// With sim_check it runs them twice, the first time in a child process that writes nothing.
/// Errors: Error when the two runs differ; Error when nothing can ever happen again although some
/// ranks have not ended.
int run_simulated(const std::shared_ptr<const Config>& config, const MainFunction& main_function);

}  // namespace shoal::runtime

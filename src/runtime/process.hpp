#pragma once
// A process of a world: its ranks and their common parts.

#include "env/topology.hpp"
#include "net/mpi_transport.hpp"
#include "runtime/config.hpp"
#include "runtime/end_report.hpp"
#include "runtime/launcher.hpp"
#include "runtime/memory_plan.hpp"
#include "runtime/process_info.hpp"
#include "runtime/rank_runtime.hpp"
#include "runtime/tracing.hpp"

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/env/guards.hpp>
#include <shoal/run.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace shoal::runtime {

/// One process of a world: its ranks and their common parts.
class Process {
 public:
  Process(const Config& config, const ProgramMpi& program);
  ~Process() { drop_queued(ranks_); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// A process of its own, whatever has launched it, of which nothing is expected while no task is
  /// there and each main function waits for the program: no report is made then.
  static std::shared_ptr<Process> make_serving(const Config& config);

  /// Runs the main functions; writes errors, and returns the exit code of run().
  int run(const MainFunction& main_function);
  /// Runs the main functions of a process that serves. Returns the error of the ranks, the first
  /// that began in a main function before that of another; nullptr without one.
  std::exception_ptr serve(const MainFunction& main_function);
  /// Returns whether tasks or messages exist, or anything waits but main functions. Any thread,
  /// during serve().
  [[nodiscard]] bool has_work() const;
  [[nodiscard]] bool is_launched() const { return transport_ != nullptr; }
  /// Called after run(). Returns whether objects of the program refer to this.
  [[nodiscard]] bool end_run();
  /// Prints the text of --info, instead of run(). Collective.
  void print_info();

 private:
  enum class Kind { launched, serving };
  Process(const Config& config, const ProgramMpi& program, Kind kind);

  void execute(const MainFunction& main_function);
  void drive(const std::vector<env::Steppable*>& all);
  void begin_trace();
  void make_transport(const ProgramMpi& program);
  void agree();
  void make_ranks();
  [[nodiscard]] sched::SchedulerOptions scheduler_options(Rank rank) const;
  [[nodiscard]] bool is_oversubscribed() const {
    return workers_ * ranks_sharing_ > topology_.allowed_pus();
  }
  [[nodiscard]] team::MessengerOptions messenger_options(Rank rank) const;
  void leave_words_to_launcher() const;
  [[noreturn]] void end_at_once(const std::string& text);
  [[noreturn]] void give_up(const std::string& text);
  void finish_transport();
  void stop_after_last();

  const Config& config_;
  const Kind kind_;
  const LaunchInfo launch_;
  std::unique_ptr<env::Env> env_ = env::make_thread_env();
  env::Topology topology_ = env::Topology::of_process();
  const MemoryPlan memory_ = plan_memory(config_);
  const BufferPlace buffers_ = place_buffers(memory_, topology_.numa_nodes_from({}));
  std::shared_ptr<sched::MemoryBoundLimit> memory_bound_;
  std::unique_ptr<net::MpiTransport> transport_;
  net::Layout layout_;
  int workers_ = 1;        // per rank
  int ranks_sharing_ = 1;  // the PUs of this process, on its node
  std::vector<ProcessInfo> all_;
  std::vector<env::PuSet> places_;  // of the workers of this process, in rank order
  std::shared_ptr<const Machine> machine_;
  std::unique_ptr<net::Fabric> fabric_;
  const std::shared_ptr<env::GuardCount> mapped_guards_ = std::make_shared<env::GuardCount>(0);
  std::unique_ptr<Tracing> tracing_;  // outlives the workers
  std::vector<std::unique_ptr<RankRuntime>> ranks_;
  std::atomic<bool> are_made_{false};  // the ranks
  std::atomic<int> ranks_running_{0};
  EndReport end_;
};

}  // namespace shoal::runtime

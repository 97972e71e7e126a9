#pragma once
// Everything that one rank of this process is made of.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/memory/core.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/coll/collectives.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/flow_scheduler.hpp>
#include <shoal/run.hpp>

#include "runtime/config.hpp"
#include "team/messenger.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::runtime {

struct RankOptions {
  sched::SchedulerOptions scheduler;
  team::MessengerOptions messenger;
  std::span<const std::string> args;
  Launch launch = Launch::embedded;
  bool check_graphs = false;               // see TeamCore::checks_graphs()
  std::shared_ptr<const Machine> machine;  // nullptr: all ranks are on one node
  flow::Defaults flow;
  memory::Defaults memory;
  team::TreeCosts multicast_costs{};
  bool dry = false;
  bool serves = false;  // it is one of a shoal::Runtime
};
/// Settings of flows; with `read_only` the performance models stay as they are. **Errors**:
/// ConfigError for a file of models that cannot be read.
[[nodiscard]] flow::Defaults flow_defaults(const Config& config, bool read_only);
/// Settings of global memories, for all ranks of a process.
[[nodiscard]] memory::Defaults memory_defaults(const Config& config);

class RankRuntime {
 public:
  RankRuntime(env::Env& env, net::Fabric& fabric, const RankOptions& options,
              team::FatalHandler fatal);
  ~RankRuntime();
  RankRuntime(const RankRuntime&) = delete;
  RankRuntime& operator=(const RankRuntime&) = delete;

  /// Submits the main function; `ended` is called when it and all that it started have ended. The
  /// workers go on until the scheduler is stopped: they may be needed to poll for other ranks.
  void start(const MainFunction& main_function, Function<void()> ended);

  [[nodiscard]] sched::Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] team::Messenger& messenger() { return messenger_; }
  [[nodiscard]] TeamCore& core() { return core_; }
  [[nodiscard]] Rank rank() const { return scheduler_.rank(); }
  /// Returns whether this is a rank of a shoal::Runtime: its main function waits for calls of the
  /// program.
  [[nodiscard]] bool serves() const { return serves_; }

  // --- after the end

  /// The workers have stopped: what the program still has of this rank refuses calls. True: that
  /// refers to this object, which must stay.
  [[nodiscard]] bool end_run();
  /// Exit code of the main function, or its error.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] std::exception_ptr error() const { return error_; }
  /// The exception that left the main function, unless it is one that wait() throws on all ranks.
  [[nodiscard]] std::exception_ptr thrown() const;
  /// The main function failed by an error of its own, not by one that wait() throws on all ranks.
  [[nodiscard]] bool has_own_error() const;
  /// Failure that all ranks learned of, if there was one.
  [[nodiscard]] std::optional<TaskError> failure() const { return core_.failure(); }

 private:
  class MainTask;
  void run_main(const MainFunction& main_function);
  int call(const MainFunction& main_function);

  sched::Scheduler scheduler_;
  team::Messenger messenger_;
  TeamCore core_;
  team::Collectives collectives_;
  std::unique_ptr<World> world_;
  flow::Defaults flow_;
  memory::Defaults memory_;
  team::TreeCosts multicast_costs_;
  const bool serves_;
  int exit_code_ = 0;          // written by the main task, read after the workers stopped
  std::exception_ptr error_;   // likewise
  std::exception_ptr thrown_;  // likewise, by the main function itself
};

/// Destroys the tasks that an error has left in the queues of these ranks, while all are whole.
/// **Caller**: the owner of the ranks, before it destroys them.
void drop_queued(const std::vector<std::unique_ptr<RankRuntime>>& ranks);

}  // namespace shoal::runtime

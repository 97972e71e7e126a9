#pragma once
// Everything that one rank of this process is made of.

#include <shoal/coll/collectives.hpp>
#include <shoal/net/transport.hpp>
#include <shoal/runtime/run.hpp>
#include <shoal/sched/scheduler.hpp>
#include <shoal/sync/strand.hpp>
#include <shoal/term/scope.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace shoal::runtime {

struct RankOptions {
  sched::SchedulerOptions scheduler;
  messaging::MessengerOptions messenger;
  std::span<const std::string> args;
  Launch launch = Launch::embedded;
  bool check_graphs = false;  // see term::Scope::checks_graphs()
  bool dry = false;
};

class RankRuntime {
 public:
  RankRuntime(env::Env& env, net::Fabric& fabric, const RankOptions& options,
              messaging::FatalHandler fatal);

  /// Submits the main function; `ended` is called when it and all that it started have ended. The
  /// workers go on until somebody stops the scheduler: they may be needed to poll for other ranks.
  void start(const MainFunction& main_function, std::function<void()> ended);

  [[nodiscard]] sched::Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] messaging::Messenger& messenger() { return messenger_; }
  [[nodiscard]] term::Scope& scope() { return scope_; }
  [[nodiscard]] Rank rank() const { return scheduler_.rank(); }

  // --- after the end

  /// What the main function returned, or how it failed.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] std::exception_ptr error() const { return error_; }
  /// The main function failed by something else than what wait() throws on all ranks.
  [[nodiscard]] bool has_own_error() const;
  /// What all ranks were told of, if anything failed anywhere.
  [[nodiscard]] std::optional<TaskError> failure() const { return scope_.failure(); }

 private:
  class MainTask;
  void run_main(const MainFunction& main_function);
  int call(const MainFunction& main_function);

  sched::Scheduler scheduler_;
  messaging::Messenger messenger_;
  term::Scope scope_;
  coll::Collectives collectives_;
  PromiseTable promises_;
  World world_;
  int exit_code_ = 0;         // written by the main task, read after the workers stopped
  std::exception_ptr error_;  // likewise
};

}  // namespace shoal::runtime

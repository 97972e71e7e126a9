#include <shoal/run.hpp>

#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/version.hpp>

#include "env/freed_memory.hpp"
#include "env/host.hpp"
#include "runtime/config.hpp"
#include "runtime/end_report.hpp"
#include "runtime/launcher.hpp"
#include "runtime/process.hpp"
#include "runtime/process_info.hpp"
#include "runtime/program_phase.hpp"
#include "runtime/simulated_world.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

namespace shoal::runtime {

namespace {

constexpr const char* kLostByRun =
    "exit() was called inside shoal::run(){}: what the ranks had still to do is lost. Throw an "
    "exception instead: run() then returns 1";

/// Turn of a run over MPI, of which a process has one at a time.
class MpiTurn {
 public:
  /// Takes the turn. **Errors**: ConfigError while another thread has it.
  explicit MpiTurn(bool uses_mpi) : has_it_(uses_mpi && !taken().exchange(true)) {
    if (uses_mpi == has_it_) return;
    throw ConfigError(
        "shoal::run() was called while another thread of this process is in it: over MPI, runs "
        "follow each other, in the same order in all processes");
  }
  ~MpiTurn() {
    if (has_it_) taken() = false;
  }
  MpiTurn(const MpiTurn&) = delete;
  MpiTurn& operator=(const MpiTurn&) = delete;

 private:
  static std::atomic<bool>& taken() {
    static constinit std::atomic<bool> taken{false};
    return taken;
  }
  const bool has_it_;
};

int run_here(int argc, const char* const* argv, const MainFunction& main_function,
             const ProgramMpi& program) {
  env::open_standard_streams();
  try {
    check_in_main("shoal::run() was called");
    if (sched::on_worker()) {
      throw ConfigError(
          "shoal::run was called inside shoal::run, by a main function, a task or a handler: one "
          "world cannot wait for another on its own workers. Call it before or after, or on a "
          "thread of the program");
    }
    const auto shared =
        std::make_shared<const Config>(parse_config(argc, argv, process_environment()));
    const Config& config = *shared;
    if (config.help) {
      env::write_to_standard_output(config.help_text);
      return 0;
    }
    if (config.version) {
      env::write_to_standard_output("shoal " SHOAL_VERSION "\n");
      return 0;
    }
    if (config.simulate()) {
      check_not_launched(detect_launcher(process_environment()), program.communicator != nullptr);
      if (config.info) {
        env::write_to_standard_output(describe_simulation(config, net::mpi_plugins()));
        return 0;
      }
      const LossAtExit alone(kLostByRun, [] { return true; });
      return run_simulated(shared, main_function);
    }
    env::keep_freed_memory();
    const MpiTurn turn(program.communicator != nullptr ||
                       detect_launcher(process_environment()).launched);
    const auto process = std::make_shared<Process>(config, program);
    if (config.info) {
      process->print_info();
      return 0;
    }
    std::optional<LossAtExit> alone;
    if (!process->is_launched()) alone.emplace(kLostByRun, [] { return true; });
    const int exit_code = process->run(main_function);
    if (process->end_run()) {
      retain_run(shared);
      retain_run(process);
    }
    return exit_code;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return 1;
  }
}

// Text that the main functions have printed belongs to the results of the run.
int code_after_output(int exit_code) {
  try {
    env::write_to_standard_output("");
    return exit_code;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return std::max(exit_code, 1);
  }
}

}  // namespace

int run_world(int argc, const char* const* argv, const MainFunction& main_function,
              const ProgramMpi& program) {
  const int exit_code = code_after_output(run_here(argc, argv, main_function, program));
  sync::trim_blocks();  // the world is gone, and with it its tasks
  return exit_code;
}

}  // namespace shoal::runtime

#include "edat_api/process.hpp"

#include "env/host.hpp"

#include <shoal/detail/sched/scheduler.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace shoal::edat_api {

Process& process() {
  // Never destroyed: tasks may still run when a program ends without edatFinalise.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see Process
  static auto* const process = new Process;
  return *process;
}

// _Exit: other threads are at work, and the launcher of an MPI ends the other processes.
[[noreturn]] void refuse(const char* call, const std::string& text) {
  std::fflush(nullptr);
  env::write_to_standard_error(fmt::format("edat: error: {}: {}\n", call, text));
  std::_Exit(EXIT_FAILURE);
}

Program& running(const char* call) {
  Program* const program = process().program.get();
  if (program == nullptr) {
    refuse(call, process().rank < 0 ? "call edatInit first" : "called after edatFinalise");
  }
  return *program;
}

namespace {

bool is_in_task() { return sched::current_task() != nullptr || TaskThread::current() != nullptr; }

}  // namespace

Program& in_main(const char* call) {
  Program& program = running(call);
  if (is_in_task()) refuse(call, "call it in main(), not in a task");
  if (!program.is_main_thread()) refuse(call, "call it in the thread that called edatInit");
  return program;
}

std::string reason_of_failure(const Program& program, const std::exception& error) {
  const auto failure = program.world().core().failure();
  return failure.has_value() ? failure->what() : error.what();
}

void start(const char* call, const std::vector<std::pair<std::string, std::string>>& pairs,
           std::shared_ptr<const void> communicator) {
  Process& all = process();
  if (all.program != nullptr) refuse(call, "edatInit was called before");
  try {
    Configuration configuration = read_configuration(pairs, [](const std::string& variable) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours runs yet
      const char* const value = std::getenv(variable.c_str());
      return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    });
    const std::vector<std::string> notes = configuration.notes;
    all.program = std::make_unique<Program>(std::move(configuration), std::move(communicator));
    if (all.program->start()) {
      all.rank = all.program->world().rank().value();
      all.size = all.program->world().size();
      if (all.rank != 0) return;
      for (const std::string& note : notes) {
        env::write_to_standard_error(fmt::format("edat: note: {}: {}\n", call, note));
      }
      return;
    }
  } catch (const std::exception& error) {
    refuse(call, error.what());
  }
  std::fflush(nullptr);
  std::_Exit(all.program->finish());  // run() has said why
}

void check_may_finish(const char* call) {
  Program& program = running(call);
  if (is_in_task()) refuse(call, "call it in main(), not in a task");
  if (program.has_locked_communication(belongings())) refuse(call, "call edatUnlockComms first");
}

int finish() {
  const int exit_code = process().program->finish();
  process().program.reset();
  belongings().shown.clear();
  return exit_code;
}

bool pause(const char* call) {
  Program& program = in_main(call);
  if (program.has_locked_communication(belongings())) refuse(call, "call edatUnlockComms first");
  return program.pause();
}

void exit_after_error(int exit_code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the threads of the world have ended
  if (exit_code != 0) std::exit(exit_code);  // run() has said why
}

}  // namespace shoal::edat_api

// The functions of edat_debug.h.

#include <shoal/edat/edat_debug.h>

#include "edat_api/calls.hpp"
#include "edat_api/process.hpp"

#include <shoal/net/mpi_transport.hpp>
#include <shoal/sched/inspector.hpp>
#include <shoal/sched/park.hpp>
#include <shoal/sched/scheduler.hpp>

using namespace shoal::edat_api;

namespace {

/// For calls that belong to the thread of main().
Program& in_main(const char* call) {
  Program& program = running(call);
  if (shoal::sched::current_task() != nullptr) refuse(call, "call it in main(), not in a task");
  if (!program.is_main_thread()) refuse(call, "call it in the thread that called edatInit");
  return program;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of EDAT

int edatGetNumWorkers(void) { return running("edatGetNumWorkers").world().worker_count(); }

int edatGetWorker(void) {
  const shoal::term::Scope& scope = running("edatGetWorker").world().scope();
  const int slot = scope.scheduler().count_slot();
  return slot == scope.counts.foreign_slot() ? -1 : slot;
}

int edatGetNumActiveWorkers(void) {
  return running("edatGetNumActiveWorkers")
      .world()
      .scope()
      .scheduler()
      .inspector()
      .active_worker_count();
}

void edatPauseMainThread(void) {
  constexpr const char* kCall = "edatPauseMainThread";
  Program& program = in_main(kCall);
  if (program.has_locked_communication(belongings())) refuse(kCall, "call edatUnlockComms first");
  if (!program.pause()) finish();  // with the error of the world
}

void edatRestart(void) { in_main("edatRestart"); }

void edatInitialiseWithCommunicator(int communicator) {
  constexpr const char* kCall = "edatInitialiseWithCommunicator";
  std::shared_ptr<const void> native;
  try {
    native = shoal::net::communicator_of_fortran(communicator);
  } catch (const std::exception& error) {
    refuse(kCall, error.what());
  }
  start(kCall, {}, std::move(native));
}

void edatLockComms(void) {
  guarded("edatLockComms", [](Program& program) { program.lock_communication(belongings()); });
}

void edatUnlockComms(void) {
  guarded("edatUnlockComms", [](Program& program) { program.unlock_communication(belongings()); });
}

// NOLINTNEXTLINE(readability-function-size): the parameters of EDAT
void edatSubmitTask_f(void (*task)(EDAT_Event*, int), const char* name, int count, int** sources,
                      char** event_ids, bool persistent, bool greedy) {
  guarded("edatSubmitTask_f", [&](Program& program) {
    check_dependency_count(count);
    std::vector<shoal::EventDependency> dependencies;
    dependencies.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const int* const ranks = given(sources, "the array of sources");
      const char* const event_id = (&given(event_ids, "the array of event identifiers"))[i];
      dependencies.push_back(
          to_dependency(program, (&given(ranks, "the array of sources"))[i], event_id));
    }
    shoal::EventTaskOptions options;
    if (name != nullptr) options.name = name;
    options.persistent = persistent;
    options.greedy = greedy;
    submit_task(program, task, options, dependencies);
  });
}
// NOLINTEND(readability-identifier-naming)

// The functions of edat_debug.h.

#include <shoal/edat/edat_debug.h>

#include "edat_api/calls.hpp"
#include "edat_api/process.hpp"
#include "net/mpi_transport.hpp"
#include "sched/inspector.hpp"

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/scheduler.hpp>

using namespace shoal::edat_api;

// NOLINTBEGIN(readability-identifier-naming): the names of EDAT

int edatGetNumWorkers(void) { return running("edatGetNumWorkers").world().worker_count(); }

int edatGetWorker(void) {
  return guarded_in_task("edatGetWorker", [](const Program& program) {
    const shoal::TeamCore& core = program.world().core();
    const int slot = core.scheduler().count_slot();
    return slot == core.counts.foreign_slot() ? -1 : slot;
  });
}

int edatGetNumActiveWorkers(void) {
  return running("edatGetNumActiveWorkers")
      .world()
      .core()
      .scheduler()
      .inspector()
      .active_worker_count();
}

void edatPauseMainThread(void) {
  if (!pause("edatPauseMainThread")) exit_after_error(finish());  // with the error of the world
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
  guarded_in_task("edatLockComms",
                  [](Program& program) { program.lock_communication(belongings()); });
}

void edatUnlockComms(void) {
  guarded_in_task("edatUnlockComms",
                  [](Program& program) { program.unlock_communication(belongings()); });
}

// NOLINTNEXTLINE(readability-function-size): the parameters of EDAT
void edatSubmitTask_f(void (*task)(EDAT_Event*, int), const char* name, int count, int** sources,
                      char** event_ids, bool persistent, bool greedy) {
  guarded("edatSubmitTask_f", [&](Program& program) {
    const int* const ranks = count > 0 ? given(sources, "the array of sources") : nullptr;
    const auto dependencies = to_dependencies(program, count, ranks, event_ids);
    shoal::EventTaskOptions options;
    if (name != nullptr) options.name = name;
    options.persistent = persistent;
    options.greedy = greedy;
    submit_task(program, task, options, dependencies);
  });
}
// NOLINTEND(readability-identifier-naming)

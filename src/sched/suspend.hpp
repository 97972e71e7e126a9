#pragma once
// Parks the running task: leaves its fiber, and lets the worker go on on another one.

#include "sched/worker.hpp"

namespace shoal::sched {

/// Parks the running task, as one that runs, until the waiter that `publish` gets is woken. `what`
/// names the operation. The worker continues the task at once or, if `last`, after the ready ones.
void suspend(Worker& worker, const char* what, const Publish& publish, bool last = false);

/// Parks the running task in `what`: see sched::wait_for(). False: it was cancelled.
[[nodiscard]] bool park(Worker& worker, Waitable& what);

/// Runs, on the stack of the running task, the next one of the deque if `what` needs it. False:
/// it does not, or it must not be run here.
[[nodiscard]] bool run_nested(Worker& worker, Waitable& what);

}  // namespace shoal::sched

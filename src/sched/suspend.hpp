#pragma once
// Parks the running task: leaves its fiber, and lets the worker go on on another one.

#include "sched/worker.hpp"

namespace shoal::sched {

/// Parks the running task, as one that runs, until the waiter that `publish` gets is woken. `what`
/// names the operation. The worker continues the task at once or, if `last`, after the ready ones.
void suspend(Worker& worker, const char* what, const Publish& publish, bool last = false);

/// Parks the running task in `what`, see sched::wait_for(); returns false if the wait was
/// cancelled.
[[nodiscard]] bool park(Worker& worker, Waitable& what);

/// Runs the next task of the deque on the stack of the running task, if `what` needs it; returns
/// false if it does not, or if the task must not run there.
[[nodiscard]] bool run_nested(Worker& worker, Waitable& what);

}  // namespace shoal::sched

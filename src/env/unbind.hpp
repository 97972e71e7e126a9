#pragma once
// Threads that serve others and run wherever the process may.

namespace shoal::env {

/// Lets the calling thread run on every processor of the process's cpuset, whatever the thread that
/// started it is bound to. A system that refuses changes nothing.
void unbind_current_thread();

}  // namespace shoal::env

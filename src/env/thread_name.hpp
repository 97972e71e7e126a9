#pragma once
// Names of threads, as debuggers, top and /proc show them.

#include <string>

namespace shoal::env {

/// Names the calling thread; only the first 15 characters are kept. A process is called like its
/// first thread, so that one keeps its name.
void name_this_thread(const std::string& name);

}  // namespace shoal::env

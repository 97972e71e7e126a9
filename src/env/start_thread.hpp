#pragma once
// Threads with names.

#include <shoal/detail/base/function.hpp>

#include <string>
#include <thread>

namespace shoal::env {

/// Starts a thread of this name that runs `function`. An exception of that ends the process, with a
/// text that says the `purpose`. **Errors**: Error that says the `purpose`,
/// when the system refuses a thread.
std::thread start_thread(const std::string& name, const std::string& purpose,
                         Function<void()> function);

}  // namespace shoal::env

#pragma once
// Threads with names.

#include <functional>
#include <string>
#include <thread>

namespace shoal::env {

/// Starts a thread of this name that runs `function`. **Errors**: Error that says the `purpose`,
/// when the system refuses a thread.
std::thread start_thread(const std::string& name, const std::string& purpose,
                         std::function<void()> function);

}  // namespace shoal::env

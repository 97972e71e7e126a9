#pragma once
// Threads with names.

#include <shoal/detail/base/function.hpp>

#include <cstdint>
#include <string>
#include <thread>

namespace shoal::env {

/// Names the calling thread; only the first 15 characters are kept. A process is called like its
/// first thread, so that one keeps its name.
void name_this_thread(const std::string& name);

/// Starts a thread of this name that runs `function`. An exception of that ends the process, with a
/// text that says the `purpose`. **Errors**: Error that says the `purpose`,
/// when the system refuses a thread.
std::thread start_thread(const std::string& name, const std::string& purpose,
                         Function<void()> function);

/// Lets the calling thread run on every processor of the process's cpuset, whatever the thread that
/// started it is bound to. A system that refuses changes nothing.
void unbind_current_thread();

/// Times since the thread began, as the scheduler of the operating system counts them.
struct ThreadTimes {
  bool known = false;  // the system counts them
  std::uint64_t ran_ns = 0;
  std::uint64_t kept_waiting_ns = 0;  // ready to run, while others had the processors
};

/// Returns the times of the calling thread. **Cost**: reads a file of /proc, some microseconds.
[[nodiscard]] ThreadTimes times_of_this_thread() noexcept;

}  // namespace shoal::env

#pragma once
// Time that a thread ran, and that it waited for a processor.

#include <cstdint>

namespace shoal::env {

/// Times since the thread began, as the scheduler of the operating system counts them.
struct ThreadTimes {
  bool known = false;  // the system counts them
  std::uint64_t ran_ns = 0;
  std::uint64_t kept_waiting_ns = 0;  // ready to run, while others had the processors
};

/// Returns the times of the calling thread. **Cost**: reads a file of /proc, some microseconds.
[[nodiscard]] ThreadTimes times_of_this_thread() noexcept;

}  // namespace shoal::env

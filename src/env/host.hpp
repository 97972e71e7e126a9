#pragma once
// The machine and its processes.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace shoal::env {

/// The node that the process runs on: equal for two processes exactly if they share a machine.
std::string host_name();
/// Build identifier of the running program, as hexadecimal digits; "without a build id" if it has
/// none. Two builds of different sources have different identifiers.
std::string program_id();

/// Writes all of `text` to standard error at once, so that what other processes write comes before
/// or behind it.
void write_to_standard_error(std::string_view text);

/// Stops the calling thread for `duration_ns` of real time. Takes no memory. For a process that
/// ends; a worker parks.
void sleep_for(std::uint64_t duration_ns);

/// Runs `function` in a copy of this process whose output goes nowhere, and waits for its end.
/// **Caller**: a process with one thread. **Errors**: Error when there can be no copy. How it ended
/// is not told.
void run_in_silent_child(const std::function<void()>& function);

}  // namespace shoal::env

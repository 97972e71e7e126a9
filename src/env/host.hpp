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

/// Number of the calling process, as the system counts them.
std::int64_t process_id();

/// Path of the running program, or "".
std::string program_path();

/// Writes all of `text` to standard error at once, so that texts of other processes come before or
/// after it.
void write_to_standard_error(std::string_view text);

/// Stops the calling thread for `duration_ns` of real time. Takes no memory. For a process that
/// ends; a worker parks.
void sleep_for(std::uint64_t duration_ns);

/// Runs `function` in a copy of this process whose output goes nowhere, and waits for its end.
/// **Caller**: a process with one thread. **Errors**: Error when there can be no copy. The caller
/// does not learn how it ended.
void run_in_silent_child(const std::function<void()>& function);

}  // namespace shoal::env

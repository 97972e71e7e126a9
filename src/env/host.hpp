#pragma once
// The machine and its processes.

#include <shoal/detail/base/function.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::env {

/// The node that the process runs on: equal for two processes exactly if they share a machine.
std::string host_name();
/// Returns whether the machine is virtual. Its host may hold a processor meanwhile, which neither
/// the clock nor the processor time of a thread shows. nullopt: the processor does not say.
std::optional<bool> is_virtual_machine();
/// Time for which the host of this virtual machine has had its processors, the sum of all, in steps
/// of 10 ms. 0 where the machine is none, or its host does not tell.
std::int64_t stolen_ns();
/// Build identifier of the running program, as hexadecimal digits; "without a build id" if it has
/// none. Two builds of different sources have different identifiers.
std::string program_id();

/// Number of the calling process, as the system counts them.
std::int64_t process_id();

/// Path of the running program, or "".
std::string program_path();

/// Writes the text to standard error at once, so that texts of other processes come before or after
/// it. A text that cannot be written is lost: a full disk, a closed stream or a reader that is gone
/// ends no run. The only way to standard error (tools/check_layers). Takes no memory.
void write_to_standard_error(std::string_view text) noexcept;
/// Writes the parts of a text to standard error, one after the other.
void write_to_standard_error(std::initializer_list<std::string_view> parts) noexcept;

/// Writes the text to standard output, after what was printed there.
/// Errors: Error when this, or what was printed before, cannot be written.
void write_to_standard_output(std::string_view text);

/// Opens standard streams that are closed, so that no file of ours gets their numbers and the texts
/// for them. Reading from them and writing to them still fails.
void open_standard_streams() noexcept;

/// Stops the calling thread for `duration_ns` of real time. Takes no memory. For a process that
/// ends; a worker parks.
void sleep_for(std::uint64_t duration_ns);

/// Runs `function` in a copy of this process whose output goes nowhere, and waits for its end.
/// **Caller**: a process with one thread. **Errors**: Error when there can be no copy. The caller
/// does not learn how it ended.
void run_in_silent_child(FunctionRef<void()> function);

}  // namespace shoal::env

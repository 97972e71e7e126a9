#pragma once
// Dependencies of tasks, for traces. All functions do nothing while no tasks are recorded.

#include <cstdint>
#include <source_location>
#include <string>

namespace shoal::sched {

class Task;

/// Records that `by`, a task, a message or other dependencies, has fulfilled one of those with the
/// number `join`, which no other task of the run has at the time; 0: what runs here.
void record_fulfilled(std::uint64_t join, std::uint64_t by = 0) noexcept;
/// Records that `task`, which is not submitted yet, waits for the dependencies with that number.
/// 0: it has none.
void record_joined(Task& task, std::uint64_t join) noexcept;
/// Returns a number for dependencies; 0 while nothing is recorded.
[[nodiscard]] std::uint64_t new_join() noexcept;

/// Records where the program has made the tasks of a name.
void record_place(const std::string& name, const std::source_location& place) noexcept;
/// Records the colour of the tasks of a name in pictures, 0xRRGGBB.
void record_colour(const std::string& name, std::uint32_t colour) noexcept;

}  // namespace shoal::sched

#pragma once
// Runs that have ended, while objects of the program still refer to them.

#include <cstddef>
#include <memory>

namespace shoal::runtime {

/// Keeps the parts of a run until the process ends: an object of the program that outlives the run
/// refuses calls, and its destructor finds what it refers to. For programs that make this mistake;
/// others keep nothing.
void keep_run(std::shared_ptr<const void> parts);
/// How many are kept.
[[nodiscard]] std::size_t kept_run_count();

}  // namespace shoal::runtime

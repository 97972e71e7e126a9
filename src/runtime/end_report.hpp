#pragma once
// Output to standard error, and the exit code, when the ranks of a process have ended.

#include "runtime/rank_runtime.hpp"

#include <memory>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Writes a line of shoal's own to standard error.
void say(const std::string& text);

/// Writes the errors that began on these ranks, each once; of those with the same text, the one
/// that the world has chosen. Returns the result of run().
int report_errors(const std::vector<std::unique_ptr<RankRuntime>>& ranks);

}  // namespace shoal::runtime

#pragma once
// Places for files of traces.

#include <string>

namespace shoal::trace {

/// The reason why no trace can be written to `path`, or "". Only a new file, a regular file, or a
/// symbolic link to one of these can be replaced by a trace.
[[nodiscard]] std::string problem_of_output(const std::string& path);

/// Removes the regular file at `path`, or behind the symbolic links there; nothing else.
void remove_output(const std::string& path) noexcept;

}  // namespace shoal::trace

#pragma once
// Texts for people, and the exit code of programs that print results.

#include <string>

namespace cli {

/// Writes to standard error. A text that cannot be written is lost, and the program goes on.
void tell(const std::string& text) noexcept;

/// Exit code of a program that ends with `code`: not 0 if standard output did not take all that was
/// printed, which a text on standard error says.
[[nodiscard]] int code_after_output(int code, const std::string& program);

}  // namespace cli

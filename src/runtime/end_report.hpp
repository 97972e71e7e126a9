#pragma once
// Output to standard error, and the exit code, when the ranks of a process have ended.

#include "net/mpi_transport.hpp"
#include "runtime/rank_runtime.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::runtime {

/// Writes a line of shoal's own to standard error; it is lost if it cannot be written. Takes no
/// memory, unless a program in another language has set its words.
void say(std::string_view text) noexcept;
/// Sets the function that replaces words of C++ in these lines by those of another language.
void set_words(std::string (*replace)(std::string));

/// How the ranks of a process have ended.
struct EndReport {
  int exit_code = 0;         // result of run()
  bool is_uncaught = false;  // a main function left an error
  /// Text of a failure that began here and that all main functions here have caught: to be written
  /// if one of another process has not.
  std::string caught_here;
};

/// Writes the errors that began on these ranks and that a main function of theirs has not caught,
/// each once; of those with the same text, the one that the world has chosen.
EndReport report_errors(const std::vector<std::unique_ptr<RankRuntime>>& ranks);

/// Writes the errors of futures that the program has kept and that nobody has taken; returns
/// whether there are any.
bool report_untaken(const std::vector<std::unique_ptr<RankRuntime>>& ranks);

/// Writes the failure that all main functions here have caught, if one elsewhere has not.
/// Collective.
void report_caught(const EndReport& report, net::MpiTransport& transport);

/// Keeps the parts of a run until the process ends: an object of the program that outlives the run
/// refuses calls, and its destructor finds what it refers to. For programs that make this mistake;
/// others keep nothing.
void retain_run(std::shared_ptr<const void> parts);
/// How many are kept.
[[nodiscard]] std::size_t retained_run_count();

}  // namespace shoal::runtime

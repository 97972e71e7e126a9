#pragma once
// The commands that read files: calibrate, predict, plot, advise and synthesize.

#include "cli/command_line.hpp"

#include <functional>
#include <memory>

namespace contention {

/// Returns the exit code. Errors: InputError and ConfigError.
using Command = std::function<int()>;

/// Adds the commands to `app`; the one on the command line is stored in `chosen` by app.parse().
void add_commands(cli::App& app, Command& chosen);

}  // namespace contention

#pragma once
// Options that the applications share, and how they are parsed.

#include <shoal/shoal.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>
#include "cli/command_line.hpp"

#include "common/kernel_costs.hpp"
#include "common/process_grid.hpp"

namespace apps {

struct CommonOptions {
  int size = 1024;
  int tile = 128;
  std::uint64_t seed = 1;
  int repeat = 1;
  bool verify = true;
  bool bar = true;
  std::string json;          // where results go; empty: nowhere
  std::string kernel_rates;  // a file, for simulated runs; empty: all at --sim-flops
};

/// Adds an option whose value is a number from 1 on.
void add_count(cli::App& app, const std::string& name, int& value, const std::string& help);

/// Adds an option whose value is one of `words`; choose() is called with its index. The first word
/// is shown as the default.
void add_choice(cli::App& app, const std::string& name, const std::vector<std::string>& words,
                const std::string& help, const std::function<void(std::size_t word)>& choose);

/// Adds --json, for write_json().
void add_json_option(cli::App& app, std::string& path);

/// Adds --n, --tile, --seed, --repeat, --verify/--no-verify, --no-bar, --json, --kernel-rates.
void add_common_options(cli::App& app, CommonOptions& options);

/// From the file that was named.
[[nodiscard]] KernelCosts kernel_costs(const CommonOptions& options);

/// Adds --grid PxQ; grid_of() reads what it stored.
void add_grid_option(cli::App& app, std::string& grid);
/// The grid asked for, or a nearly square one when `text` is empty.
ProcessGrid grid_of(const std::string& text, int rank_count);

/// Parses the program's own arguments, and calls `body` if they are good; its result is the exit
/// code. A bad option, -h and an InputError that `body` throws on all ranks are answered once, by
/// rank 0, and end the program (exit code 2 for errors).
int run_app(cli::App& app, shoal::World& world, const std::function<int()>& body);

/// Writes `json` to the file at `path`, which --json gave; does nothing when it is empty. False
/// (and a message) if that fails. With is_standard_output(path) the caller prints nothing else
/// there. Caller: rank 0.
[[nodiscard]] bool write_json(const std::string& path, const nlohmann::json& json);

}  // namespace apps

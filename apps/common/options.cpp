#include "common/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "common/input_error.hpp"
#include "common/output_file.hpp"

namespace apps {
namespace {

constexpr int kBadInput = 2;

std::string to_lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void add_count(cli::App& app, const std::string& name, int& value, const std::string& help) {
  app.add_option(name, value, help)
      ->check(cli::range(1, std::numeric_limits<int>::max()))
      ->option_text(fmt::format("N [{}]", value));
}

void add_choice(cli::App& app, const std::string& name, const std::vector<std::string>& words,
                const std::string& help, const std::function<void(std::size_t word)>& choose) {
  const auto read = [words, choose, name](const std::string& text) {
    const auto found = std::ranges::find_if(
        words,
        [lower = to_lower(text)](const std::string& word) { return to_lower(word) == lower; });
    if (found == words.end()) {
      cli::refuse_value(name, fmt::format("'{}' is none of {}", text, fmt::join(words, ", ")));
    }
    choose(static_cast<std::size_t>(found - words.begin()));
  };
  app.add_option_function<std::string>(name, read, help)
      ->option_text(fmt::format("{} [{}]", fmt::join(words, "|"), words.front()));
}

void add_json_option(cli::App& app, std::string& path) {
  app.add_option("--json", path, "Write the results to this file too; -: only to standard output")
      ->option_text("FILE");
}

void add_common_options(cli::App& app, CommonOptions& options) {
  add_count(app, "--n", options.size, "Number of rows of the matrix");
  add_count(app, "--tile", options.tile, "Number of rows of a tile");
  app.add_option("--seed", options.seed, "Seed of random matrices")
      ->option_text(fmt::format("N [{}]", options.seed));
  add_count(app, "--repeat", options.repeat, "Number of timed runs");
  app.add_flag_callback(
      "--verify", [&options] { options.verify = true; }, "Check the result [on]");
  app.add_flag_callback(
      "--no-verify", [&options] { options.verify = false; }, "Do not check it");
  app.add_flag_callback(
      "--no-bar", [&options] { options.bar = false; }, "No progress bar on a terminal");
  add_json_option(app, options.json);
  app.add_option("--kernel-rates", options.kernel_rates,
                 "Durations of kernels in simulated runs, from calibrate kernels")
      ->option_text("FILE [--sim-flops]");
}

KernelCosts kernel_costs(const CommonOptions& options) {
  return options.kernel_rates.empty() ? KernelCosts() : KernelCosts(options.kernel_rates);
}

void add_grid_option(cli::App& app, std::string& grid) {
  app.add_option("--grid", grid, "Ranks as a grid")->option_text("PxQ [nearly square]");
}

ProcessGrid grid_of(const std::string& text, int rank_count) {
  return text.empty() ? ProcessGrid::near_square(rank_count) : ProcessGrid::parse(text, rank_count);
}

int run_app(cli::App& app, shoal::World& world, const std::function<int()>& body) {
  const bool first = world.rank() == 0;
  app.set_help_flag("-h", "Print this text");
  app.footer("--help lists the options of shoal itself: --ranks, --workers and others.");
  try {
    const auto ended = app.parse({world.args().begin() + 1, world.args().end()}, first);
    const int code = ended ? *ended : body();
    return first ? cli::code_after_output(code, app.name()) : code;
  } catch (const InputError& error) {
    if (first) cli::tell(fmt::format("{}: {}\n", app.name(), error.what()));
    return kBadInput;
  }
}

bool write_json(const std::string& path, const nlohmann::json& json) {
  OutputFile file(path);
  file.write(json.dump(2) + '\n');
  if (file.is_good()) return true;
  cli::tell(fmt::format("cannot write the results to {}\n", path));
  return false;
}

}  // namespace apps

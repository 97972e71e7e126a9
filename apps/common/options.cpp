#include "common/options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <vector>

#include "common/input_error.hpp"

namespace apps {
namespace {

constexpr int kBadInput = 2;

}  // namespace

void add_common_options(CLI::App& app, CommonOptions& options) {
  app.add_option("--n", options.size, "Number of rows of the matrix")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tile", options.tile, "Number of rows of a tile")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of random matrices")->capture_default_str();
  app.add_option("--am", options.am, "How tiles are sent: small or large active messages")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, AmKind>{{"small", AmKind::small}, {"large", AmKind::large}}))
      ->option_text("small|large [large]");
  app.add_option("--repeat", options.repeat, "Number of timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--verify,!--no-verify", options.verify, "Check the result [on]");
  app.add_flag("!--no-bar", options.bar, "No progress bar on a terminal");
  app.add_option("--json", options.json, "Write the results to this file too")->option_text("FILE");
}

void add_grid_option(CLI::App& app, std::string& grid) {
  app.add_option("--grid", grid, "Ranks as a grid")->option_text("PxQ [nearly square]");
}

ProcessGrid grid_of(const std::string& text, int rank_count) {
  return text.empty() ? ProcessGrid::near_square(rank_count) : ProcessGrid::parse(text, rank_count);
}

int run_app(CLI::App& app, shoal::World& world, const std::function<int()>& body) {
  const bool first = world.rank() == 0;
  app.set_help_flag("-h", "Print this text");
  app.footer("--help lists the options of shoal itself: --ranks, --workers and others.");
  // CLI11 takes the arguments from the back, without the name of the program.
  std::vector<std::string> arguments;
  for (const auto& argument : world.args() | std::views::drop(1) | std::views::reverse) {
    arguments.push_back(argument);
  }
  try {
    app.parse(arguments);
    return body();
  } catch (const CLI::Success&) {
    if (first) fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    if (first) fmt::print(stderr, "{}: {} (-h lists the options)\n", app.get_name(), error.what());
    return kBadInput;
  } catch (const InputError& error) {
    if (first) fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return kBadInput;
  }
}

bool write_json(const CommonOptions& options, const nlohmann::json& json) {
  if (options.json.empty()) return true;
  std::ofstream file(options.json);
  file << json.dump(2) << '\n';
  if (file.flush()) return true;
  fmt::print(stderr, "cannot write the results to {}\n", options.json);
  return false;
}

}  // namespace apps

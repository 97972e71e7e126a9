#include "insitu/options.hpp"

#include <fmt/format.h>

#include "common/options.hpp"

namespace insitu {
namespace {

void add_count(cli::App& app, const std::string& name, int& value, int min, int max,
               const std::string& help) {
  app.add_option(name, value, help)
      ->check(cli::range(min, max))
      ->option_text(fmt::format("N [{}]", value));
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  add_count(app, "--timesteps", options.timesteps, 1, 1'000'000, "Timesteps of the model");
  add_count(app, "--fields", options.fields, 1, 10'000, "Fields of each timestep");
  add_count(app, "--size", options.size, 1, 1 << 26, "Values of one field on one rank");
  add_count(app, "--pause", options.pause_us, 0, 1'000'000,
            "Longest pause of a compute rank between two items, in microseconds");
  app.add_option("--seed", options.seed, "Seed of values, orders and pauses")
      ->option_text(fmt::format("N [{}]", options.seed));
  app.add_flag_callback(
      "--verify", [&options] { options.verify = true; }, "Check every result [on]");
  app.add_flag_callback(
      "--no-verify", [&options] { options.verify = false; }, "Do not check the results");
  app.add_option("--out", options.out, "Write the diagnostics to this file; -: standard output")
      ->option_text("FILE");
  apps::add_json_option(app, options.json);
}

}  // namespace insitu

// Barnes-Hut: bodies that attract each other, with octrees in global memory and cached cells.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "barnes_hut/simulation.hpp"
#include "common/options.hpp"
#include "common/output_file.hpp"

namespace {

struct Output {
  std::string json;
  bool checksum = false;
};

int run(shoal::World& world, const barnes_hut::Options& options, const Output& output) {
  const barnes_hut::Result result = barnes_hut::simulate(world, options);
  const double bound = barnes_hut::error_bound(options.tolerance);
  bool good = result.error < bound;
  if (world.rank() == 0 && !apps::is_standard_output(output.json)) {
    fmt::print(
        "barnes_hut: {} bodies, {} steps, {} ranks, {:.3g} s, {} interactions, {} cells fetched, "
        "{} found in caches, error of accelerations {:.2e} (bound {:.2e}): {}\n",
        options.bodies, options.steps, world.size(), result.seconds, result.interactions,
        result.fetches, result.hits, result.error, bound, good ? "verified" : "wrong");
    if (output.checksum) fmt::print("checksum {:016x}\n", result.checksum);
  }
  if (world.rank() == 0) {
    good = apps::write_json(output.json, {{"ms", result.seconds * 1e3},
                                          {"interactions", result.interactions},
                                          {"fetches", result.fetches}}) &&
           good;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Gravitation among many bodies, by the algorithm of Barnes and Hut.",
                 "barnes_hut");
    barnes_hut::Options options;
    app.add_option("--bodies", options.bodies, "number of bodies")
        ->check(cli::range(2, 100'000'000))
        ->capture_default_str();
    app.add_option("--steps", options.steps, "number of time steps")
        ->check(cli::range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--tolerance", options.tolerance, "width of a cell by its distance, at most")
        ->check(cli::range(0.0, 1.5))
        ->capture_default_str();
    app.add_option("--step-time", options.step_time, "length of a time step (G = total mass = 1)")
        ->check(cli::range(0.0, 1e6))
        ->capture_default_str();
    app.add_option("--group", options.group, "bodies of one task")
        ->check(cli::range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--cache-bytes", options.cache_bytes,
                   "copies of remote cells that a rank keeps, in bytes (0: all)")
        ->check(cli::range(std::int64_t{0}, std::int64_t{1} << 50))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "seed of the bodies")->capture_default_str();
    Output output;
    app.add_flag("--checksum", output.checksum, "print a hash of all bodies at the end");
    apps::add_json_option(app, output.json);
    return apps::run_app(app, world, [&] { return run(world, options, output); });
  });
}

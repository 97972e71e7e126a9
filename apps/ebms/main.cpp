// Monte Carlo transport whose cross sections are spread over all ranks by energy bands.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "common/options.hpp"
#include "common/output_file.hpp"
#include "ebms/transport.hpp"

namespace {

int run(shoal::World& world, const ebms::Options& options, const std::string& json) {
  const ebms::Result result = ebms::transport(world, options);
  bool good = result.tally.absorbed + result.tally.slowed_down == options.particles;
  if (world.rank() == 0) {
    // Random numbers belong to particles, so each has the same collisions as with one rank.
    good = good && result.tally == ebms::transport_serially(options);
    if (!apps::is_standard_output(json)) {
      fmt::print(
          "ebms: {} particles, {} bands, {} ranks{}, {:.3g} s, of which {:.2g} s for data, "
          "{} collisions, {} absorbed, {} slowed down: {}\n",
          options.particles, options.bands, world.size(), options.prefetch ? ", prefetching" : "",
          result.seconds, result.waiting, result.tally.collisions, result.tally.absorbed,
          result.tally.slowed_down, good ? "verified" : "wrong");
    }
    good = apps::write_json(json, {{"ms", result.seconds * 1e3}}) && good;
  }
  return world.broadcast(good, shoal::Rank(0)) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Particle transport by energy bands, with cross sections in global memory.",
                 "ebms");
    ebms::Options options;
    app.add_option("--particles", options.particles, "number of particles")
        ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 40))
        ->capture_default_str();
    app.add_option("--bands", options.bands, "number of energy bands")
        ->check(cli::range(1, 100'000))
        ->capture_default_str();
    app.add_option("--points", options.points, "points of the cross sections of each band")
        ->check(cli::range(2, 100'000'000))
        ->capture_default_str();
    app.add_option("--group", options.group, "particles of one task")
        ->check(cli::range(1, 100'000'000))
        ->capture_default_str();
    app.add_flag("--prefetch", options.prefetch, "fetch the next band while this one is tracked");
    app.add_option("--seed", options.seed, "seed of the random numbers")->capture_default_str();
    std::string json;
    apps::add_json_option(app, json);
    return apps::run_app(app, world, [&] { return run(world, options, json); });
  });
}

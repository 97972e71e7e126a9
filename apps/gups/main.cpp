// GUPS and index gather over global memory.

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include "common/options.hpp"
#include "gups/updates.hpp"

namespace {

int run(shoal::World& world, const gups::Options& options) {
  const gups::Result result =
      options.gather ? gups::gather(world, options) : gups::update(world, options);
  if (world.rank() == 0) {
    fmt::print("gups: {} {} of 2^{} words on {} ranks, {:.3g} million/s: {}\n", result.operations,
               options.gather ? "reads" : "updates", options.log_size, world.size(),
               static_cast<double>(result.operations) / result.seconds * 1e-6,
               result.wrong == 0 ? "verified" : fmt::format("{} are wrong", result.wrong));
  }
  return result.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Random updates of a table in global memory (GUPS), or random reads.", "gups");
    gups::Options options;
    app.add_option("--log-size", options.log_size, "binary logarithm of the number of words")
        ->check(cli::range(1, 34))
        ->capture_default_str();
    app.add_option("--updates", options.updates, "operations per word")
        ->check(cli::range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--tasks", options.tasks, "tasks per rank")
        ->check(cli::range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "seed of the random numbers")->capture_default_str();
    app.add_flag("--gather", options.gather, "read words instead of updating them");
    return apps::run_app(app, world, [&] { return run(world, options); });
  });
}

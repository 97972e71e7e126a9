#include "bfs/options.hpp"

#include <fmt/format.h>

#include <limits>

#include "bfs/kronecker.hpp"
#include "bfs/search.hpp"
#include "common/options.hpp"

namespace bfs {
namespace {

cli::Option* add_count(cli::App& app, const std::string& name, int& value, int max,
                       const std::string& help) {
  return app.add_option(name, value, help)
      ->check(cli::range(1, max))
      ->option_text(fmt::format("N [{}]", value));
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  auto* scale = add_count(app, "--scale", options.scale, Kronecker::kScaleMax,
                          "A random graph of 2^N vertices");
  auto* edge_factor = add_count(app, "--edgefactor", options.edge_factor, Kronecker::kEdgeFactorMax,
                                "Edges of the random graph per vertex");
  app.add_option("--seed", options.seed, "Seed of the random graph and of the choice of roots")
      ->option_text(fmt::format("N [{}]", options.seed));
  app.add_option("--graph", options.graph,
                 "Search in the graph of the entries of this square .mtx matrix")
      ->option_text("FILE")
      ->excludes(scale)
      ->excludes(edge_factor);
  options.variant = search_variants().front();
  apps::add_choice(app, "--variant", search_variants(), "How to search",
                   [&options](std::size_t word) { options.variant = search_variants()[word]; });
  add_count(app, "--roots", options.roots, std::numeric_limits<int>::max(), "Number of searches");
  app.add_flag_callback(
      "--verify", [&options] { options.verify = true; }, "Check every tree [on]");
  app.add_flag_callback(
      "--no-verify", [&options] { options.verify = false; }, "Do not check the results");
  apps::add_json_option(app, options.json);
}

}  // namespace bfs

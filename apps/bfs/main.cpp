// The Graph500 benchmark: breadth-first search from many roots in a large graph, every tree
// checked.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bfs/graph_builder.hpp"
#include "bfs/input.hpp"
#include "bfs/options.hpp"
#include "bfs/reach.hpp"
#include "bfs/report.hpp"
#include "bfs/roots.hpp"
#include "bfs/search.hpp"
#include "bfs/validation.hpp"
#include "common/input_error.hpp"
#include "common/options.hpp"
#include "common/output_file.hpp"
#include "common/run_meter.hpp"

namespace bfs {
namespace {

constexpr double kSecondsMin = 1e-9;  // of a search that takes less than the clock shows

/// Searches from one root after the other. Times and messages are known on rank 0 only.
void search_all(const SearchContext& context, const Options& options,
                const std::vector<Vertex>& roots, Results& results) {
  const auto search = make_search(options.variant, context);
  Validator validator(context);
  apps::RunMeter meter(context.world, "bfs", false);
  for (const Vertex root : roots) {
    RootResult result;
    result.root = root;
    search->prepare();
    meter.start(0);
    search->run(root);
    const apps::RankCost cost = apps::total(meter.stop());
    result.seconds = std::max(cost.seconds, kSecondsMin);
    result.reach = reach_of(context, root, search->tree());
    if (options.verify) result.faults = describe(validator.check(root, search->tree()));
    results.messages += cost.messages;
    results.bytes += cost.bytes;
    results.searches.push_back(std::move(result));
  }
}

int run(shoal::World& world, const Options& options) {
  world.barrier();
  const std::uint64_t begin_ns = world.now_ns();
  const Input input = make_input(world, options);
  const VertexPartition partition(input.vertex_count, world.size());
  GraphBuilder builder(world, partition);
  const LocalGraph graph = builder.build({input.own_begin, input.own_end}, input.edge);
  world.barrier();

  Results results;
  results.construction_seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
  results.graph = input.title;
  results.vertex_count = input.vertex_count;
  results.edge_count = input.edge_count;
  const auto roots = sample_roots(world, graph, options.seed, options.roots);
  if (roots.empty()) {
    throw apps::InputError(input.title +
                           ": no vertex has an edge to another one: there is no root");
  }
  search_all({world, partition, graph}, options, roots, results);
  bool good = results.good();
  if (world.rank() == 0) {
    if (!apps::is_standard_output(options.json)) print(world, options, results);
    good = apps::write_json(options.json, to_json(world, options, results)) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace bfs

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Breadth-first search in a large graph: the Graph500 benchmark.", "bfs");
    bfs::Options options;
    bfs::add_options(app, options);
    return apps::run_app(app, world, [&] { return bfs::run(world, options); });
  });
}

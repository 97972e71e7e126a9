// Breadth-first search on a graph with hubs, or the least weight of an edge at each vertex. The
// adjacency list of a hub lies on its owner, on all ranks, on those of its neighbours, or on every
// k-th rank; the algorithms are the same (STAPL-RTS thesis, 7.11.6 and 7.11.7).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/options.hpp"
#include "common/random_graph.hpp"
#include "hub_bfs/lightest_edges.hpp"
#include "hub_bfs/placement.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using apps::RandomGraph;
using hub_bfs::Placement;
using hub_bfs::Strategy;
using shoal::Rank;

class Search : public shoal::DistributedObject<Search> {
 public:
  Search(shoal::Team& team, const RandomGraph& graph, const Placement& placement)
      : DistributedObject(team),
        placement_(placement),
        levels_(placement.vertices().count(team.rank()), -1),
        edges_(placement.edges_of(graph, team.rank())) {}

  void visit(std::uint64_t vertex, int level) {
    int& own = levels_[placement_.vertices().place(vertex)];
    if (own >= 0) return;
    own = level;
    next_.push_back(vertex);
  }
  void visit_neighbours(std::uint64_t vertex, int level) {
    for (const hub_bfs::EdgeEnd& end : edges_[vertex]) {
      async<&Search::visit>(placement_.vertices().owner(end.to), end.to, level);
    }
  }
  void run() {
    constexpr std::size_t root = 0;
    if (placement_.vertices().owner(root) == rank()) visit(root, 0);
    for (int level = 1;; ++level) {
      const std::vector<std::uint64_t> frontier = std::exchange(next_, {});
      if (team().allreduce(frontier.size(), std::plus<>()) == 0) return;
      for (const std::uint64_t vertex : frontier) {
        placement_.for_each_holder(
            vertex, [&](Rank holder) { async<&Search::visit_neighbours>(holder, vertex, level); });
      }
      fence();
    }
  }
  [[nodiscard]] bool is_right(const RandomGraph& graph) const {
    const std::vector<int> right = graph.levels(0);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i] != right[placement_.vertices().index(rank(), i)]) return false;
    }
    return true;
  }

 private:
  const Placement& placement_;
  std::vector<int> levels_;
  hub_bfs::EdgeLists edges_;
  std::vector<std::uint64_t> next_;
};

/// Seconds of a Search or LightestEdges, and whether the result is right.
template <class Problem>
std::pair<double, bool> solve(shoal::World& world, const RandomGraph& graph,
                              const Placement& placement) {
  Problem problem(world, graph, placement);
  world.barrier();
  const std::uint64_t begin_ns = world.now_ns();
  problem.run();
  const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
  return {seconds, problem.is_right(graph)};
}

struct Options {
  std::size_t vertices = 4096;
  double degree = 16;
  double skew = 4;
  std::size_t hubs = 16;
  std::uint64_t seed = 1;
  int stride = 2;
  Strategy strategy = Strategy::everywhere;
  std::string strategy_name = "everywhere";
  bool weights = false;
};

void add_options(cli::App& app, Options& options) {
  app.add_option("--vertices", options.vertices, "vertices")->check(cli::range(1, 1 << 28));
  app.add_option("--degree", options.degree, "average number of edges of a vertex")
      ->check(cli::range(0.0, 10000.0));
  app.add_option("--skew", options.skew, "inequality of the degrees; 1: none")
      ->check(cli::range(1.0, 16.0));
  app.add_option("--hubs", options.hubs, "vertices whose edges are distributed")
      ->check(cli::range(0, 1 << 28));
  app.add_option("--seed", options.seed, "seed of the graph");
  app.add_option("--stride", options.stride, "distance of the ranks of a striped list")
      ->check(cli::range(1, 1 << 20));
  const std::vector<std::string> names{"everywhere", "neighbors", "striped", "flat"};
  apps::add_choice(app, "--strategy", names, "where the edges of hubs lie", [&](std::size_t word) {
    constexpr Strategy kStrategies[] = {Strategy::everywhere, Strategy::neighbors,
                                        Strategy::striped, Strategy::flat};
    constexpr const char* kNames[] = {"everywhere", "neighbors", "striped", "flat"};
    options.strategy = kStrategies[word];
    options.strategy_name = kNames[word];
  });
  apps::add_choice(app, "--problem", {"bfs", "lightest-edges"},
                   "levels of a search, or the least weight of an edge at each vertex",
                   [&](std::size_t word) { options.weights = word == 1; });
}

int run(shoal::World& world) {
  cli::App app("breadth-first search on a graph with hubs", "hub_bfs");
  Options options;
  add_options(app, options);
  return apps::run_app(app, world, [&] {
    const RandomGraph graph(options.vertices, options.degree, options.seed, options.skew);
    const Placement placement(graph, world.size(), options.hubs, options.strategy, options.stride);
    const auto [seconds, is_right] = options.weights
                                         ? solve<hub_bfs::LightestEdges>(world, graph, placement)
                                         : solve<Search>(world, graph, placement);
    return apps::conclude(
        world, is_right,
        fmt::format("hub_bfs: {}{} vertices, {} edges, {} hubs {} on {} ranks, {:.3f} s",
                    options.weights ? "lightest edges of " : "", options.vertices,
                    graph.edge_count(), options.hubs, options.strategy_name, world.size(),
                    seconds));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }

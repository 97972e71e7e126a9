// Connected components of a graph by labels that wander along the edges: each vertex ends with the
// least number of a vertex that it is connected to (STAPL-RTS thesis, 8.8).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/options.hpp"
#include "common/random_graph.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using apps::RandomGraph;
using shoal::Distribution;
using shoal::Rank;

class Components : public shoal::DistributedObject<Components> {
 public:
  Components(shoal::Team& team, const RandomGraph& graph, bool tunnels)
      : DistributedObject(team),
        vertices_(Distribution::balanced(graph.vertex_count(), team.size())),
        first_(vertices_.count(team.rank()) > 0 ? vertices_.index(team.rank(), 0) : 0),
        labels_(vertices_.count(team.rank())),
        neighbours_(labels_.size()) {
    std::iota(labels_.begin(), labels_.end(), static_cast<std::uint32_t>(first_));
    graph.for_each_edge([&](std::size_t a, std::size_t b) {
      if (is_here(a)) neighbours_[a - first_].push_back(static_cast<std::uint32_t>(b));
      if (is_here(b)) neighbours_[b - first_].push_back(static_cast<std::uint32_t>(a));
    });
    if (tunnels) {
      auto tunnel = shoal::bind<&Components::visit>(*this, shoal::any_rank);
      send_ = [shared = std::make_shared<decltype(tunnel)>(std::move(tunnel))](
                  Rank owner, std::uint32_t to, std::uint32_t label) {
        (*shared)(owner, to, label);
      };
    } else {
      send_ = [this](Rank owner, std::uint32_t to, std::uint32_t label) {
        async<&Components::visit>(owner, to, label);
      };
    }
  }

  void visit(std::uint32_t vertex, std::uint32_t label) {
    std::uint32_t& own = labels_[vertex - first_];
    ++visits_;
    if (label >= own) return;
    own = label;
    spread(vertex);
  }
  void run() {
    for (std::size_t i = 0; i < labels_.size(); ++i) spread(static_cast<std::uint32_t>(first_ + i));
    fence();
    send_ = nullptr;
  }
  [[nodiscard]] std::uint64_t visits() const { return visits_; }
  /// Whether the labels are those of a search by one rank.
  [[nodiscard]] bool is_right(const RandomGraph& graph) const {
    const std::vector<std::uint32_t> right = graph.components();
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (labels_[i] != right[first_ + i]) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] bool is_here(std::size_t vertex) const {
    return vertex >= first_ && vertex < first_ + labels_.size();
  }
  void spread(std::uint32_t vertex) {
    const std::uint32_t label = labels_[vertex - first_];
    for (const std::uint32_t to : neighbours_[vertex - first_]) {
      send_(vertices_.owner(to), to, label);
    }
  }

  const Distribution vertices_;
  const std::size_t first_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::uint64_t visits_ = 0;
  std::function<void(Rank, std::uint32_t, std::uint32_t)> send_;
};

int run(shoal::World& world) {
  cli::App app("connected components of a random graph", "components");
  std::size_t vertices = 4096;
  double degree = 1.5;
  std::uint64_t seed = 1;
  bool tunnels = true;
  app.add_option("--vertices", vertices, "vertices")->check(cli::range(1, 1 << 28));
  app.add_option("--degree", degree, "average number of edges of a vertex")
      ->check(cli::range(0.0, 1000.0));
  app.add_option("--seed", seed, "seed of the graph");
  app.add_flag("--tunnel,!--no-tunnel", tunnels, "send through a tunnel");
  return apps::run_app(app, world, [&] {
    const RandomGraph graph(vertices, degree, seed);
    Components components(world, graph, tunnels);
    world.barrier();
    const std::uint64_t begin_ns = world.now_ns();
    components.run();
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    const std::uint64_t visits = components.allreduce<&Components::visits>(std::plus<>()).get();
    const bool good = components.is_right(graph);
    return apps::conclude(
        world, good,
        fmt::format("components: {} vertices, {} edges, {} visits on {} ranks, {}, "
                    "{:.3f} s",
                    vertices, graph.edge_count(), visits, world.size(),
                    tunnels ? "with a tunnel" : "without tunnels", seconds));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }

// Breadth-first search with MPI alone, by the method of the Graph500 reference code: level by
// level, visits of other ranks' vertices collected into packets for each destination, those of the
// own ones done at once. Graph, partition and roots are those of apps/bfs.

#include "cli/command_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "bfs/kronecker.hpp"
#include "bfs/local_graph.hpp"
#include "common/random_matrix.hpp"
#include "common/stopwatch.hpp"
#include "irregular/mpi_exchange.hpp"

namespace {

using bench::MpiWorld;
using bfs::Vertex;

constexpr int kEdgeFactor = 16;
constexpr std::uint64_t kSeed = 1;

struct Options {
  int scale = 16;
  int roots = 16;
  int packet_bytes = 8192;
  bench::RunOptions run;
};

/// The own vertices, and where searches begin: the vertices with edges whose mixed numbers are the
/// smallest.
struct Problem {
  bfs::VertexPartition partition;
  bfs::LocalGraph graph;
  std::vector<Vertex> roots;
};

// Each rank makes all edges, and keeps its own.
Problem make_problem(const MpiWorld& world, const Options& options) {
  const bfs::Kronecker edges(options.scale, kEdgeFactor, kSeed);
  const bfs::VertexPartition partition(edges.vertex_count(), world.size());
  std::vector<bfs::Arc> arcs;
  std::vector<char> has_edge(static_cast<std::size_t>(edges.vertex_count()));
  const auto keep = [&](Vertex at, Vertex other) {
    if (partition.owner(at) == world.rank()) arcs.push_back({at, other});
    if (at != other) has_edge[static_cast<std::size_t>(at)] = 1;
  };
  for (std::int64_t i = 0; i < edges.edge_count(); ++i) {
    const bfs::Edge edge = edges.edge(i);
    keep(edge.a, edge.b);
    if (edge.a != edge.b) keep(edge.b, edge.a);
  }
  std::vector<Vertex> roots;
  for (Vertex v = 0; v < edges.vertex_count(); ++v) {
    if (has_edge[static_cast<std::size_t>(v)] != 0) roots.push_back(v);
  }
  constexpr std::uint64_t salt = apps::mix_bits(kSeed + 1);
  const std::size_t count = std::min(roots.size(), static_cast<std::size_t>(options.roots));
  std::ranges::partial_sort(
      roots, roots.begin() + static_cast<std::ptrdiff_t>(count), {},
      [](Vertex v) { return apps::mix_bits(salt ^ static_cast<std::uint64_t>(v)); });
  roots.resize(count);
  return {partition, bfs::LocalGraph(partition, shoal::Rank(world.rank()), arcs), roots};
}

/// Numbers of vertices among those of their owners: of the visited one, and of its parent, which
/// the sender owns.
struct Visit {
  std::uint32_t at;
  std::uint32_t parent;
};

/// One rank's part of a search.
class Search {
 public:
  Search(const MpiWorld& world, const Problem& problem, int packet_bytes)
      : world_(world),
        graph_(problem.graph),
        partition_(problem.partition),
        packet_bytes_(packet_bytes),
        parents_(graph_.size()),
        levels_(graph_.size()) {}

  /// Collective.
  void run(Vertex root) {
    std::ranges::fill(parents_, kNone);
    std::ranges::fill(levels_, kNone);
    next_.clear();
    level_ = 0;
    if (partition_.owner(root) == world_.rank()) visit(partition_.local(root), root);
    for (std::int64_t visited = 1; visited > 0;) {
      ++level_;
      tell();
      visited = static_cast<std::int64_t>(next_.size());
      MPI_Allreduce(MPI_IN_PLACE, &visited, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  /// Edges that were given between vertices that were reached, of all ranks.
  [[nodiscard]] double edge_count() const {
    double count = 0;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const Vertex vertex = graph_.first() + static_cast<Vertex>(i);
      if (levels_[i] == kNone) continue;
      count += static_cast<double>(graph_.neighbours(vertex).size()) / 2 +
               static_cast<double>(graph_.loops(vertex));
    }
    return MpiWorld::sum(count);
  }
  /// Collective: levels of neighbours differ by one at most, and each vertex that was reached has a
  /// neighbour of the level before as its parent.
  [[nodiscard]] bool is_right(Vertex root) const {
    const std::vector<std::int32_t> levels = all_levels();
    const auto level = [&](Vertex v) { return levels[static_cast<std::size_t>(v)]; };
    bool right = level(root) == 0;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const Vertex vertex = graph_.first() + static_cast<Vertex>(i);
      const std::span<const Vertex> neighbours = graph_.neighbours(vertex);
      for (const Vertex other : neighbours) {
        right &= (level(vertex) == kNone) == (level(other) == kNone) &&
                 std::abs(level(vertex) - level(other)) <= 1;
      }
      if (level(vertex) == kNone || vertex == root) continue;
      right &= std::ranges::binary_search(neighbours, parents_[i]) &&
               level(parents_[i]) + 1 == level(vertex);
    }
    return MpiWorld::all_hold(right);
  }

 private:
  static constexpr int kNone = -1;

  void visit(std::size_t at, Vertex parent) {
    if (parents_[at] != kNone) return;
    parents_[at] = parent;
    levels_[at] = level_;
    next_.push_back(graph_.first() + static_cast<Vertex>(at));
  }
  // The level's own exchange is gone before any rank begins the next one, which uses the same tag.
  void tell() {
    irregular::Exchange<Visit> visits(world_, 0, packet_bytes_,
                                      [this](int source, std::span<const Visit> some) {
                                        const Vertex first = partition_.first(shoal::Rank(source));
                                        for (const Visit& one : some)
                                          visit(one.at, first + static_cast<Vertex>(one.parent));
                                      });
    std::vector<Vertex> current;
    current.swap(next_);
    for (const Vertex vertex : current) {
      for (const Vertex other : graph_.neighbours(vertex)) {
        const int owner = partition_.owner(other);
        if (owner == world_.rank()) {
          visit(partition_.local(other), vertex);
        } else if (visits.push(owner, {static_cast<std::uint32_t>(partition_.local(other)),
                                       static_cast<std::uint32_t>(partition_.local(vertex))})) {
          do {
            visits.poll();
          } while (visits.is_crowded());
        }
      }
    }
    visits.end(world_);
    while (!visits.is_over()) visits.poll();
  }
  [[nodiscard]] std::vector<std::int32_t> all_levels() const {
    std::vector<int> counts;
    std::vector<int> offsets;
    for (int rank = 0; rank < world_.size(); ++rank) {
      counts.push_back(static_cast<int>(partition_.size(shoal::Rank(rank))));
      offsets.push_back(static_cast<int>(partition_.first(shoal::Rank(rank))));
    }
    std::vector<std::int32_t> all(static_cast<std::size_t>(partition_.count()));
    MPI_Allgatherv(levels_.data(), counts[static_cast<std::size_t>(world_.rank())], MPI_INT32_T,
                   all.data(), counts.data(), offsets.data(), MPI_INT32_T, MPI_COMM_WORLD);
    return all;
  }

  const MpiWorld& world_;
  const bfs::LocalGraph& graph_;
  const bfs::VertexPartition& partition_;
  const int packet_bytes_;
  std::vector<Vertex> parents_;
  std::vector<std::int32_t> levels_;
  std::vector<Vertex> next_;  // visited last
  std::int32_t level_ = 0;
};

int run(const MpiWorld& world, const Options& options) {
  bench::limit_time(options.run);
  const Problem problem = make_problem(world, options);
  Search search(world, problem, options.packet_bytes);
  double inverse_sum = 0;
  bool right = true;
  for (const Vertex root : problem.roots) {
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    search.run(root);
    double seconds = watch.seconds();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    inverse_sum += seconds / search.edge_count();
    right = search.is_right(root) && right;
  }
  if (world.rank() != 0) return 0;
  const double teps = static_cast<double>(problem.roots.size()) / inverse_sum;
  return bench::finish({"bfs",
                        "mpi",
                        {{"teps", teps}},
                        {{"scale", std::int64_t{options.scale}},
                         {"roots", std::int64_t{options.roots}},
                         {"packet", std::int64_t{options.packet_bytes}},
                         {"ranks", std::int64_t{world.size()}},
                         {"library", MpiWorld::library()}}},
                       right);
}

}  // namespace

int main(int argc, char** argv) {
  const MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  Options options;
  const auto add_options = [&options](cli::App& app) {
    bench::add_run_options(app, options.run);
    app.add_option("--scale", options.scale, "Logarithm of the number of vertices")
        ->check(cli::range(1, 30));
    app.add_option("--roots", options.roots, "Searches")->check(cli::range(1, 1 << 16));
    app.add_option("--packet", options.packet_bytes, "Bytes collected for a destination")
        ->check(cli::range(64, 1 << 24));
  };
  const bench::Program program{"bfs_mpi", "Breadth-first search with MPI alone.", add_options,
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}

#include "bfs/input.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "bfs/graph_builder.hpp"
#include "common/input_error.hpp"
#include "common/matrix_market.hpp"

namespace bfs {
namespace {

Input random_input(const shoal::World& world, const Options& options) {
  const Kronecker graph(options.scale, options.edge_factor, options.seed);
  const Share own = share_of(graph.edge_count(), world.rank(), world.size());
  return {.title = fmt::format("Kronecker graph of scale {}, edge factor {}, seed {}",
                               options.scale, options.edge_factor, options.seed),
          .vertex_count = graph.vertex_count(),
          .edge_count = graph.edge_count(),
          .own_begin = own.begin,
          .own_end = own.end,
          .edge = [graph](std::int64_t index) { return graph.edge(index); }};
}

/// Rank 0 gives all edges.
Input file_input(shoal::World& world, const std::string& path) {
  const auto pattern = std::make_shared<apps::SymmetricPattern>();
  std::string error;
  if (world.rank() == 0) {
    try {
      *pattern = apps::read_matrix_market_pattern_file(path);
    } catch (const apps::InputError& bad) {
      error = bad.what();
    }
  }
  error = world.broadcast(error, shoal::Rank(0));
  if (!error.empty()) throw apps::InputError(error);
  const auto own = static_cast<std::int64_t>(pattern->lower.size());
  return {.title = path,
          .vertex_count = world.broadcast(pattern->size, shoal::Rank(0)),
          .edge_count = world.broadcast(own, shoal::Rank(0)),
          .own_begin = 0,
          .own_end = own,
          .edge = [pattern](std::int64_t index) {
            const auto& position = pattern->lower[static_cast<std::size_t>(index)];
            return Edge{position.row, position.column};
          }};
}

}  // namespace

Input make_input(shoal::World& world, const Options& options) {
  return options.graph.empty() ? random_input(world, options) : file_input(world, options.graph);
}

}  // namespace bfs

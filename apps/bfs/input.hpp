#pragma once
// The graph that a run is about: a random one, or one from a file.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <functional>
#include <string>

#include "bfs/kronecker.hpp"
#include "bfs/options.hpp"

namespace bfs {

/// A list of edges, a part of which each rank can give.
struct Input {
  std::string title;  // for the report
  Vertex vertex_count = 0;
  std::int64_t edge_count = 0;
  std::int64_t own_begin = 0;  // the part of this rank in the list
  std::int64_t own_end = 0;
  std::function<Edge(std::int64_t index)> edge;
};

/// Blocks: collective. Rank 0 reads the file, so that it must exist there only. Errors: InputError,
/// on all ranks, for a file that is not as it should be.
[[nodiscard]] Input make_input(shoal::World& world, const Options& options);

}  // namespace bfs

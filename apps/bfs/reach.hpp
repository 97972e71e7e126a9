#pragma once
// Vertices and edges that a search reached.

#include <cstdint>

#include "bfs/search.hpp"

namespace bfs {

struct Reach {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;      // given ones between these vertices, with repetitions and self-loops
  int depth = 0;               // the largest level
  std::uint64_t checksum = 0;  // of all levels: the same for every right search
};

/// Reach on all ranks. Blocks: collective, with the same result on all ranks.
[[nodiscard]] Reach reach_of(const SearchContext& context, Vertex root, const Tree& tree);

}  // namespace bfs

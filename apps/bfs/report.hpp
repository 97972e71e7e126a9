#pragma once
// How the results of the searches are shown.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bfs/options.hpp"
#include "bfs/reach.hpp"
#include "bfs/vertex_partition.hpp"

namespace bfs {

/// One search.
struct RootResult {
  Vertex root = 0;
  double seconds = 0;  // of the slowest rank
  Reach reach;
  std::string faults;  // of the tree; empty: it is right, or was not checked

  /// Traversed edges per second.
  [[nodiscard]] double teps() const { return static_cast<double>(reach.edges) / seconds; }
};

/// A run of the program.
struct Results {
  std::string graph;  // in words
  Vertex vertex_count = 0;
  std::int64_t edge_count = 0;
  double construction_seconds = 0;
  std::vector<RootResult> searches;  // at least one
  std::uint64_t messages = 0;        // of all searches and ranks
  std::uint64_t bytes = 0;

  [[nodiscard]] bool good() const;
  /// Checksum of all levels of all searches.
  [[nodiscard]] std::uint64_t checksum() const;
};

/// Caller: rank 0.
void print(const shoal::World& world, const Options& options, const Results& results);
[[nodiscard]] nlohmann::json to_json(const shoal::World& world, const Options& options,
                                     const Results& results);

}  // namespace bfs

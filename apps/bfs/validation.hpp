#pragma once
// Checks the tree that a search made against the graph, without trust in the search.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/shoal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bfs/exchange.hpp"
#include "bfs/level_search.hpp"
#include "bfs/local_graph.hpp"
#include "bfs/search.hpp"

namespace bfs {

/// Faults of a tree, in the order of the specification's checks.
enum class Fault {
  cycle,        // from a vertex of the tree, parents do not lead to the root
  tree_level,   // a vertex is not one level below its parent, or the root is not at level 0
  edge_level,   // the ends of an edge are more than one level apart
  not_spanned,  // an edge has one end in the tree only, or the root is not in it
  no_edge,      // a vertex and its parent are not joined by an edge
};
inline constexpr std::size_t kFaultCount = 5;

/// Result of the checks.
struct Verdict {
  std::array<std::int64_t, kFaultCount> counts{};  // by Fault
  std::array<Vertex, kFaultCount> examples{};      // the smallest vertex with the fault

  [[nodiscard]] bool good() const;
  [[nodiscard]] std::int64_t count(Fault fault) const {
    return counts[static_cast<std::size_t>(fault)];
  }
};

/// Description of the faults; empty without faults.
[[nodiscard]] std::string describe(const Verdict& verdict);

/// The five checks of the Graph500 specification for kernel 2, on all ranks. They look at the
/// neighbours that the graph keeps, which are all given edges except self-loops.
class Validator {
 public:
  /// Collective: all ranks make theirs.
  explicit Validator(const SearchContext& context);

  /// Blocks: collective, with the same result on all ranks. `tree` says anything whatsoever for the
  /// own vertices. **Cost**: a message's part for each vertex and for each edge between ranks.
  Verdict check(Vertex root, const Tree& tree);

 private:
  void walk_tree(Vertex root, const Tree& tree);
  void send_children(Vertex root, const Tree& tree);
  void compare_with_walk(Vertex root, const Tree& tree);
  void check_edges(const Tree& tree);
  void take_child(std::span<const Arc> arcs);
  void take_edge(int level, std::span<const Arc> arcs);
  void note(Fault fault, Vertex vertex) SHOAL_REQUIRES(mutex_);

  const SearchContext context_;
  const Tree* tree_ = nullptr;  // set by check(), read by handlers behind a barrier
  shoal::sync::Mutex mutex_;
  std::vector<Arc> children_ SHOAL_GUARDED_BY(mutex_);
  Verdict own_ SHOAL_GUARDED_BY(mutex_);
  Exchange<Arc> to_parents_;
  Exchange<Arc> to_neighbours_;
  LocalGraph tree_edges_;  // from parents to children
  LevelSearch walk_;       // along tree_edges_
};

}  // namespace bfs

#pragma once
// Breadth-first search: what all variants have in common.

#include <shoal/shoal.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bfs/local_graph.hpp"
#include "bfs/vertex_partition.hpp"

namespace bfs {

/// Instead of a level or a parent: the vertex was not reached.
inline constexpr int kNone = -1;

/// The result of a search at the own vertices, by their local number. The root is its own parent.
struct Tree {
  std::vector<Vertex> parent;
  std::vector<int> level;  // edges from the root
};

/// For who must not wait for a lock: others may write the level at the same time.
[[nodiscard]] inline int read_level(const Tree& tree, std::size_t index) {
  // relaxed: levels only get smaller; whoever reads an old one does more than is needed
  return std::atomic_ref(const_cast<int&>(tree.level[index])).load(std::memory_order_relaxed);
}
inline void write_level(Tree& tree, std::size_t index, int level) {
  std::atomic_ref(tree.level[index]).store(level, std::memory_order_relaxed);
}

/// Where a search runs. All of it outlives the search.
struct SearchContext {
  shoal::World& world;
  const VertexPartition& partition;
  const LocalGraph& graph;
};

/// One algorithm. All ranks make theirs in the same order, and call the same functions.
class Search {
 public:
  Search() = default;
  virtual ~Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Forgets an earlier search. Blocks: collective: no rank begins before all have forgotten.
  virtual void prepare() = 0;
  /// Searches from `root`, after prepare(). Blocks: collective; the whole tree is there when it
  /// returns.
  virtual void run(Vertex root) = 0;
  /// Valid after run().
  [[nodiscard]] virtual const Tree& tree() const = 0;
};

/// The names of the variants, the default one first.
[[nodiscard]] std::vector<std::string> search_variants();
/// Collective. `variant` is one of the names.
[[nodiscard]] std::unique_ptr<Search> make_search(const std::string& variant,
                                                  const SearchContext& context);

}  // namespace bfs

#pragma once
// Breadth-first search: common parts of all variants.

#include <shoal/shoal.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bfs/exchange.hpp"
#include "bfs/local_graph.hpp"
#include "bfs/vertex_partition.hpp"

namespace bfs {

/// Instead of a level or a parent: the vertex was not reached.
inline constexpr int kNone = -1;

/// Number of visits by which a level is prefetched: most are in no near cache.
inline constexpr std::size_t kVisitsAhead = 8;

/// The result of a search at the own vertices, by their local number. The root is its own parent.
struct Tree {
  std::vector<Vertex> parent;
  std::vector<int> level;  // edges from the root
};

/// For callers that must not wait for a lock: others may write the level at the same time.
[[nodiscard]] inline int read_level(const Tree& tree, std::size_t index) {
  // relaxed: levels only get smaller; a reader of an old one does more than is needed
  return std::atomic_ref(const_cast<int&>(tree.level[index])).load(std::memory_order_relaxed);
}
inline void write_level(Tree& tree, std::size_t index, int level) {
  std::atomic_ref(tree.level[index]).store(level, std::memory_order_relaxed);
}

/// Visit of an own vertex by a neighbour on the telling rank; both by their number there.
struct Visit {
  std::uint32_t at;
  std::uint32_t parent;
};

/// Where a search runs. All of it outlives the search.
struct SearchContext {
  shoal::World& world;
  const VertexPartition& partition;
  const LocalGraph& graph;
};

/// Tells all neighbours of `vertices`, which are at level - 1, except own ones for which
/// `is_near(index)` is true.
template <class IsNear>
void tell_neighbours(const SearchContext& context, const Exchange<Visit>& exchange,
                     std::span<const Vertex> vertices, int level, const Tree& tree,
                     IsNear&& is_near) {
  constexpr std::size_t kRowsAhead = 4;
  Exchange<Visit>::Sender sender(exchange);
  const LocalGraph& graph = context.graph;
  const shoal::Rank own = context.world.rank();
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    if (v + 2 * kRowsAhead < vertices.size()) graph.prefetch_row(vertices[v + 2 * kRowsAhead]);
    if (v + kRowsAhead < vertices.size()) graph.prefetch_neighbours(vertices[v + kRowsAhead]);
    const auto parent = static_cast<std::uint32_t>(graph.index(vertices[v]));
    const std::span<const Vertex> neighbours = graph.neighbours(vertices[v]);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const std::size_t later = i + kVisitsAhead;
      if (later < neighbours.size() && graph.owns(neighbours[later])) {
        __builtin_prefetch(&tree.level[graph.index(neighbours[later])]);
      }
      const Vertex neighbour = neighbours[i];
      if (!graph.owns(neighbour)) {
        const auto at = static_cast<std::uint32_t>(context.partition.local(neighbour));
        sender.send(level, context.partition.owner(neighbour), {at, parent});
      } else if (const std::size_t index = graph.index(neighbour); !is_near(index)) {
        sender.send(level, own, {static_cast<std::uint32_t>(index), parent});
      }
    }
  }
  sender.flush();
}

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

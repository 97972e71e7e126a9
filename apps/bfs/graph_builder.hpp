#pragma once
// Builds the distributed graph from edges that are anywhere.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/shoal.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bfs/exchange.hpp"
#include "bfs/kronecker.hpp"
#include "bfs/local_graph.hpp"
#include "bfs/vertex_partition.hpp"

namespace bfs {

/// A part of a list of `count` items: from begin to end - 1.
struct Share {
  std::int64_t begin;
  std::int64_t end;
};

/// The part with this index of `parts` nearly equal ones.
[[nodiscard]] Share share_of(std::int64_t count, int index, int parts);

/// Sends both directions of each edge to the owners of its ends.
class GraphBuilder {
 public:
  /// Collective: all ranks make theirs.
  GraphBuilder(shoal::World& world, const VertexPartition& partition);

  /// Blocks: collective. Each rank gives the edges that `edge` has for the indices of `own`, which
  /// is called by several tasks at the same time, and gets the edges of its vertices.
  [[nodiscard]] LocalGraph build(const Share& own,
                                 const std::function<Edge(std::int64_t index)>& edge);

 private:
  void send_edges(const Share& part, const std::function<Edge(std::int64_t index)>& edge);
  void take(std::span<const Arc> arcs);

  shoal::World& world_;
  const VertexPartition& partition_;
  shoal::sync::Mutex mutex_;
  std::vector<Arc> arcs_ SHOAL_GUARDED_BY(mutex_);
  Exchange<Arc> exchange_;
};

}  // namespace bfs

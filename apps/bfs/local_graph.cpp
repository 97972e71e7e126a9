#include "bfs/local_graph.hpp"

#include <algorithm>
#include <numeric>

namespace bfs {

LocalGraph::LocalGraph(const VertexPartition& partition, shoal::Rank rank,
                       std::span<const Arc> arcs)
    : first_(partition.first(rank)),
      begins_(partition.size(rank) + 1, 0),
      loops_(partition.size(rank), 0) {
  for (const Arc& arc : arcs) {
    const std::size_t row = partition.local(arc.at);
    if (arc.at == arc.other) {
      ++loops_[row];
    } else {
      ++begins_[row + 1];
    }
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  columns_.resize(begins_.back());
  std::vector<std::size_t> ends = begins_;
  for (const Arc& arc : arcs) {
    if (arc.at != arc.other) columns_[ends[partition.local(arc.at)]++] = arc.other;
  }
  // Arcs come in any order: sorted, the graph is the same in every run.
  for (std::size_t row = 0; row < loops_.size(); ++row) {
    std::sort(columns_.data() + begins_[row], columns_.data() + begins_[row + 1]);
  }
}

}  // namespace bfs

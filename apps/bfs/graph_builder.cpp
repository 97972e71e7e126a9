#include "bfs/graph_builder.hpp"

#include <algorithm>
#include <utility>

namespace bfs {

Share share_of(std::int64_t count, int index, int parts) {
  const auto begin = [&](int part) {
    return count / parts * part + std::min<std::int64_t>(part, count % parts);
  };
  return {begin(index), begin(index + 1)};
}

GraphBuilder::GraphBuilder(shoal::World& world, const VertexPartition& partition)
    : world_(world),
      partition_(partition),
      exchange_(world, "edges",
                [this](shoal::Rank /*source*/, int /*level*/, std::span<const Arc> arcs) {
                  take(arcs);
                }) {}

LocalGraph GraphBuilder::build(const Share& own,
                               const std::function<Edge(std::int64_t index)>& edge) {
  for (int worker = 0; worker < world_.worker_count(); ++worker) {
    const Share part = share_of(own.end - own.begin, worker, world_.worker_count());
    world_.spawn(
        [this, &edge, part = Share{own.begin + part.begin, own.begin + part.end}] {
          send_edges(part, edge);
        },
        {.name = "make edges"});
  }
  world_.wait();
  std::vector<Arc> arcs;
  {
    const shoal::sync::Lock lock(mutex_);
    arcs = std::move(arcs_);
    arcs_ = {};
  }
  return {partition_, world_.rank(), arcs};
}

void GraphBuilder::send_edges(const Share& part,
                              const std::function<Edge(std::int64_t index)>& edge) {
  Exchange<Arc>::Sender sender(exchange_);
  for (std::int64_t index = part.begin; index < part.end; ++index) {
    const Edge e = edge(index);
    sender.send(0, partition_.owner(e.a), {e.a, e.b});
    if (e.a != e.b) sender.send(0, partition_.owner(e.b), {e.b, e.a});
  }
  sender.flush();
}

void GraphBuilder::take(std::span<const Arc> arcs) {
  const shoal::sync::Lock lock(mutex_);
  arcs_.insert(arcs_.end(), arcs.begin(), arcs.end());
}

}  // namespace bfs

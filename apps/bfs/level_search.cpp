#include "bfs/level_search.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "bfs/graph_builder.hpp"

namespace bfs {

LevelSearch::LevelSearch(const SearchContext& context)
    : context_(context),
      exchange_(context.world, context.partition, "visit",
                [this](int level, std::span<const Arc> arcs) { visit(level, arcs); }) {}

void LevelSearch::prepare() {
  const std::size_t size = context_.partition.size(context_.world.rank());
  tree_.parent.assign(size, kNone);
  tree_.level.assign(size, kNone);
  context_.world.barrier();
}

void LevelSearch::run(Vertex root) {
  shoal::World& world = context_.world;
  if (context_.partition.owner(root) == world.rank()) visit(0, std::vector<Arc>{{root, root}});
  for (int level = 1;; ++level) {
    const std::vector<Vertex> frontier = take_next();
    // Also keeps visits of the next level away from a rank that has not taken its frontier.
    if (world.allreduce(static_cast<std::int64_t>(frontier.size()), std::plus<>()) == 0) return;
    for (int worker = 0; worker < world.worker_count(); ++worker) {
      const auto size = static_cast<std::int64_t>(frontier.size());
      const Share share = share_of(size, worker, world.worker_count());
      if (share.begin == share.end) break;
      const std::span part(frontier.data() + share.begin, frontier.data() + share.end);
      world.spawn([this, part, level] { tell(part, level); }, {.name = "tell neighbours"});
    }
    world.wait();
  }
}

void LevelSearch::visit(int level, std::span<const Arc> arcs) {
  const shoal::sync::Lock lock(mutex_);
  for (const Arc& arc : arcs) {
    const std::size_t index = context_.graph.index(arc.at);
    if (tree_.level[index] != kNone) continue;
    tree_.parent[index] = arc.other;
    write_level(tree_, index, level);
    next_.push_back(arc.at);
  }
}

std::vector<Vertex> LevelSearch::take_next() {
  const shoal::sync::Lock lock(mutex_);
  return std::exchange(next_, {});
}

void LevelSearch::tell(std::span<const Vertex> vertices, int level) const {
  ArcExchange::Sender sender(exchange_);
  const LocalGraph& graph = context_.graph;
  for (const Vertex vertex : vertices) {
    for (const Vertex neighbour : graph.neighbours(vertex)) {
      if (graph.owns(neighbour) && read_level(tree_, graph.index(neighbour)) != kNone) continue;
      sender.send(level, {neighbour, vertex});
    }
  }
  sender.flush();
}

}  // namespace bfs

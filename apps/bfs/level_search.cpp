#include "bfs/level_search.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "bfs/graph_builder.hpp"

namespace bfs {

LevelSearch::LevelSearch(const SearchContext& context)
    : context_(context),
      exchange_(context.world, "visit",
                [this](shoal::Rank source, int level, std::span<const Visit> visits) {
                  visit(source, level, visits);
                }) {}

void LevelSearch::prepare() {
  const std::size_t size = context_.partition.size(context_.world.rank());
  tree_.parent.assign(size, kNone);
  tree_.level.assign(size, kNone);
  context_.world.barrier();
}

void LevelSearch::run(Vertex root) {
  shoal::World& world = context_.world;
  if (context_.partition.owner(root) == world.rank()) {
    const auto index = static_cast<std::uint32_t>(context_.graph.index(root));
    visit(world.rank(), 0, std::vector<Visit>{{index, index}});
  }
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

void LevelSearch::visit(shoal::Rank source, int level, std::span<const Visit> visits) {
  const Vertex first = context_.graph.first();
  const Vertex first_parent = context_.partition.first(source);
  const shoal::sync::Lock lock(mutex_);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    if (i + kVisitsAhead < visits.size()) {
      __builtin_prefetch(&tree_.level[visits[i + kVisitsAhead].at], 1);
    }
    const std::size_t index = visits[i].at;
    if (tree_.level[index] != kNone) continue;
    tree_.parent[index] = first_parent + static_cast<Vertex>(visits[i].parent);
    write_level(tree_, index, level);
    next_.push_back(first + static_cast<Vertex>(index));
  }
}

std::vector<Vertex> LevelSearch::take_next() {
  const shoal::sync::Lock lock(mutex_);
  return std::exchange(next_, {});
}

void LevelSearch::tell(std::span<const Vertex> vertices, int level) const {
  tell_neighbours(context_, exchange_, vertices, level, tree_,
                  [this](std::size_t index) { return read_level(tree_, index) != kNone; });
}

}  // namespace bfs

#include "bfs/event_search.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace bfs {
namespace {

std::string visit_of(int level) { return fmt::format("visit_{}", level); }

}  // namespace

EventSearch::EventSearch(const SearchContext& context)
    : context_(context), events_(context.world, "search") {}

void EventSearch::prepare() {
  const std::size_t size = context_.partition.size(context_.world.rank());
  tree_.parent.assign(size, kNone);
  tree_.level.assign(size, kNone);
  context_.world.barrier();
}

void EventSearch::run(Vertex root) {
  std::vector<Vertex> visited;
  if (context_.partition.owner(root) == context_.world.rank()) {
    const std::size_t index = context_.partition.local(root);
    tree_.parent[index] = root;
    tree_.level[index] = 0;
    visited.push_back(root);
  }
  submit_level(1);
  fire_visits(1, visited);
  context_.world.wait();
}

void EventSearch::submit_level(int level) {
  events_.submit({{shoal::all, visit_of(level)}},
                 [this, level](shoal::EventList& visits) { on_level(level, visits); },
                 {.name = visit_of(level)});
}

void EventSearch::on_level(int level, const shoal::EventList& visits) {
  std::int64_t visited_before = 0;
  std::vector<Vertex> visited;
  for (const shoal::Event& event : visits) {
    const auto [count, arcs] = event.get<Visits>();
    visited_before += count;
    for (const Arc& arc : arcs) {
      const std::size_t index = context_.partition.local(arc.at);
      if (tree_.parent[index] != kNone) continue;
      tree_.parent[index] = arc.other;
      tree_.level[index] = level;
      visited.push_back(arc.at);
    }
  }
  if (visited_before == 0) return;  // of all ranks, and so on all ranks
  submit_level(level + 1);
  fire_visits(level + 1, visited);
}

void EventSearch::fire_visits(int level, const std::vector<Vertex>& visited) {
  const int size = context_.world.size();
  std::vector<std::vector<Arc>> arcs(static_cast<std::size_t>(size));
  for (const Vertex vertex : visited) {
    for (const Vertex neighbour : context_.graph.neighbours(vertex)) {
      const shoal::Rank owner = context_.partition.owner(neighbour);
      arcs[static_cast<std::size_t>(owner.value())].push_back({neighbour, vertex});
    }
  }
  for (int rank = 0; rank < size; ++rank) {
    events_.fire(shoal::Rank(rank), visit_of(level),
                 Visits(static_cast<std::int64_t>(visited.size()),
                        std::move(arcs[static_cast<std::size_t>(rank)])));
  }
}

}  // namespace bfs

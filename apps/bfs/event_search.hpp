#pragma once
// Level-synchronous breadth-first search driven by events (edat paper, section V).

#include <shoal/shoal.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "bfs/search.hpp"

namespace bfs {

/// For each level a task per rank, which depends on one event "visit_<level>" of every rank: with
/// the vertices that the sender wants to be visited, and how many it visited in the level before.
/// The task visits, and fires the events of the next level; when no rank has visited any, it is the
/// last one. These events are the only way in which ranks wait for each other.
class EventSearch final : public Search {
 public:
  explicit EventSearch(const SearchContext& context);

  void prepare() override;
  void run(Vertex root) override;
  [[nodiscard]] const Tree& tree() const override { return tree_; }

 private:
  using Visits = std::pair<std::int64_t, std::vector<Arc>>;  // visited before, to be visited

  void submit_level(int level);
  void on_level(int level, const shoal::EventList& visits);
  void fire_visits(int level, const std::vector<Vertex>& visited);

  const SearchContext context_;
  Tree tree_;  // changed by the task of one level at a time, which begins after that of the last
  shoal::Events events_;
};

}  // namespace bfs

#pragma once
// Asynchronous breadth-first search: no rank waits for another before the end.

#include <shoal/detail/sync/mutex.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "bfs/search.hpp"

namespace bfs {

/// Label-correcting search: a vertex that learns of a shorter way takes it, and tells its
/// neighbours again. wait() returns when no vertex has anything to tell.
///
/// Correctness of the levels: whenever a vertex p gets a smaller level, it tells all its neighbours
/// later. So at the end no neighbour of p has a level above level(p) + 1, and the level of a vertex
/// v is the level of its parent plus one: its parent told it so, and would have told it again if it
/// had got a smaller one.
class AsyncSearch final : public Search {
 public:
  explicit AsyncSearch(const SearchContext& context);

  void prepare() override;
  void run(Vertex root) override;
  [[nodiscard]] const Tree& tree() const override { return tree_; }

 private:
  /// Vertices of one level; none: there is nothing to do.
  struct Batch {
    int level = kNone;
    std::vector<Vertex> vertices;
  };

  void visit(shoal::Rank source, int level, std::span<const Visit> visits);
  /// A task: takes the nearest vertices that are to tell their neighbours, and does that.
  void tell();
  [[nodiscard]] bool is_near(std::size_t index, int level) const;
  Batch take_batch();

  const SearchContext context_;
  Tree tree_;  // changed under mutex_ until wait() has returned; then read by the main function
  shoal::sync::Mutex mutex_;
  // Vertices that got a level and have not told it: by level, because news of a near vertex is less
  // likely to be corrected. A vertex that has got a smaller level since is listed twice.
  std::map<int, std::vector<Vertex>> waiting_ SHOAL_GUARDED_BY(mutex_);
  int tellers_ SHOAL_GUARDED_BY(mutex_) = 0;  // tasks that will look at waiting_ again
  Exchange<Visit> exchange_;
};

}  // namespace bfs

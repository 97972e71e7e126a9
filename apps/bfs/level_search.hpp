#pragma once
// Level-synchronous breadth-first search.

#include <shoal/detail/sync/mutex.hpp>

#include <span>
#include <vector>

#include "bfs/search.hpp"

namespace bfs {

/// All ranks tell the neighbours of one level's vertices, and wait for each other before the next
/// level. A vertex is visited once. Directed graphs do as well: it walks from a vertex to its
/// neighbours.
class LevelSearch final : public Search {
 public:
  explicit LevelSearch(const SearchContext& context);

  void prepare() override;
  void run(Vertex root) override;
  [[nodiscard]] const Tree& tree() const override { return tree_; }

 private:
  void visit(shoal::Rank source, int level, std::span<const Visit> visits);
  std::vector<Vertex> take_next();
  void tell(std::span<const Vertex> vertices, int level) const;

  const SearchContext context_;
  Tree tree_;  // changed under mutex_ until wait() has returned; then read by the main function
  shoal::sync::Mutex mutex_;
  std::vector<Vertex> next_ SHOAL_GUARDED_BY(mutex_);  // own vertices of the level that is told
  Exchange<Visit> exchange_;
};

}  // namespace bfs

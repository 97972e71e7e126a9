#include "bfs/async_search.hpp"

#include <algorithm>
#include <cstddef>

namespace bfs {
namespace {

// Few enough to reach other ranks soon, many enough to share messages.
constexpr std::size_t kVerticesPerBatch = 1024;

}  // namespace

AsyncSearch::AsyncSearch(const SearchContext& context)
    : context_(context),
      exchange_(context.world, "visit",
                [this](shoal::Rank source, int level, std::span<const Visit> visits) {
                  visit(source, level, visits);
                }) {}

void AsyncSearch::prepare() {
  const std::size_t size = context_.partition.size(context_.world.rank());
  tree_.parent.assign(size, kNone);
  tree_.level.assign(size, kNone);
  context_.world.barrier();
}

void AsyncSearch::run(Vertex root) {
  if (context_.partition.owner(root) == context_.world.rank()) {
    const auto index = static_cast<std::uint32_t>(context_.graph.index(root));
    visit(context_.world.rank(), 0, std::vector<Visit>{{index, index}});
  }
  context_.world.wait();
}

// Tasks exist while waiting_ is not empty: the code that fills it starts one, unless there are
// enough, and each looks again, under the lock, before it ends.
void AsyncSearch::visit(shoal::Rank source, int level, std::span<const Visit> visits) {
  const Vertex first = context_.graph.first();
  const Vertex first_parent = context_.partition.first(source);
  {
    const shoal::sync::Lock lock(mutex_);
    std::vector<Vertex>* here = nullptr;
    for (std::size_t i = 0; i < visits.size(); ++i) {
      if (i + kVisitsAhead < visits.size()) {
        __builtin_prefetch(&tree_.level[visits[i + kVisitsAhead].at], 1);
      }
      const std::size_t index = visits[i].at;
      if (is_near(index, level)) continue;
      tree_.parent[index] = first_parent + static_cast<Vertex>(visits[i].parent);
      write_level(tree_, index, level);
      if (here == nullptr) here = &waiting_[level];
      here->push_back(first + static_cast<Vertex>(index));
    }
    if (waiting_.empty() || tellers_ == context_.world.worker_count()) return;
    ++tellers_;
  }
  context_.world.spawn([this] { tell(); }, {.name = "tell neighbours"});
}

void AsyncSearch::tell() {
  const Batch batch = take_batch();
  if (batch.level == kNone) return;
  const int level = batch.level + 1;
  tell_neighbours(context_, exchange_, batch.vertices, level, tree_,
                  [this, level](std::size_t index) { return is_near(index, level); });
  // A task of its own for the next batch: handlers run in between.
  context_.world.spawn([this] { tell(); }, {.name = "tell neighbours"});
}

// It has this level already, or a smaller one.
bool AsyncSearch::is_near(std::size_t index, int level) const {
  const int known = read_level(tree_, index);
  return known != kNone && known <= level;
}

AsyncSearch::Batch AsyncSearch::take_batch() {
  const shoal::sync::Lock lock(mutex_);
  Batch batch;
  while (!waiting_.empty()) {
    const auto nearest = waiting_.begin();
    const int level = nearest->first;
    auto& vertices = nearest->second;
    const std::size_t left = vertices.size() - std::min(vertices.size(), kVerticesPerBatch);
    for (std::size_t i = left; i < vertices.size(); ++i) {
      const bool corrected = tree_.level[context_.graph.index(vertices[i])] != level;
      if (!corrected) batch.vertices.push_back(vertices[i]);
    }
    vertices.resize(left);
    if (left == 0) waiting_.erase(nearest);
    if (batch.vertices.empty()) continue;
    batch.level = level;
    return batch;
  }
  --tellers_;
  return batch;
}

}  // namespace bfs

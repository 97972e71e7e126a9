#include "bfs/async_search.hpp"

#include <algorithm>
#include <cstddef>

namespace bfs {
namespace {

// Few enough for others to hear soon, many enough to share messages.
constexpr std::size_t kVerticesPerBatch = 1024;

}  // namespace

AsyncSearch::AsyncSearch(const SearchContext& context)
    : context_(context),
      exchange_(context.world, context.partition, "visit",
                [this](int level, std::span<const Arc> arcs) { visit(level, arcs); }) {}

void AsyncSearch::prepare() {
  const std::size_t size = context_.partition.size(context_.world.rank());
  tree_.parent.assign(size, kNone);
  tree_.level.assign(size, kNone);
  context_.world.barrier();
}

void AsyncSearch::run(Vertex root) {
  if (context_.partition.owner(root) == context_.world.rank()) {
    visit(0, std::vector<Arc>{{root, root}});
  }
  context_.world.wait();
}

// There are tasks as long as waiting_ is not empty: whoever fills it starts one, unless there are
// enough, and each looks again, under the lock, before it ends.
void AsyncSearch::visit(int level, std::span<const Arc> arcs) {
  {
    const shoal::sync::Lock lock(mutex_);
    std::vector<Vertex>* here = nullptr;
    for (const Arc& arc : arcs) {
      const std::size_t index = context_.graph.index(arc.at);
      if (is_near(index, level)) continue;
      tree_.parent[index] = arc.other;
      write_level(tree_, index, level);
      if (here == nullptr) here = &waiting_[level];
      here->push_back(arc.at);
    }
    if (waiting_.empty() || tellers_ == context_.world.worker_count()) return;
    ++tellers_;
  }
  context_.world.spawn([this] { tell(); }, {.name = "tell neighbours"});
}

void AsyncSearch::tell() {
  const Batch batch = take_batch();
  if (batch.level == kNone) return;
  ArcExchange::Sender sender(exchange_);
  const LocalGraph& graph = context_.graph;
  const int level = batch.level + 1;
  for (const Vertex vertex : batch.vertices) {
    for (const Vertex neighbour : graph.neighbours(vertex)) {
      if (graph.owns(neighbour) && is_near(graph.index(neighbour), level)) continue;
      sender.send(level, {neighbour, vertex});
    }
  }
  sender.flush();
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

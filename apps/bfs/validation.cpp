#include "bfs/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace bfs {
namespace {

constexpr std::array<const char*, kFaultCount> kFaultNames = {
    "parents do not lead to the root", "not one level below the parent",
    "more than one level from a neighbour", "not in the tree, unlike a neighbour",
    "no edge to the parent"};

Verdict merge_verdicts(const Verdict& a, const Verdict& b) {
  Verdict sum = a;
  for (std::size_t fault = 0; fault < kFaultCount; ++fault) {
    if (a.counts[fault] == 0 || (b.counts[fault] != 0 && b.examples[fault] < a.examples[fault])) {
      sum.examples[fault] = b.examples[fault];
    }
    sum.counts[fault] += b.counts[fault];
  }
  return sum;
}

/// The own vertices, near ones first.
std::vector<std::size_t> by_level(const std::vector<int>& level) {
  std::vector<std::size_t> order(level.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t index) { return level[index]; });
  return order;
}

}  // namespace

bool Verdict::good() const {
  return std::ranges::all_of(counts, [](std::int64_t count) { return count == 0; });
}

std::string describe(const Verdict& verdict) {
  std::string text;
  for (std::size_t fault = 0; fault < kFaultCount; ++fault) {
    if (verdict.counts[fault] == 0) continue;
    text += fmt::format("{}{}: {} times, at vertex {}", text.empty() ? "" : "; ",
                        kFaultNames[fault], verdict.counts[fault], verdict.examples[fault]);
  }
  return text;
}

Validator::Validator(const SearchContext& context)
    : context_(context),
      to_parents_(context.world, "child",
                  [this](shoal::Rank /*source*/, int /*level*/, std::span<const Arc> arcs) {
                    take_child(arcs);
                  }),
      to_neighbours_(context.world, "edge to check",
                     [this](shoal::Rank /*source*/, int level, std::span<const Arc> arcs) {
                       take_edge(level, arcs);
                     }),
      tree_edges_(context.partition, context.world.rank(), {}),
      walk_({context.world, context.partition, tree_edges_}) {}

Verdict Validator::check(Vertex root, const Tree& tree) {
  tree_ = &tree;
  {
    const shoal::sync::Lock lock(mutex_);
    own_ = Verdict{};
  }
  context_.world.barrier();  // messages of other ranks find the above
  walk_tree(root, tree);
  check_edges(tree);
  Verdict mine;
  {
    const shoal::sync::Lock lock(mutex_);
    mine = own_;
  }
  return context_.world.allreduce(mine, merge_verdicts);
}

// Levels are derived from the parents alone: children are found from the root downwards. A vertex
// that is not found so belongs to a cycle, or to a vertex outside the tree.
void Validator::walk_tree(Vertex root, const Tree& tree) {
  send_children(root, tree);
  context_.world.wait();
  std::vector<Arc> children;
  {
    const shoal::sync::Lock lock(mutex_);
    children = std::exchange(children_, {});
  }
  tree_edges_ = LocalGraph(context_.partition, context_.world.rank(), children);
  walk_.prepare();
  walk_.run(root);
  compare_with_walk(root, tree);
}

void Validator::send_children(Vertex root, const Tree& tree) {
  Exchange<Arc>::Sender sender(to_parents_);
  for (std::size_t index = 0; index < tree.parent.size(); ++index) {
    const Vertex vertex = context_.graph.first() + static_cast<Vertex>(index);
    const Vertex parent = tree.parent[index];
    if (vertex == root || parent == kNone) continue;
    if (context_.partition.has(parent)) {
      sender.send(0, context_.partition.owner(parent), {parent, vertex});
    }
    if (!std::ranges::binary_search(context_.graph.neighbours(vertex), parent)) {
      const shoal::sync::Lock lock(mutex_);
      note(Fault::no_edge, vertex);
    }
  }
  sender.flush();
}

// The root at level 0 and each vertex one below its parent: that is the level of the walk.
void Validator::compare_with_walk(Vertex root, const Tree& tree) {
  const shoal::sync::Lock lock(mutex_);
  for (std::size_t index = 0; index < tree.parent.size(); ++index) {
    const Vertex vertex = context_.graph.first() + static_cast<Vertex>(index);
    const Vertex parent = tree.parent[index];
    const int walked = walk_.tree().level[index];
    if (parent == kNone) {
      if (vertex == root) note(Fault::not_spanned, vertex);
      if (tree.level[index] != kNone) note(Fault::tree_level, vertex);
    } else if (walked == kNone || (vertex == root && parent != root)) {
      note(Fault::cycle, vertex);
    } else if (tree.level[index] != walked) {
      note(Fault::tree_level, vertex);
    }
  }
}

// Each edge is checked once, by the owner of its larger end.
void Validator::check_edges(const Tree& tree) {
  const Vertex first = context_.graph.first();
  Exchange<Arc>::Sender sender(to_neighbours_);
  for (const std::size_t index : by_level(tree.level)) {
    const Vertex vertex = first + static_cast<Vertex>(index);
    for (const Vertex neighbour : context_.graph.neighbours(vertex)) {
      if (vertex >= neighbour) continue;
      sender.send(tree.level[index], context_.partition.owner(neighbour), {neighbour, vertex});
    }
  }
  sender.flush();
  context_.world.wait();
}

void Validator::take_child(std::span<const Arc> arcs) {
  const shoal::sync::Lock lock(mutex_);
  children_.insert(children_.end(), arcs.begin(), arcs.end());
}

void Validator::take_edge(int level, std::span<const Arc> arcs) {
  const shoal::sync::Lock lock(mutex_);
  for (const Arc& arc : arcs) {
    const int other = tree_->level[context_.partition.local(arc.at)];
    if ((level == kNone) != (other == kNone)) {
      note(Fault::not_spanned, level == kNone ? arc.other : arc.at);
    } else if (std::abs(std::int64_t{level} - other) > 1) {
      note(Fault::edge_level, arc.at);
    }
  }
}

void Validator::note(Fault fault, Vertex vertex) {
  const auto index = static_cast<std::size_t>(fault);
  if (own_.counts[index]++ == 0 || vertex < own_.examples[index]) own_.examples[index] = vertex;
}

}  // namespace bfs

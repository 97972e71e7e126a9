#include <shoal/detail/base/check.hpp>
#include <shoal/detail/team/tree_costs.hpp>
#include <shoal/recipients.hpp>

#include <algorithm>
#include <bit>
#include <numeric>

namespace shoal {

std::vector<Rank> Recipients::in_order() const {
  if (priorities_.empty()) return ranks_;
  SHOAL_CHECK(priorities_.size() == ranks_.size(),
              "a multicast to {} ranks has {} priorities: give one for each rank, or none",
              ranks_.size(), priorities_.size());
  std::vector<std::size_t> order(ranks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{},
                           [this](std::size_t i) { return priorities_[i]; });
  std::vector<Rank> ranks;
  ranks.reserve(order.size());
  for (const std::size_t i : order) ranks.push_back(ranks_[i]);
  return ranks;
}

namespace team {

namespace {

// Sizes of the branches' subtrees, their roots included, from the first one on.
std::vector<std::size_t> sizes_of(const MulticastTree& tree, std::size_t count) {
  if (count == 0) return {};
  switch (tree.shape) {
    case TreeShape::chain:
    case TreeShape::delegate:
      return {count};
    case TreeShape::binomial: {
      std::vector<std::size_t> sizes;
      for (std::size_t left = count; left > 0; left -= sizes.back()) {
        sizes.push_back((left + 1) / 2);
      }
      return sizes;
    }
    case TreeShape::k_ary: {
      const std::size_t parts = std::min(static_cast<std::size_t>(tree.arity), count);
      std::vector<std::size_t> sizes(parts);
      for (std::size_t i = 0; i < parts; ++i) {
        sizes[i] = count * (i + 1) / parts - count * i / parts;
      }
      return sizes;
    }
    default:
      return std::vector<std::size_t>(count, 1);
  }
}

}  // namespace

std::vector<RankRun> compress(std::span<const Rank> ranks) {
  std::vector<RankRun> runs;
  for (const Rank rank : ranks) {
    if (!runs.empty()) {
      RankRun& last = runs.back();
      const std::int32_t step = rank.value() - last.first;
      if (last.count == 1) last.stride = step;
      if (last.count > 0 && step == last.stride * static_cast<std::int32_t>(last.count)) {
        ++last.count;
        continue;
      }
      if (last.count == 1) last.stride = 1;
    }
    runs.push_back({rank.value(), 1, 1});
  }
  return runs;
}

std::vector<Rank> expand(std::span<const RankRun> runs) {
  std::vector<Rank> ranks;
  for (const RankRun& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      ranks.emplace_back(run.first + run.stride * static_cast<std::int32_t>(i));
    }
  }
  return ranks;
}

MulticastTree resolve(const MulticastTree& tree, std::size_t count) {
  constexpr std::size_t kFlatMax = 3;
  SHOAL_CHECK(tree.shape != TreeShape::k_ary || (tree.arity > 0 && tree.arity <= 0xffff),
              "a tree of a multicast cannot have {} branches: 1 to 65535", tree.arity);
  if (tree.shape != TreeShape::automatic) return tree;
  return {count <= kFlatMax ? TreeShape::flat : TreeShape::binomial, tree.arity};
}

std::vector<Branch> branches_of(const MulticastTree& tree, std::span<const Rank> ranks) {
  const std::vector<std::size_t> sizes = sizes_of(tree, ranks.size());
  std::vector<Branch> branches;
  std::size_t next = sizes.size();  // of those that are no children
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    branches.push_back({ranks[i], ranks.subspan(next, sizes[i] - 1)});
    next += sizes[i] - 1;
  }
  return branches;
}

TreePlace place_in(const MulticastTree& tree, Rank root, std::span<const Rank> ranks, Rank rank) {
  TreePlace place{root, {}};
  MulticastTree level = tree;
  for (Rank at = root; at != rank; level = below(level)) {
    place.parent = at;
    for (const Branch& branch : branches_of(level, ranks)) {
      const bool is_below = std::ranges::find(branch.rest, rank) != branch.rest.end();
      if (branch.child != rank && !is_below) continue;
      at = branch.child;
      ranks = branch.rest;
      break;
    }
    SHOAL_CHECK(at != place.parent, "rank {} is not in the tree of a multicast", rank.value());
  }
  for (const Branch& branch : branches_of(level, ranks)) place.children.push_back(branch.child);
  return place;
}

MulticastTree below(const MulticastTree& tree) {
  return {tree.shape == TreeShape::delegate ? TreeShape::flat : tree.shape, tree.arity};
}

}  // namespace team

}  // namespace shoal

namespace shoal::team {

namespace {

// The first branch is the largest one, the last one is served behind all others.
std::uint64_t binomial_ns(const TreeCosts& costs, std::size_t count) {
  if (count == 0) return 0;
  const std::uint64_t last_ns = (std::bit_width(count) - 1) * costs.send_ns + costs.hop_ns;
  return std::max(costs.hop_ns + binomial_ns(costs, (count + 1) / 2 - 1), last_ns);
}

}  // namespace

MulticastTree fastest_tree(const TreeCosts& costs, std::size_t count) {
  const std::uint64_t flat_ns = (count - 1) * costs.send_ns + costs.hop_ns;
  return {flat_ns <= binomial_ns(costs, count) ? TreeShape::flat : TreeShape::binomial};
}

// A sender serves one child after the other: at each level of a binary tree the second child waits
// for all segments of the first one.
MulticastTree fastest_large_tree(const TreeCosts& costs, std::size_t count, std::size_t segments) {
  const std::uint64_t all_ns = segments * costs.segment_ns;
  const std::uint64_t hop_ns = costs.segment_hop_ns;
  const std::uint64_t delay_ns = std::max(hop_ns, costs.segment_ns) - costs.segment_ns;
  const std::uint64_t flat_ns = count * all_ns + delay_ns;
  const std::uint64_t chain_ns = count * hop_ns + all_ns - costs.segment_ns;
  const std::uint64_t binary_ns = std::bit_width(count) * (all_ns + delay_ns);
  if (flat_ns <= std::min(chain_ns, binary_ns)) return {TreeShape::flat};
  if (chain_ns <= binary_ns) return {TreeShape::chain};
  return {TreeShape::k_ary, 2};
}

}  // namespace shoal::team

#include <shoal/detail/team/tree_costs.hpp>

#include <algorithm>
#include <bit>

namespace shoal::messaging {

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

}  // namespace shoal::messaging

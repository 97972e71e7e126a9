#pragma once
// Measured costs of messages, and the tree of a multicast that is fastest with them.

#include <shoal/recipients.hpp>

#include <cstddef>
#include <cstdint>

namespace shoal::team {

/// Costs in nanoseconds that decide between trees: a service of a rank's messenger. Without it the
/// rules of TreeShape::automatic apply.
struct TreeCosts {
  std::uint64_t send_ns = 0;         // of a short message to one more rank; 0: nothing is known
  std::uint64_t hop_ns = 0;          // until one that was received has come to the next rank
  std::uint64_t segment_ns = 0;      // as send_ns, of a segment of a payload
  std::uint64_t segment_hop_ns = 0;  // as hop_ns
  bool all_share_cores = false;      // all ranks have the same processors, too few for all

  [[nodiscard]] bool are_known() const { return send_ns > 0; }
};

/// Tree of a short message to `count` recipients: flat or binomial.
[[nodiscard]] MulticastTree fastest_tree(const TreeCosts& costs, std::size_t count);
/// Tree of a payload in `segments` segments: flat, a chain or binary.
[[nodiscard]] MulticastTree fastest_large_tree(const TreeCosts& costs, std::size_t count,
                                               std::size_t segments);

}  // namespace shoal::team

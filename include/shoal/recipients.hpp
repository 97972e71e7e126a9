#pragma once
// Trees of multicasts: which recipient passes a message on to which others.

#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

/// Shape of the tree of a multicast. In every shape the first recipients of the list are nearest to
/// the sender.
enum class TreeShape : std::uint8_t {
  automatic,  // by the number of recipients and the size: see docs/messages.md
  flat,       // the sender sends to all
  chain,      // each recipient passes on to the next one
  binomial,   // each passes on to half of those left, a quarter, ...
  k_ary,      // each passes on to `arity` others
  delegate,   // the sender sends to the first recipient, which sends to all others
};

/// Tree of a multicast.
struct MulticastTree {
  TreeShape shape = TreeShape::automatic;  // see TreeShape
  int arity = 2;                           // of TreeShape::k_ary, from 1 to 65535
};

/// Recipients of a multicast: ranks of a team, each at most once, in the order in which they are
/// served. With `priorities`, one for each rank, those with larger ones come first.
class Recipients {
 public:
  /// These ranks, in this order.
  Recipients(std::initializer_list<Rank> ranks, const MulticastTree& tree = {},
             std::vector<int> priorities = {})
      : ranks_(ranks), tree_(tree), priorities_(std::move(priorities)) {}
  /// The ranks of a std::vector or std::span of Rank, or of a RankSet.
  template <class List>
    requires requires(const List& list) {
      list.size();
      Rank(list[0]);
    }
  Recipients(const List& ranks,  // NOLINT(google-explicit-constructor): as a list
             const MulticastTree& tree = {}, std::vector<int> priorities = {})
      : tree_(tree), priorities_(std::move(priorities)) {
    if constexpr (requires { ranks.list(); }) {
      ranks_ = ranks.list();
    } else {
      ranks_.assign(ranks.begin(), ranks.end());
    }
  }

  /// Makes the multicast urgent: it travels in the urgent lane, see ActiveMessage::send_urgent().
  Recipients&& urgent() && {
    urgent_ = true;
    return std::move(*this);
  }
  /// Whether it is sent in the urgent lane.
  [[nodiscard]] bool is_urgent() const { return urgent_; }

  /// Returns the ranks in the order that the caller gave.
  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  /// Returns the tree that the caller gave.
  [[nodiscard]] const MulticastTree& tree() const { return tree_; }
  /// The ranks in the order in which they are served. **Errors**: CheckError when the numbers of
  /// ranks and of priorities differ.
  [[nodiscard]] std::vector<Rank> in_order() const;

 private:
  std::vector<Rank> ranks_;
  MulticastTree tree_;
  std::vector<int> priorities_;
  bool urgent_ = false;
};

namespace team {

/// Ranks first, first + stride, ...: a part of a list of ranks as it travels.
struct RankRun {
  std::int32_t first = 0;
  std::int32_t stride = 1;
  std::uint32_t count = 0;
  bool operator==(const RankRun&) const = default;
};

/// Returns the ranks in as few runs as a single pass finds.
[[nodiscard]] std::vector<RankRun> compress(std::span<const Rank> ranks);
[[nodiscard]] std::vector<Rank> expand(std::span<const RankRun> runs);

/// Branch of a tree: a recipient that the message is sent to directly, and those to which it
/// forwards the message.
struct Branch {
  Rank child;
  std::span<const Rank> rest;
};

/// Returns the tree with its shape decided, for `count` recipients.
[[nodiscard]] MulticastTree resolve(const MulticastTree& tree, std::size_t count);
/// Returns the branches at the sender, or at a recipient, of a tree over `ranks` with a shape other
/// than automatic.
[[nodiscard]] std::vector<Branch> branches_of(const MulticastTree& tree,
                                              std::span<const Rank> ranks);
/// Neighbours of a rank in a tree.
struct TreePlace {
  Rank parent;
  std::vector<Rank> children;
};
/// Returns the place of `rank`, which is `root` or one of `ranks`, in a tree from `root` to `ranks`
/// with a shape other than automatic. All ranks find the same tree.
[[nodiscard]] TreePlace place_in(const MulticastTree& tree, Rank root, std::span<const Rank> ranks,
                                 Rank rank);
/// Returns the tree as the children of its sender see it.
[[nodiscard]] MulticastTree below(const MulticastTree& tree);

}  // namespace team
}  // namespace shoal

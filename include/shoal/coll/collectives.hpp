#pragma once
// Collective operations of the main functions of all ranks, on active messages along a tree.

#include <shoal/am/active_message.hpp>
#include <shoal/base/function.hpp>
#include <shoal/term/scope.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::coll {

using Bytes = std::vector<std::byte>;
using Combine = FunctionRef<Bytes(Bytes, Bytes)>;

/// One per rank of a team; made on all its ranks before any other instance handler of the team. All
/// ranks call the same operations in the same order, from their main functions, or for a team from
/// tasks. Each takes O(log P) messages in depth and parks the caller only.
class Collectives final : private term::Unsatisfied {
 public:
  explicit Collectives(term::Scope& scope);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Combines the values of all ranks; every rank gets the result. combine(a, b) is called in the
  /// same order in every run with as many ranks: own value first, then subtrees by rank.
  Bytes all_reduce(const std::string& what, Bytes mine, Combine combine);
  /// Every rank gets the value of `root`.
  Bytes broadcast(const std::string& what, Bytes mine, Rank root);
  /// `root` gets the values of all ranks in rank order; the others get nothing.
  std::vector<Bytes> gather(const std::string& what, const Bytes& mine, Rank root);
  std::vector<Bytes> all_gather(const std::string& what, const Bytes& mine);

 private:
  enum class Direction : int { up, down };
  using Key = std::pair<int, int>;             // direction, source
  using Slot = std::pair<std::uint64_t, Key>;  // sequence number first

  // The tree for a given root: ranks renumbered so that the root is 0.
  [[nodiscard]] std::vector<Rank> children(Rank root) const;
  [[nodiscard]] Rank parent(Rank root) const;

  /// Begins one operation at this rank: takes the next number in the sequence.
  void begin(const std::string& what, Rank root);
  /// The operation that has begun ended in an error: what comes for it later is dropped.
  void give_up();
  std::vector<Bytes> receive(Direction direction, const std::vector<Rank>& sources);
  void send(Direction direction, Rank target, const Bytes& bytes);
  void on_message(std::uint64_t sequence, const std::string& what, int direction, int source,
                  std::vector<std::byte> bytes);
  [[nodiscard]] bool all_here() const SHOAL_REQUIRES(mutex_);
  /// Came for an operation that has begun here and does not wait for it.
  [[nodiscard]] bool is_mismatch(const Slot& slot) const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  /// Values of a subtree, with their ranks, in one buffer; and back.
  static Bytes pack(Rank rank, const Bytes& bytes);
  static std::vector<Bytes> unpack(const Bytes& packed, int size);
  Bytes reduce_to(Rank root, Bytes mine, Combine combine);
  Bytes send_down(Rank root, Bytes value);

  struct Arrivals;

  term::Scope& scope_;
  const Rank rank_;
  const int size_;
  std::uint64_t sequence_ = 0;  // main function only
  std::string what_;            // main function only

  mutable sync::Mutex mutex_;
  const std::unique_ptr<Arrivals> arrivals_ SHOAL_PT_GUARDED_BY(mutex_);
  std::vector<Slot> awaited_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t begun_ SHOAL_GUARDED_BY(mutex_) = 0;  // sequence_, for others to read

  ActiveMessage<std::uint64_t, std::string, int, int, Bytes> message_;
};

}  // namespace shoal::coll

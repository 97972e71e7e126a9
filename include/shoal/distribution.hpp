#pragma once
// Distributions of the elements of a container over the ranks of its team.

#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal {

/// Owner and place of each of `size` elements. The same on all ranks; computed without messages.
class Distribution {
 public:
  /// Consecutive elements on each rank, as many on each, or one more on the first ranks.
  [[nodiscard]] static Distribution balanced(std::size_t size, int ranks);
  /// Blocks of `block` consecutive elements, dealt to the ranks in turn.
  [[nodiscard]] static Distribution block_cyclic(std::size_t size, int ranks, std::size_t block);
  /// `owners[i]` owns element i. **Cost**: memory for each element on each rank.
  [[nodiscard]] static Distribution arbitrary(std::vector<Rank> owners, int ranks);

  /// Number of elements.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Number of ranks.
  [[nodiscard]] int ranks() const { return ranks_; }
  /// Rank of an element. **Errors**, also of the calls below: CheckError for an element or a rank
  /// that does not exist.
  [[nodiscard]] Rank owner(std::size_t index) const;
  /// Place among the elements of its owner, which are in the order of their indices.
  [[nodiscard]] std::size_t place(std::size_t index) const;
  /// Number of elements of a rank.
  [[nodiscard]] std::size_t count(Rank rank) const;
  /// Index of an element of a rank: the inverse of owner() and place().
  [[nodiscard]] std::size_t index(Rank rank, std::size_t place) const;

 private:
  struct Lists {
    std::vector<Rank> owners;                     // of each element
    std::vector<std::size_t> places;              // likewise
    std::vector<std::vector<std::size_t>> owned;  // by rank
  };
  enum class Kind : std::uint8_t { balanced, block_cyclic, arbitrary };

  Distribution(Kind kind, std::size_t size, int ranks) : kind_(kind), size_(size), ranks_(ranks) {}
  void check(std::size_t index) const;
  void check(Rank rank) const;
  /// First element of a rank, if balanced.
  [[nodiscard]] std::size_t first(int rank) const;

  Kind kind_;
  std::size_t size_;
  int ranks_;
  std::size_t block_ = 1;
  std::shared_ptr<const Lists> lists_;
};

}  // namespace shoal

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
  /// Consecutive elements on each rank, as many on each, and fewer or none on the last ranks.
  [[nodiscard]] static Distribution blocked(std::size_t size, int ranks);
  /// One element after the other, dealt to the ranks in turn.
  [[nodiscard]] static Distribution cyclic(std::size_t size, int ranks) {
    return block_cyclic(size, ranks, 1);
  }
  /// Blocks of `block` consecutive elements, dealt to the ranks in turn.
  [[nodiscard]] static Distribution block_cyclic(std::size_t size, int ranks, std::size_t block);
  /// `owners[i]` owns element i. **Cost**: memory for each element on each rank.
  [[nodiscard]] static Distribution arbitrary(std::vector<Rank> owners, int ranks);

  /// Number of elements.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Number of ranks.
  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_); }

  /// Owner of an element and its place there, which are in the order of the indices.
  struct Location {
    Rank owner;             ///< of the element
    std::size_t place = 0;  ///< among the elements of the owner
  };
  /// Owner and place of an element. **Errors**, also of the calls below: CheckError for an element
  /// or a rank that does not exist.
  [[nodiscard]] Location locate(std::size_t index) const {
    if (index >= size_) [[unlikely]]
      refuse(index);
    if (kind_ != Kind::block_cyclic) return locate_otherwise(index);
    const std::size_t block = index / block_;
    return {Rank(static_cast<int>(block % ranks_)), block / ranks_ * block_ + index % block_};
  }
  /// Rank of an element.
  [[nodiscard]] Rank owner(std::size_t index) const { return locate(index).owner; }
  /// Place among the elements of its owner.
  [[nodiscard]] std::size_t place(std::size_t index) const { return locate(index).place; }
  /// Number of elements of a rank.
  [[nodiscard]] std::size_t count(Rank rank) const;
  /// The largest count() of a rank.
  [[nodiscard]] std::size_t count_max() const;
  /// Index of an element of a rank: the inverse of owner() and place().
  [[nodiscard]] std::size_t index(Rank rank, std::size_t place) const;
  /// A number that differs between different distributions. **Cost**: of `arbitrary` ones, as many
  /// steps as elements.
  [[nodiscard]] std::uint64_t signature() const;
  /// Number of elements from `index` on that lie side by side on one rank; at least 1.
  [[nodiscard]] std::size_t run(std::size_t index) const;

 private:
  struct Lists {
    std::vector<Location> locations;              // of each element
    std::vector<std::vector<std::size_t>> owned;  // by rank
  };
  enum class Kind : std::uint8_t { balanced, block_cyclic, arbitrary };

  Distribution(Kind kind, std::size_t size, int ranks);
  [[noreturn]] void refuse(std::size_t index) const;
  void check(Rank rank) const;
  [[nodiscard]] Location locate_otherwise(std::size_t index) const;
  /// First element of a rank, if balanced.
  [[nodiscard]] std::size_t first(std::size_t rank) const;

  std::size_t size_;
  std::size_t ranks_;
  std::size_t block_ = 1;
  Kind kind_;
  std::shared_ptr<const Lists> lists_;
};

}  // namespace shoal

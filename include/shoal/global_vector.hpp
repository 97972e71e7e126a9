#pragma once
// Vectors whose elements are spread over the global heaps of a team.

#include <shoal/global_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

/// Distribution of the elements 0 to count - 1 to the ranks: in blocks of `block` elements, round
/// robin. Blocked: one block for each rank. Cyclic: blocks of one element.
struct VectorDistribution {
  std::size_t block = 0;  // 0: blocked

  /// One block for each rank.
  [[nodiscard]] static VectorDistribution blocked() { return {0}; }
  /// Blocks of one element.
  [[nodiscard]] static VectorDistribution cyclic() { return {1}; }
  /// Blocks of `block` elements.
  [[nodiscard]] static VectorDistribution block_cyclic(std::size_t block) { return {block}; }
};

/// A co-array: memory at the same offset of every rank's heap, so that the address of any element
/// follows from its number, without a look-up (ppl paper, section 2.3: gvec). Elements are zeros at
/// first.
///
/// **Caller** of constructor and destructor: all ranks, in the same order. They do not wait for
/// each other: a barrier is needed between the constructor and the first access to other ranks'
/// elements, and between the last one and the destructor. **Blocks**, **Errors**, **Ordering**: as
/// GlobalMemory.
template <class T>
class GlobalVector {
  static_assert(std::is_trivially_copyable_v<T>,
                "shoal: elements of a GlobalVector are copied byte by byte: T must be trivially "
                "copyable");

 public:
  /// Allocates `count` elements.
  GlobalVector(GlobalMemory& memory, std::size_t count,
               VectorDistribution distribution = VectorDistribution::blocked(),
               const std::source_location& place = std::source_location::current())
      : memory_(memory),
        count_(count),
        ranks_(static_cast<std::size_t>(memory.size())),
        block_(distribution.block != 0 ? distribution.block
                                       : std::max<std::size_t>(1, (count + ranks_ - 1) / ranks_)),
        each_((count + block_ * ranks_ - 1) / (block_ * ranks_) * block_),
        begin_(memory.collective_allocate<T>(std::max<std::size_t>(1, each_), place)) {}
  ~GlobalVector() { memory_.collective_free(begin_); }
  GlobalVector(const GlobalVector&) = delete;
  GlobalVector& operator=(const GlobalVector&) = delete;

  /// Number of elements.
  [[nodiscard]] std::size_t size() const { return count_; }
  /// Memory of the elements.
  [[nodiscard]] GlobalMemory& memory() const { return memory_; }
  /// Returns the rank that has element `i`. local_index() returns its place there; index_of() is
  /// the inverse of both.
  [[nodiscard]] Rank owner(std::size_t i) const {
    return Rank(static_cast<int>(i / block_ % ranks_));
  }
  /// Place of element `i` on its owner.
  [[nodiscard]] std::size_t local_index(std::size_t i) const {
    return i / (block_ * ranks_) * block_ + i % block_;
  }
  /// Number of the element at place `local` of `rank`.
  [[nodiscard]] std::size_t index_of(Rank rank, std::size_t local) const {
    return (local / block_ * ranks_ + static_cast<std::size_t>(rank.value())) * block_ +
           local % block_;
  }
  /// Number of elements that a rank has.
  [[nodiscard]] std::size_t local_size(Rank rank) const {
    const std::size_t whole = count_ / (block_ * ranks_);
    const std::size_t rest = count_ - whole * block_ * ranks_;
    const std::size_t before = static_cast<std::size_t>(rank.value()) * block_;
    return whole * block_ + (rest > before ? std::min(block_, rest - before) : 0);
  }
  /// Returns the number of elements that each rank has room for, all of which at() reaches.
  [[nodiscard]] std::size_t capacity() const { return each_; }

  /// Returns the address of element `i`. **Errors**: CheckError for an index of size() or more.
  [[nodiscard]] GlobalPtr<T> operator[](std::size_t i) const {
    if (i >= count_) [[unlikely]]
      refuse_element(i);
    return at(owner(i), local_index(i));
  }
  /// Returns the address of the place `local` on a rank.
  [[nodiscard]] GlobalPtr<T> at(Rank rank, std::size_t local) const {
    return begin_.on(rank) + static_cast<std::ptrdiff_t>(local);
  }
  /// Returns the elements of this rank, in its memory.
  [[nodiscard]] std::span<T> local() const {
    return {memory_.local(begin_), local_size(memory_.rank())};
  }

  /// Value of element `i`.
  [[nodiscard]] T get(std::size_t i) const { return memory_.get((*this)[i]); }
  /// Writes element `i`; see GlobalMemory::put().
  Transfer put(std::size_t i, const T& value) const { return memory_.put((*this)[i], value); }
  /// Reads the elements from `first` to first + to.size() - 1 into `to`, from all ranks that have
  /// some of them at once. **Blocks**: parks the task, unless all are in reach.
  void get(std::size_t first, std::span<T> to) const {
    std::vector<Transfer> transfers;
    for_pieces(first, to.size(), [&](GlobalPtr<T> from, std::size_t at, std::size_t count) {
      memory_.core().check_may_wait(from.rank().value(), "get() of a vector");
      transfers.push_back(memory_.get_async(from, to.subspan(at, count)));
    });
    for (Transfer& transfer : transfers) transfer.take();
  }
  /// Writes `from` to the elements from `first` on. The writes are complete after
  /// GlobalMemory::quiet().
  void put(std::size_t first, std::span<const T> from) const {
    for_pieces(first, from.size(), [&](GlobalPtr<T> to, std::size_t at, std::size_t count) {
      static_cast<void>(memory_.put(to, from.subspan(at, count)));
    });
  }

 private:
  [[noreturn]] void refuse_element(std::size_t i) const {
    detail::refuse_element("memory '" + memory_.name() + "': vector", i, memory_.rank(), count_);
  }
  template <class F>
  void for_pieces(std::size_t first, std::size_t count, F f) const {
    if (first > count_ || count > count_ - first) [[unlikely]]
      refuse_element(first + count - 1);
    for (std::size_t done = 0; done < count;) {
      const std::size_t i = first + done;
      const std::size_t piece = std::min(count - done, block_ - i % block_);
      f((*this)[i], done, piece);
      done += piece;
    }
  }

  GlobalMemory& memory_;
  const std::size_t count_;
  const std::size_t ranks_;
  const std::size_t block_;
  const std::size_t each_;  // room on each rank
  const GlobalPtr<T> begin_;
};

}  // namespace shoal

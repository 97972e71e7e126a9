#pragma once
// Vectors whose elements are spread over the global heaps of a team.

#include <shoal/distribution.hpp>
#include <shoal/global_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

/// A Distribution of shoal 0.1, without the numbers of elements and ranks.
struct VectorDistribution {
  std::size_t block = 0;  // 0: blocked

  /// Distribution::blocked().
  [[deprecated("use Distribution::blocked()")]] static VectorDistribution blocked() { return {0}; }
  /// Distribution::cyclic().
  [[deprecated("use Distribution::cyclic()")]] static VectorDistribution cyclic() { return {1}; }
  /// Distribution::block_cyclic().
  [[deprecated("use Distribution::block_cyclic()")]] static VectorDistribution block_cyclic(
      std::size_t block) {
    return {block};
  }
  /// Returns the distribution of `size` elements over `ranks` ranks.
  [[nodiscard]] Distribution over(std::size_t size, int ranks) const {
    return block == 0 ? Distribution::blocked(size, ranks)
                      : Distribution::block_cyclic(size, ranks, block);
  }
};

/// A co-array: memory at the same offset of every rank's heap. The address of any element follows
/// from its index, without a look-up (ppl paper, section 2.3: gvec). Elements are zeros at
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
  /// Allocates the elements of a distribution over the ranks of the memory.
  GlobalVector(GlobalMemory& memory, Distribution distribution,
               const std::source_location& place = std::source_location::current())
      : memory_(memory),
        distribution_(checked(memory, std::move(distribution))),
        each_(distribution_.count_max()),
        begin_(memory.allocate_laid_out<T>(std::max<std::size_t>(1, each_),
                                           distribution_.signature(), place)) {}
  /// Allocates `count` elements, blocked.
  GlobalVector(GlobalMemory& memory, std::size_t count,
               const std::source_location& place = std::source_location::current())
      : GlobalVector(memory, Distribution::blocked(count, memory.size()), place) {}
  /// Allocates `count` elements, distributed as in shoal 0.1.
  GlobalVector(GlobalMemory& memory, std::size_t count, const VectorDistribution& distribution,
               const std::source_location& place = std::source_location::current())
      : GlobalVector(memory, distribution.over(count, memory.size()), place) {}
  ~GlobalVector() { memory_.collective_free(begin_); }
  GlobalVector(const GlobalVector&) = delete;
  GlobalVector& operator=(const GlobalVector&) = delete;

  /// Number of elements.
  [[nodiscard]] std::size_t size() const { return distribution_.size(); }
  /// Owners and places of the elements.
  [[nodiscard]] const Distribution& distribution() const { return distribution_; }
  /// Memory of the elements.
  [[nodiscard]] GlobalMemory& memory() const { return memory_; }
  /// Returns the rank that has element `i`.
  [[nodiscard]] Rank owner(std::size_t i) const { return distribution_.owner(i); }
  /// Name of distribution().place() in 0.1.
  [[deprecated("use distribution().place()"), nodiscard]] std::size_t local_index(
      std::size_t i) const {
    return distribution_.place(i);
  }
  /// Name of distribution().index() in 0.1.
  [[deprecated("use distribution().index()"), nodiscard]] std::size_t index_of(
      Rank rank, std::size_t place) const {
    return distribution_.index(rank, place);
  }
  /// Name of distribution().count() in 0.1.
  [[deprecated("use distribution().count()"), nodiscard]] std::size_t local_size(Rank rank) const {
    return distribution_.count(rank);
  }
  /// Returns the number of elements that each rank has room for, all of which at() reaches.
  [[nodiscard]] std::size_t capacity() const { return each_; }

  /// Returns the address of element `i`. **Errors**: CheckError for an index of size() or more.
  [[nodiscard]] GlobalPtr<T> operator[](std::size_t i) const {
    if (i >= size()) [[unlikely]]
      refuse_element(i);
    const auto [owner, place] = distribution_.locate(i);
    return at(owner, place);
  }
  /// Returns the address of the place `local` on a rank.
  [[nodiscard]] GlobalPtr<T> at(Rank rank, std::size_t local) const {
    return begin_.on(rank) + static_cast<std::ptrdiff_t>(local);
  }
  /// Returns the elements of this rank, in its memory.
  [[nodiscard]] std::span<T> local() const {
    return {memory_.local(begin_), distribution_.count(memory_.rank())};
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
    for (Transfer& transfer : transfers) transfer.await();
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
    detail::refuse_element("memory '" + memory_.name() + "': vector", i, memory_.rank(), size());
  }
  static Distribution checked(const GlobalMemory& memory, Distribution distribution) {
    SHOAL_CHECK(distribution.ranks() == memory.size(),
                "memory '{}' has {} ranks, and the elements of its vector are on {}: give the "
                "Distribution the size() of the memory",
                memory.name(), memory.size(), distribution.ranks());
    return distribution;
  }
  template <class F>
  void for_pieces(std::size_t first, std::size_t count, F f) const {
    if (first > size() || count > size() - first) [[unlikely]]
      refuse_element(first + count - 1);
    for (std::size_t done = 0; done < count;) {
      const std::size_t i = first + done;
      const std::size_t piece = std::min(count - done, distribution_.run(i));
      f((*this)[i], done, piece);
      done += piece;
    }
  }

  GlobalMemory& memory_;
  const Distribution distribution_;
  const std::size_t each_;  // room on each rank
  const GlobalPtr<T> begin_;
};

}  // namespace shoal

#pragma once
// Global heap of one rank: its memory and its allocations.

#include <shoal/detail/sync/mutex.hpp>

#include "env/shared_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::memory {

/// A piece of the range.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// Two-level segregated fit over [begin, end): constant time for each operation; one list is
/// searched before an allocation fails. Neighbours that are free are joined. Equal sequences of
/// calls give equal offsets. Nothing is kept in the range itself: stray writes cannot damage the
/// records, and double and foreign frees are found. Not synchronized.
/// **Source**: M. Masmano et al., TLSF: a new dynamic memory allocator for real-time systems, 2004.
class Allocator {
 public:
  static constexpr std::uint64_t kGranularity = 16;

  /// `searchable`: find() takes logarithmic time, and the other calls with it.
  Allocator(std::uint64_t begin, std::uint64_t end, bool searchable);

  /// Offset of a new piece; nothing: there is no room. `alignment` is a power of two.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t size_bytes,
                                                      std::uint64_t alignment);
  /// Requested size in bytes of the allocation at `offset`; nothing: there is none.
  [[nodiscard]] std::optional<std::uint64_t> size_at(std::uint64_t offset) const;
  /// Frees it, and returns its extent; nothing: there is none.
  std::optional<Extent> free(std::uint64_t offset);
  /// The live piece that contains `offset`. **Cost**: linear, unless searchable.
  [[nodiscard]] std::optional<Extent> find(std::uint64_t offset) const;

  [[nodiscard]] std::uint64_t used_bytes() const { return used_bytes_; }
  [[nodiscard]] std::uint64_t largest_free_bytes() const;
  [[nodiscard]] std::size_t count() const { return allocated_.size(); }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  static constexpr int kSecondBits = 4;  // 16 lists for each power of two
  static constexpr int kSecondCount = 1 << kSecondBits;
  static constexpr int kFirstCount = 64;

  struct Block {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t asked_bytes = 0;  // of an allocated one
    Block* before = nullptr;        // in the range
    Block* behind = nullptr;
    Block* previous = nullptr;  // in the list of free ones
    Block* next = nullptr;
    bool is_free = false;
  };
  struct Level {
    int first;
    int second;
  };

  static Level level_of(std::uint64_t size_bytes);
  Block* take_fitting(std::uint64_t size_bytes);
  Block* take_first_fitting(std::uint64_t size_bytes);
  void insert(Block* block);
  void remove(Block* block);
  /// Cuts `block` after `size_bytes`; the rest becomes a free block behind it.
  void split(Block* block, std::uint64_t size_bytes);
  Block* join(Block* block);
  Block* new_block();

  const std::uint64_t begin_;
  const std::uint64_t end_;
  const bool searchable_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t first_bits_ = 0;
  std::array<std::uint32_t, kFirstCount> second_bits_{};
  std::array<std::array<Block*, kSecondCount>, kFirstCount> lists_{};
  std::unordered_map<std::uint64_t, Block*> allocated_;
  std::map<std::uint64_t, Block*> ordered_;  // the same, if searchable
  std::deque<Block> blocks_;
  std::vector<Block*> unused_;
};

struct HeapOptions {
  std::string owner;   // in texts: "memory 'm': global heap of rank 2"
  std::string option;  // that chooses the size
  std::size_t size_bytes = 0;
  std::size_t collective_bytes = 0;  // the first ones, for collective allocations
  bool shared = false;
  bool checks = false;
};

/// The first part holds collective allocations, at the same offsets on all ranks; the rest holds
/// allocations of single ranks. Allocated memory reads as zeros.
class Heap {
 public:
  explicit Heap(HeapOptions options);

  [[nodiscard]] std::byte* data() const { return memory_->data(); }
  [[nodiscard]] const std::shared_ptr<env::SharedMemory>& memory() const { return memory_; }
  [[nodiscard]] bool contains(const void* place) const {
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    const auto begin = reinterpret_cast<std::uintptr_t>(data());
    return at >= begin && at - begin < memory_->size_bytes();
  }
  [[nodiscard]] env::SharedMemoryName name() const { return memory_->name(); }

  /// Allocates a range; returns its offset. **Errors**: Error when there is no room.
  [[nodiscard]] std::uint64_t allocate(std::size_t size_bytes, std::size_t alignment,
                                       bool collectively);
  /// Frees a range. **Errors**: CheckError for an address that is not allocated, or was freed
  /// before.
  void free(std::uint64_t offset, bool collectively);
  /// Sets the first word, which is never allocated, to one: windows of MPI see no other mark.
  void mark_end();
  /// Problem of an access to a range, or "": it lies within one allocation.
  [[nodiscard]] std::string problem_with(std::uint64_t offset, std::uint64_t size_bytes) const;

  // --- with checks on: writes by way of the memory, which one cannot see in the heap itself

  static constexpr std::size_t kWritesKept = 1024;
  void note_write(std::uint64_t offset, std::uint64_t size_bytes, int rank);
  /// Rank of the last one that touched the range, among the last kWritesKept.
  [[nodiscard]] std::optional<int> last_writer(std::uint64_t offset,
                                               std::uint64_t size_bytes) const;

  struct Use {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Use use() const;

 private:
  [[nodiscard]] std::string describe_foreign(std::uint64_t offset) const SHOAL_REQUIRES(mutex_);

  const std::string owner_;
  const std::string option_;
  const std::shared_ptr<env::SharedMemory> memory_;
  mutable sync::Mutex mutex_;
  Allocator collective_ SHOAL_GUARDED_BY(mutex_);
  Allocator single_ SHOAL_GUARDED_BY(mutex_);
  struct Write {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    int rank = 0;
  };
  std::vector<Write> writes_ SHOAL_GUARDED_BY(mutex_);  // a ring
  std::size_t next_write_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace shoal::memory

#pragma once
// Allocation of a range of addresses, with its own records beside it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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

}  // namespace shoal::memory

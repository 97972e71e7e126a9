#pragma once
// Global memory without types: heaps, the ways to those of other ranks, requests under way.

#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/memory_options.hpp>
#include <shoal/rank.hpp>
#include <shoal/transfer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>

namespace shoal::net {
class RemoteMemory;
}
namespace shoal::memory {
class CoresHere;
}

namespace shoal {

namespace memory {

/// Default settings of the memories of a run. A service of the rank.
struct Defaults {
  std::size_t heap_bytes = std::size_t{4} << 30U;
  std::size_t local_heap_bytes = std::size_t{4} << 30U;
  std::size_t rma_bytes = 0;             // smallest get by `windows`
  net::RemoteMemory* windows = nullptr;  // of the transport; nullptr: none
  std::uint64_t world = 0;               // the same on all ranks, another one in other worlds
  std::shared_ptr<CoresHere> here{};     // of all ranks of the process
};

/// Kind of an access.
enum class Access : std::uint8_t {
  get,
  get_range,
  put,
  gather,
  scatter,
  load,
  word,
  word_async,
  cached
};

/// Returns the name of an access in reports.
[[nodiscard]] const char* to_text(Access access);

/// Returns whether --sim-races treats the access as one of a strand of its own, which is ordered
/// only by its end.
[[nodiscard]] constexpr bool has_own_strand(Access access) {
  return access == Access::get_range || access == Access::put || access == Access::scatter ||
         access == Access::word_async;
}

/// Returns whether the access may change the memory.
[[nodiscard]] constexpr bool writes(Access access) {
  return access == Access::put || access == Access::scatter || access == Access::word ||
         access == Access::word_async;
}

/// A range of a rank's heap, or `count` blocks of it with `stride_bytes` from one to the next.
struct Range {
  int rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t stride_bytes = 0;
  std::uint64_t count = 1;

  [[nodiscard]] std::uint64_t size_bytes() const { return block_bytes * count; }
  /// Returns the number of bytes from the first byte to the last one.
  [[nodiscard]] std::uint64_t extent_bytes() const {
    return count == 0 ? 0 : (count - 1) * stride_bytes + block_bytes;
  }
};

/// Operation on a word of memory.
enum class WordOp : std::uint8_t {
  load,
  store,
  exchange,
  compare,
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor
};
enum class WordType : std::uint8_t { u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 };

struct Word {
  WordOp op = WordOp::load;
  WordType type = WordType::u64;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;  // of compare
};

[[nodiscard]] constexpr std::size_t word_bytes(WordType type) {
  switch (type) {
    case WordType::u8:
    case WordType::i8:
      return 1;
    case WordType::u16:
    case WordType::i16:
      return 2;
    case WordType::u32:
    case WordType::i32:
    case WordType::f32:
      return 4;
    default:
      return 8;
  }
}

/// Applies it to the word at `place`; returns the value before.
std::uint64_t apply_word(std::byte* place, const Word& word);

constexpr std::uint64_t kHeapBytesMin = 1U << 16U;  // of each heap

/// One of many elements at places of their own.
struct Element {
  int rank = 0;
  std::uint64_t offset = 0;
  std::size_t index = 0;  // in the caller's memory
};

/// Operation on each of many elements: a gather, a scatter, or one on words.
struct BatchOp {
  Access access = Access::gather;
  WordOp op = WordOp::load;  // on words
  WordType type = WordType::u64;
  std::uint64_t element_bytes = 0;
};

class Remote;

class Core {
 public:
  Core(TeamCore& team, const GlobalMemoryOptions& options, const std::source_location& place);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] Rank rank() const { return Rank(rank_); }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] TeamCore& team() const { return team_; }

  /// Returns the address of a range in this process, if the heap of its rank is in reach and was
  /// accessed before; else nullptr: see reach(). **Cost**: two loads and three comparisons.
  [[nodiscard]] std::byte* direct(int rank, std::uint64_t offset, std::size_t size_bytes,
                                  Access access) const {
    if (sync::watches_strands() && has_own_strand(access) && rank != rank_) return nullptr;
    if (static_cast<unsigned>(rank) < static_cast<unsigned>(size_)) [[likely]] {
      // acquire pairs with the release in Remote::connect()
      std::byte* const base =
          bases_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
      if (base != nullptr && fits(offset, size_bytes)) [[likely]]
        return base + offset;
    }
    return nullptr;
  }
  /// Returns the address of a range in this process, after finding the way to the rank's heap,
  /// which parks the caller once for each rank; nullptr: use messages. Throws CheckError for a
  /// range outside the heap.
  [[nodiscard]] std::byte* reach(const Range& range, Access access);
  /// Throws CheckError for a pointer of another memory, or null.
  void check_pointer(std::uint32_t memory, Access access) const {
    if (memory != id_) [[unlikely]]
      refuse_pointer(memory, to_text(access));
  }
  void check_pointer(std::uint32_t memory, const char* what) const {
    if (memory != id_) [[unlikely]]
      refuse_pointer(memory, what);
  }

  /// Throws CheckError in a handler, for calls that may wait.
  void check_may_wait(const char* call) const {
    if (sched::in_handler()) [[unlikely]]
      refuse_in_handler(call);
  }
  /// Throws CheckError in a handler, for calls that may wait for memory of another rank, even if it
  /// is in reach. A call on memory of the caller's rank never waits.
  void check_may_wait(int rank, const char* call) const {
    if (rank != rank_) check_may_wait(call);
  }

  // --- by messages. `pending` counts each request, and its end.

  void get(const Range& from, std::byte* to, Pending& pending);
  void put(const Range& to, const std::byte* from, Pending& pending);
  /// `result` is written before the end; it may be part of `pending`.
  void word(int rank, std::uint64_t offset, const Word& word, std::uint64_t* result,
            Pending& pending);
  /// Elements of one rank share messages. `data` is the caller's memory; it is written to only by a
  /// gather. `elements` are sorted by rank; those of a gather are read until its end.
  void batch(std::span<Element> elements, const BatchOp& op, std::byte* data, Pending& pending);
  /// Counts the puts of `pending` for quiet(): call before put() and word().
  void follow(Pending& pending);
  void quiet();

  // --- heaps

  [[nodiscard]] std::uint64_t allocate(std::size_t size_bytes, std::size_t alignment);
  /// `layout` is compared between the ranks, as the size and the place in the program.
  [[nodiscard]] std::uint64_t allocate_collectively(std::size_t size_bytes, std::size_t alignment,
                                                    std::uint64_t layout,
                                                    const std::source_location& place);
  /// Allocates in the heap of another rank; returns the future of the offset.
  [[nodiscard]] Future<std::uint64_t> allocate_on(Rank rank, std::size_t size_bytes,
                                                  std::size_t alignment);
  void free(Rank rank, std::uint64_t offset);
  void free_collectively(std::uint64_t offset);
  /// Allocates in the local heap, which the first call makes.
  [[nodiscard]] std::byte* allocate_locally(std::size_t size_bytes, std::size_t alignment);
  void free_locally(const void* place);
  /// Returns the address of an offset in the caller's heap.
  [[nodiscard]] std::byte* local(std::uint64_t offset) const { return heap_ + offset; }

  /// Returns the rank that was the last to write a range of the caller's heap, by a put, a scatter
  /// or an operation, if checks are on and it is among the last 1024 writes.
  [[nodiscard]] std::optional<int> last_writer(std::uint64_t offset,
                                               std::uint64_t size_bytes) const;
  [[nodiscard]] GlobalMemoryStatistics statistics() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] bool checks() const;

 private:
  friend class Remote;
  friend class CoresHere;
  // All sizes are filled in.
  Core(const GlobalMemoryOptions& options, TeamCore& team, const std::source_location& place);
  [[noreturn]] void refuse_pointer(std::uint32_t memory, const char* what) const;
  /// One comparison where the size is a small constant.
  [[nodiscard]] bool fits(std::uint64_t offset, std::size_t size_bytes) const {
    if (size_bytes <= kHeapBytesMin) return offset <= heap_bytes_ - size_bytes;
    return offset <= heap_bytes_ && size_bytes <= heap_bytes_ - offset;
  }
  [[noreturn]] void refuse_in_handler(const char* call) const;

  TeamCore& team_;
  const int rank_;
  const int size_;
  const std::uint64_t heap_bytes_;
  std::uint32_t id_ = 0;
  std::byte* heap_ = nullptr;  // the own one
  // By rank: its heap in this address space; nullptr: unknown, out of reach, or ended. The owner of
  // a heap takes its address away as it ends: see src/memory/reach.hpp.
  std::atomic<std::byte*>* bases_ = nullptr;
  std::unique_ptr<Remote> remote_;
};

}  // namespace memory

}  // namespace shoal

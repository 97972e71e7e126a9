#pragma once
// Global heap of one rank: its memory and its allocations.

#include "env/shared_memory.hpp"
#include "memory/allocator.hpp"

#include <shoal/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shoal::memory {

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

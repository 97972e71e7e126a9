#include "memory/heap.hpp"

#include "env/fresh_mapping.hpp"

#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/error.hpp>

#ifdef SHOAL_ASAN
#include <sanitizer/asan_interface.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace shoal::memory {

namespace {

// Offset 0 is never allocated.
constexpr std::uint64_t kFirstOffset = 64;

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  if (bytes < 4096) return fmt::format("{} bytes", bytes);
  if (bytes < 4 * kMiB) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
}

}  // namespace

Heap::Heap(HeapOptions options)
    : owner_(std::move(options.owner)),
      option_(std::move(options.option)),
      memory_(std::make_shared<env::SharedMemory>(options.size_bytes, options.shared)),
      collective_(kFirstOffset, options.collective_bytes, options.checks),
      single_(std::max<std::uint64_t>(kFirstOffset, options.collective_bytes), options.size_bytes,
              options.checks) {}

std::uint64_t Heap::allocate(std::size_t size_bytes, std::size_t alignment, bool collectively) {
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) -> std::uint64_t {
    Allocator& allocator = collectively ? collective_ : single_;
    if (const auto offset = allocator.allocate(size_bytes, alignment)) {
#ifdef SHOAL_ASAN
      // A stack may have been at these addresses before, and left the sanitizer's marks of its
      // frames.
      __asan_unpoison_memory_region(data() + *offset, size_bytes);
#endif
      return *offset;
    }
    throw Error(fmt::format(
        "{}: no room for {}: of {} for {}allocations, {} are in use by {}, and the largest free "
        "piece has {}; free some, or ask for a larger heap ({})",
        owner_, size_text(size_bytes), size_text(allocator.end() - allocator.begin()),
        collectively ? "collective " : (collective_.end() > 0 ? "one-sided " : ""),
        size_text(allocator.used_bytes()), allocator.count(),
        size_text(allocator.largest_free_bytes()), option_));
  });
}

std::string Heap::describe_foreign(std::uint64_t offset) const {
  for (const Allocator* allocator : {&collective_, &single_}) {
    if (const auto found = allocator->find(offset)) {
      if (found->offset == offset) {
        return allocator == &collective_ ? "it was allocated collectively: use collective_free()"
                                         : "it was not allocated collectively: use free()";
      }
      return fmt::format("it points into the allocation of {} at {:#x}",
                         size_text(found->size_bytes), found->offset);
    }
  }
  return "nothing is allocated there: it was freed before, or belongs to another heap";
}

void Heap::free(std::uint64_t offset, bool collectively) {
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    Allocator& allocator = collectively ? collective_ : single_;
    const auto size_bytes = allocator.size_at(offset);
    if (!size_bytes) {
      throw CheckError(
          fmt::format("{}: free of {:#x}: {}", owner_, offset, describe_foreign(offset)));
    }
    memory_->clear(offset, *size_bytes);
    static_cast<void>(allocator.free(offset));
  });
}

void Heap::mark_end() {
  env::forget_frames(data(), sizeof(std::uint64_t));
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(data())).store(1);
}

std::string Heap::problem_with(std::uint64_t offset, std::uint64_t size_bytes) const {
  const sync::Lock lock(mutex_);
  for (const Allocator* allocator : {&collective_, &single_}) {
    const auto found = allocator->find(offset);
    if (!found) continue;
    const std::uint64_t end = found->offset + found->size_bytes;
    if (offset + size_bytes <= end) return "";
    return fmt::format("{} at {:#x} reach {} past the allocation of {} at {:#x}",
                       size_text(size_bytes), offset, size_text(offset + size_bytes - end),
                       size_text(found->size_bytes), found->offset);
  }
  return fmt::format("{} at {:#x}: nothing is allocated there, or not any more",
                     size_text(size_bytes), offset);
}

void Heap::note_write(std::uint64_t offset, std::uint64_t size_bytes, int rank) {
  const sync::Lock lock(mutex_);
  if (writes_.size() < kWritesKept) writes_.emplace_back();
  writes_[next_write_] = {offset, size_bytes, rank};
  next_write_ = (next_write_ + 1) % kWritesKept;
}

std::optional<int> Heap::last_writer(std::uint64_t offset, std::uint64_t size_bytes) const {
  const sync::Lock lock(mutex_);
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    const Write& write = writes_[(next_write_ + kWritesKept - 1 - i) % kWritesKept];
    if (write.offset < offset + size_bytes && offset < write.offset + write.size_bytes) {
      return write.rank;
    }
  }
  return std::nullopt;
}

Heap::Use Heap::use() const {
  const sync::Lock lock(mutex_);
  return {collective_.count() + single_.count(), collective_.used_bytes() + single_.used_bytes()};
}

}  // namespace shoal::memory

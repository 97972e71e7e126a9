#pragma once
// Copies between a contiguous piece and the blocks of a range.

#include <shoal/detail/memory/core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shoal::memory {

/// Copies the blocks, the first of which is at `place`, to contiguous memory.
inline void gather(std::byte* to, const std::byte* place, const Range& range) {
  for (std::uint64_t i = 0; i < range.count; ++i) {
    std::memcpy(to + i * range.block_bytes, place + i * range.stride_bytes, range.block_bytes);
  }
}
/// Copies contiguous memory to the blocks, the first of which is at `place`.
inline void scatter(std::byte* place, const std::byte* from, const Range& range) {
  for (std::uint64_t i = 0; i < range.count; ++i) {
    std::memcpy(place + i * range.stride_bytes, from + i * range.block_bytes, range.block_bytes);
  }
}

}  // namespace shoal::memory

#pragma once
// Bytes whose address may be computed with.

#include <cstddef>
#include <span>
#include <vector>

namespace shoal {

/// The bytes; not null where there are none, as std::memcpy() and readers of messages demand.
[[nodiscard]] inline std::span<const std::byte> as_span(const std::vector<std::byte>& bytes) {
  static constexpr std::byte kNone{};
  return {bytes.empty() ? &kNone : bytes.data(), bytes.size()};
}

}  // namespace shoal

#pragma once
// Encoded values that travel in collective operations.

#include <shoal/am/immutable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace shoal::coll {

using Bytes = std::vector<std::byte>;

/// Bytes that nobody changes. Few are kept in place; copies share many.
class Block {
 public:
  static constexpr std::size_t kInlineMax = 36;

  Block() = default;
  explicit Block(Bytes bytes) {
    if (bytes.size() <= kInlineMax) {
      *this = Block(std::span<const std::byte>(bytes));
    } else {
      shared_ = make_immutable<Bytes>(std::move(bytes));
    }
  }
  explicit Block(Immutable<Bytes> shared) : shared_(std::move(shared)) {}
  /// A copy of `bytes`.
  explicit Block(std::span<const std::byte> bytes) {
    if (bytes.size() > kInlineMax) {
      shared_ = make_immutable<Bytes>(bytes.begin(), bytes.end());
    } else if (!bytes.empty()) {
      inline_size_ = static_cast<std::uint32_t>(bytes.size());
      std::memcpy(inline_.data(), bytes.data(), bytes.size());
    }
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    if (shared_) return *shared_;
    return std::span(inline_).first(inline_size_);
  }
  [[nodiscard]] std::size_t size() const { return bytes().size(); }
  /// Empty: the bytes are kept in place.
  [[nodiscard]] const Immutable<Bytes>& shared() const { return shared_; }

 private:
  alignas(std::max_align_t) std::array<std::byte, kInlineMax> inline_{};  // is decoded in place
  std::uint32_t inline_size_ = 0;
  Immutable<Bytes> shared_;
};

}  // namespace shoal::coll

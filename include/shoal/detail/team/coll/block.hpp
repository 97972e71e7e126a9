#pragma once
// Encoded values that travel in collective operations.

#include <shoal/immutable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace shoal::team {

using Bytes = std::vector<std::byte>;

/// A value that ranks of one process share as it is. It does not travel between processes.
struct SharedValue {
  std::shared_ptr<const void> value;
};

/// An immutable value: its bytes, few of which are kept in place, while copies share many; or an
/// object that is not encoded, because no member is in another process.
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
  explicit Block(SharedValue object) : object_(std::move(object)) {}
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
  /// Without a value: there are bytes.
  [[nodiscard]] const SharedValue& object() const { return object_; }

 private:
  alignas(std::max_align_t) std::array<std::byte, kInlineMax> inline_{};  // is decoded in place
  std::uint32_t inline_size_ = 0;
  Immutable<Bytes> shared_;
  SharedValue object_;
};

}  // namespace shoal::team

namespace shoal::wire {

template <>
struct IsPlain<team::SharedValue> : std::true_type {};

template <>
struct Codec<team::SharedValue> {
  template <class Archive>
  static constexpr void save(Archive& /*ar*/, const team::SharedValue& /*value*/) {}
  static team::SharedValue load(ReadArchive& /*ar*/) {
    throw DecodeError("a value that the ranks of a process share came from another process");
  }
};

}  // namespace shoal::wire

#pragma once
// Addresses in the global heaps of all ranks.

#include <shoal/rank.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

/// Address of a T in the global heap of a rank (ppl paper, section 2.3). A plain value of 16 bytes:
/// it may be copied, kept in global memory, and sent in messages. Only the GlobalMemory that it
/// belongs to can access what it points to.
///
/// Arithmetic counts in elements, and stays on the rank. Comparison orders by rank, then by
/// address.
template <class T>
class GlobalPtr {
 public:
  /// Type of the elements.
  using element_type = T;

  /// Null.
  constexpr GlobalPtr() = default;
  /// Null.
  constexpr GlobalPtr(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): as for pointers
  /// Converts from a pointer to a less const type. (There is no conversion to a base class, which
  /// may lie elsewhere in the object.)
  template <class U>
    requires(std::is_convertible_v<U*, T*> &&
             (std::is_void_v<T> || std::is_same_v<std::remove_cv_t<U>, std::remove_cv_t<T>>))
  constexpr GlobalPtr(const GlobalPtr<U>& other)  // NOLINT(google-explicit-constructor)
      : rank_(other.rank().value()), memory_(other.memory()), offset_(other.offset()) {}
  /// Made by GlobalMemory.
  constexpr GlobalPtr(Rank rank, std::uint32_t memory, std::uint64_t offset)
      : rank_(rank.value()), memory_(memory), offset_(offset) {}

  /// Returns the rank, in the team of the memory, of the heap that it points into.
  [[nodiscard]] constexpr Rank rank() const { return Rank(rank_); }
  /// Returns the offset in the heap of the rank, in bytes.
  [[nodiscard]] constexpr std::uint64_t offset() const { return offset_; }
  /// Number of the memory that it belongs to; 0: none.
  [[nodiscard]] constexpr std::uint32_t memory() const { return memory_; }
  /// Returns a pointer to the same place in the heap of another rank, for memory that was allocated
  /// collectively.
  [[nodiscard]] constexpr GlobalPtr on(Rank rank) const { return {rank, memory_, offset_}; }
  /// Returns a pointer to another type at the same address.
  template <class U>
  [[nodiscard]] constexpr GlobalPtr<U> cast() const {
    return {rank(), memory_, offset_};
  }
  /// Returns a pointer to a member of the object: cells.member(&Cell::mass). It is a pointer to
  /// const if this one is.
  template <class Member, class Class>
    requires std::is_base_of_v<Class, std::remove_cv_t<T>>
  [[nodiscard]] auto member(Member Class::*which) const
      -> GlobalPtr<std::conditional_t<std::is_const_v<T>, const Member, Member>> {
    using Object = std::remove_cv_t<T>;
    alignas(Object) static constexpr std::byte kPlace[sizeof(Object)] = {};
    const auto* object = reinterpret_cast<const Object*>(kPlace);
    const auto* place = reinterpret_cast<const std::byte*>(&(object->*which));
    return {rank(), memory_, offset_ + static_cast<std::uint64_t>(place - kPlace)};
  }

  /// Whether it is not null.
  constexpr explicit operator bool() const { return memory_ != 0; }
  friend constexpr bool operator==(const GlobalPtr&, const GlobalPtr&) = default;
  /// Orders pointers by rank, then by address.
  friend constexpr auto operator<=>(const GlobalPtr& a, const GlobalPtr& b) {
    if (const auto by_rank = a.rank_ <=> b.rank_; by_rank != 0) return by_rank;
    if (const auto by_offset = a.offset_ <=> b.offset_; by_offset != 0) return by_offset;
    return a.memory_ <=> b.memory_;
  }

  /// Moves by `count` elements.
  constexpr GlobalPtr& operator+=(std::ptrdiff_t count) {
    offset_ += static_cast<std::uint64_t>(count * step());
    return *this;
  }
  /// Moves back by `count` elements.
  constexpr GlobalPtr& operator-=(std::ptrdiff_t count) { return *this += -count; }
  /// Moves by one element.
  constexpr GlobalPtr& operator++() { return *this += 1; }
  /// Moves back by one element.
  constexpr GlobalPtr& operator--() { return *this -= 1; }
  /// Pointer that is `count` elements away.
  friend constexpr GlobalPtr operator+(GlobalPtr p, std::ptrdiff_t count) { return p += count; }
  /// Pointer that is `count` elements away.
  friend constexpr GlobalPtr operator+(std::ptrdiff_t count, GlobalPtr p) { return p += count; }
  /// Pointer that is `count` elements away.
  friend constexpr GlobalPtr operator-(GlobalPtr p, std::ptrdiff_t count) { return p -= count; }
  /// Distance of two elements of one allocation.
  friend constexpr std::ptrdiff_t operator-(const GlobalPtr& a, const GlobalPtr& b) {
    return static_cast<std::ptrdiff_t>(a.offset_ - b.offset_) / step();
  }

 private:
  // A function, so that a type may hold a GlobalPtr to itself. GlobalPtr<void> has no step.
  static constexpr std::ptrdiff_t step() { return static_cast<std::ptrdiff_t>(sizeof(T)); }

  std::int32_t rank_ = -1;
  std::uint32_t memory_ = 0;
  std::uint64_t offset_ = 0;
};

/// "rank 2 + 0x40", for reports.
[[nodiscard]] std::string to_string(const GlobalPtr<const std::byte>& pointer);

namespace memory {

/// Rank and address in 64 bits: the higher a bit, the more of them it depends on.
template <class T>
constexpr std::uint64_t mixed_address(const GlobalPtr<T>& pointer) {
  return (pointer.offset() + (static_cast<std::uint64_t>(pointer.rank().value()) << 44U)) *
         0x9E3779B97F4A7C15U;
}
/// Hash of an address for FlatMap.
struct AddressHash {
  std::uint32_t operator()(const GlobalPtr<const std::byte>& pointer) const noexcept {
    return static_cast<std::uint32_t>(mixed_address(pointer) >> 32U);
  }
};

/// Type to which a vector, an array or a span of GlobalPtr points.
template <class Pointers>
using Pointee =
    typename decltype(std::span(std::declval<const Pointers&>()))::value_type::element_type;

}  // namespace memory

}  // namespace shoal

/// Hashes by rank and address.
template <class T>
struct std::hash<shoal::GlobalPtr<T>> {
  std::size_t operator()(const shoal::GlobalPtr<T>& pointer) const noexcept {
    const std::uint64_t mixed = shoal::memory::mixed_address(pointer);
    return static_cast<std::size_t>(mixed ^ (mixed >> 32U));
  }
};

#pragma once
// Words of global memory: types on which operations are atomic.

#include <shoal/detail/memory/core.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace shoal::memory {

template <class T>
concept Copied = std::is_trivially_copyable_v<T>;

/// Types on which remote operations are atomic.
template <class T>
concept Atomic = std::is_trivially_copyable_v<T> &&
                 (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) &&
                 alignof(T) == sizeof(T);

/// The unsigned integer of the size of T: enums and small structures are exchanged as such.
template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Rejects writes through a pointer to const at compile time.
template <class T>
consteval void check_written() {
  static_assert(!std::is_const_v<T>,
                "shoal: a GlobalPtr to const is only read: write through a GlobalPtr to a type "
                "that is not const");
}
template <class T>
consteval void check_sum() {
  check_written<T>();
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>,
                "shoal: only integers and floating-point numbers are added: use fetch_update() for "
                "other types");
}
template <class T>
consteval void check_order() {
  check_written<T>();
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                "shoal: only numbers and enums have a minimum and a maximum: use fetch_update() "
                "for other types");
}
/// Whether every bit of a T belongs to its value: bit_cast() of padding to an integer is no
/// constant expression.
template <class T>
inline constexpr bool has_no_padding_v =
    std::has_unique_object_representations_v<T> || std::is_scalar_v<T> ||
    requires { typename std::integral_constant<Bits<T>, std::bit_cast<Bits<T>>(T())>; };
template <class T>
consteval void check_compared() {
  check_written<T>();
  static_assert(has_no_padding_v<T>,
                "shoal: compare_exchange() and fetch_update() compare all bits of a word, padding "
                "too: fill the padding of the type with members");
}

template <class T>
consteval WordType word_type() {
  if constexpr (std::is_enum_v<T>) return word_type<std::underlying_type_t<T>>();
  if constexpr (std::is_same_v<T, float>) return WordType::f32;
  if constexpr (std::is_same_v<T, double>) return WordType::f64;
  constexpr bool is_signed = std::is_integral_v<T> && std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? WordType::i8 : WordType::u8;
  if constexpr (sizeof(T) == 2) return is_signed ? WordType::i16 : WordType::u16;
  if constexpr (sizeof(T) == 4) return is_signed ? WordType::i32 : WordType::u32;
  return is_signed ? WordType::i64 : WordType::u64;
}

template <class T>
std::uint64_t to_word(const T& value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T>
T from_word(std::uint64_t word) {
  std::remove_cv_t<T> value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

/// apply_word() without its result, for which processors have instructions.
template <WordOp op, Atomic T>
void update(std::byte* place, const T& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                (op == WordOp::add || op == WordOp::bit_xor)) {
    const std::atomic_ref<T> word(*reinterpret_cast<T*>(place));
    if constexpr (op == WordOp::add) word += value;
    if constexpr (op == WordOp::bit_xor) word ^= value;
  } else {
    static_cast<void>(apply_word(place, {op, word_type<T>(), to_word(value)}));
  }
}

/// Reads a value of global memory. Words are read atomically, but with --sim-races: a get beside a
/// put is a race there, unless the program orders them.
template <class T>
void load(T& to, const std::byte* from) {
  if (sync::watches_strands()) {
    std::memcpy(&to, from, sizeof(T));
  } else if constexpr (Atomic<T>) {
    auto* const place = reinterpret_cast<Bits<T>*>(const_cast<std::byte*>(from));
    // relaxed: puts and gets are ordered by what the program waits for, or by messages
    const Bits<T> bits = std::atomic_ref<Bits<T>>(*place).load(std::memory_order_relaxed);
    std::memcpy(&to, &bits, sizeof(T));
  } else {
    std::memcpy(&to, from, sizeof(T));
  }
}
/// Writes a value, in the same way.
template <class T>
void store(std::byte* to, const T& from) {
  if (sync::watches_strands()) {
    std::memcpy(to, &from, sizeof(T));
  } else if constexpr (Atomic<T>) {
    Bits<T> bits;
    std::memcpy(&bits, &from, sizeof(T));
    // relaxed: as load()
    std::atomic_ref<Bits<T>>(*reinterpret_cast<Bits<T>*>(to))
        .store(bits, std::memory_order_relaxed);
  } else {
    std::memcpy(to, &from, sizeof(T));
  }
}

}  // namespace shoal::memory

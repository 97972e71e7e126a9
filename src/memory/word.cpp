#include <shoal/detail/memory/core.hpp>

#include <shoal/detail/base/check.hpp>

#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

namespace shoal::memory {

namespace {

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));  // little endian, as all that shoal runs on
  return value;
}

template <class T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
T combine(WordOp op, T old, T operand) {
  switch (op) {
    case WordOp::add:
      return static_cast<T>(old + operand);  // of integers: apply() adds them
    case WordOp::min:
      return operand < old ? operand : old;
    case WordOp::max:
      return old < operand ? operand : old;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == WordOp::bit_and) return static_cast<T>(old & operand);
    if (op == WordOp::bit_or) return static_cast<T>(old | operand);
    if (op == WordOp::bit_xor) return static_cast<T>(old ^ operand);
  }
  SHOAL_CHECK(false, "operation {} does not exist for this type", static_cast<int>(op));
  return old;
}

// seq_cst: operations on words are ordered as those of std::atomic are by default, whatever way
// they took.
template <class T>
std::uint64_t apply(std::byte* place, const Word& word) {
  const std::atomic_ref<T> target(*reinterpret_cast<T*>(place));
  const T operand = from_bits<T>(word.operand);
  switch (word.op) {
    case WordOp::load:
      return to_bits(target.load());
    case WordOp::store:
      target.store(operand);
      return 0;
    case WordOp::exchange:
      return to_bits(target.exchange(operand));
    case WordOp::compare: {
      T expected = from_bits<T>(word.expected);
      target.compare_exchange_strong(expected, operand);
      return to_bits(expected);
    }
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (word.op == WordOp::add) return to_bits(target.fetch_add(operand));
  }
  T old = target.load();
  while (!target.compare_exchange_weak(old, combine(word.op, old, operand))) {
  }
  return to_bits(old);
}

}  // namespace

std::uint64_t apply_word(std::byte* place, const Word& word) {
  switch (word.type) {
    case WordType::u8:
      return apply<std::uint8_t>(place, word);
    case WordType::u16:
      return apply<std::uint16_t>(place, word);
    case WordType::u32:
      return apply<std::uint32_t>(place, word);
    case WordType::u64:
      return apply<std::uint64_t>(place, word);
    case WordType::i8:
      return apply<std::int8_t>(place, word);
    case WordType::i16:
      return apply<std::int16_t>(place, word);
    case WordType::i32:
      return apply<std::int32_t>(place, word);
    case WordType::i64:
      return apply<std::int64_t>(place, word);
    case WordType::f32:
      return apply<float>(place, word);
    case WordType::f64:
      return apply<double>(place, word);
  }
  SHOAL_CHECK(false, "{} is not a type of a word", static_cast<int>(word.type));
  return 0;
}

}  // namespace shoal::memory

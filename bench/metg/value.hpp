#pragma once
// Values that tasks compute: numbers that identify their task and its inputs.

#include <cstdint>

namespace metg {

using Value = std::uint64_t;

/// Spreads the bits of a number. **Source**: splitmix64.
constexpr Value mix(Value x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Value of a task without its inputs. Odd, as all values are: 0 means that there is none yet.
constexpr Value first_value(int step, int column) {
  return ((static_cast<Value>(step) << 20U) + static_cast<Value>(column)) * 0x9e3779b97f4a7c15U |
         1U;
}
/// With one input more, in the order of their columns.
constexpr Value fold(Value value, Value input) {
  return (value * 0xd1342543de82ef95U + input) | 1U;
}

}  // namespace metg

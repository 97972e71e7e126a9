#pragma once
// Matrices whose elements are functions of (seed, row, column): any rank makes any part of them.

#include <cstdint>

namespace apps {

/// A permutation of the 64-bit integers that looks random (the finalizer of splitmix64).
[[nodiscard]] constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Uniform in [0, 1), a function of its arguments only.
[[nodiscard]] constexpr double random_unit(std::uint64_t seed, int i, int j) {
  const auto position = static_cast<std::uint64_t>(static_cast<std::uint32_t>(i)) << 32U |
                        static_cast<std::uint64_t>(static_cast<std::uint32_t>(j));
  constexpr double kUlp = 1.0 / 9007199254740992.0;  // 2^-53: the 53 upper bits are used
  return static_cast<double>(mix_bits(mix_bits(seed) ^ position) >> 11U) * kUlp;
}

/// Uniform in [-1, 1).
[[nodiscard]] constexpr double random_element(std::uint64_t seed, int row, int column) {
  return 2 * random_unit(seed, row, column) - 1;
}

/// Element of a symmetric positive definite matrix of `size` rows: random, plus `size` on the
/// diagonal, which makes it diagonally dominant.
[[nodiscard]] constexpr double random_spd_element(std::uint64_t seed, int size, int row,
                                                  int column) {
  const bool lower = row >= column;
  const double value = random_element(seed, lower ? row : column, lower ? column : row);
  return row == column ? value + size : value;
}

}  // namespace apps

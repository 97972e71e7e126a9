#pragma once
// Binomial trees, along which values and calls are handed on.

#include <bit>
#include <vector>

namespace shoal {

/// Parent of a number in the binomial tree over 0 to size - 1, whose root is 0: the number without
/// its lowest bit.
[[nodiscard]] inline int binomial_parent(int number) { return number & (number - 1); }

/// Its children, the one with the largest subtree first.
[[nodiscard]] inline std::vector<int> binomial_children(int number, int size) {
  const auto mine = static_cast<unsigned>(number);
  const auto end = static_cast<unsigned>(size);
  const unsigned first = mine == 0 ? std::bit_ceil(end) : mine & (~mine + 1);
  std::vector<int> children;
  for (unsigned bit = first / 2; bit > 0; bit /= 2) {
    if (mine + bit < end) children.push_back(static_cast<int>(mine + bit));
  }
  return children;
}

}  // namespace shoal

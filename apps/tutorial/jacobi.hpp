#pragma once
// The Jacobi iteration that the programs jacobi_mpi, jacobi_flow and jacobi_graph share: points on
// a rectangle, in strips of whole rows. The edge above is 1, the other edges are 0.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

// [kernel]
constexpr int kColumns = 48;
constexpr int kRows = 64;
constexpr int kSteps = 60;

using Row = std::vector<double>;    // kColumns points
using Strip = std::vector<double>;  // several rows, one after the other

/// Each point becomes the mean of its four neighbours; `above` and `below` are the rows beside.
inline Strip advance(const Row& above, const Strip& strip, const Row& below) {
  Strip next(strip.size());
  for (std::size_t i = 0; i < strip.size(); ++i) {
    const std::size_t column = i % kColumns;
    const double up = i < kColumns ? above[column] : strip[i - kColumns];
    const double down = i + kColumns < strip.size() ? strip[i + kColumns] : below[column];
    const double left = column > 0 ? strip[i - 1] : 0;
    const double right = column + 1 < kColumns ? strip[i + 1] : 0;
    next[i] = 0.25 * (up + down + (left + right));
  }
  return next;
}
// [/kernel]

inline Row first_row(const Strip& strip) { return {strip.begin(), strip.begin() + kColumns}; }
inline Row last_row(const Strip& strip) { return {strip.end() - kColumns, strip.end()}; }

/// Points of part `part` of `parts`, all zero.
inline Strip empty_strip(int part, int parts) {
  const int rows = kRows * (part + 1) / parts - kRows * part / parts;
  return Strip(static_cast<std::size_t>(rows) * kColumns);
}

/// Sum of the bits of all points: equal if all points are, in whatever parts they are added.
inline std::uint64_t checksum(const Strip& strip) {
  std::uint64_t sum = 0;
  for (const double point : strip) sum += std::bit_cast<std::uint64_t>(point);
  return sum;
}

inline void print_checksum(std::uint64_t sum) {
  std::printf("checksum %016llx\n", static_cast<unsigned long long>(sum));
}

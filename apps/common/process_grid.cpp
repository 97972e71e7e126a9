#include "common/process_grid.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "common/input_error.hpp"

namespace apps {
namespace {

/// Reads a positive number at `from`; returns where it ends, or nullptr.
const char* read_positive(const char* from, const char* end, int& number) {
  const auto [next, error] = std::from_chars(from, end, number);
  return error == std::errc{} && number > 0 ? next : nullptr;
}

}  // namespace

ProcessGrid ProcessGrid::near_square(int rank_count) {
  int rows = 1;
  for (int r = 1; r * r <= rank_count; ++r) {
    if (rank_count % r == 0) rows = r;
  }
  return {rows, rank_count / rows};
}

ProcessGrid ProcessGrid::parse(const std::string& text, int rank_count) {
  int rows = 0;
  int columns = 0;
  const char* const end = text.data() + text.size();
  const char* next = read_positive(text.data(), end, rows);
  const bool separated = next != nullptr && next != end && (*next == 'x' || *next == 'X');
  next = separated ? read_positive(next + 1, end, columns) : nullptr;
  if (next != end) {
    throw InputError(fmt::format("--grid {}: expected ROWSxCOLUMNS, for example 2x3", text));
  }
  if (std::int64_t{rows} * columns != rank_count) {
    throw InputError(fmt::format("--grid {}: that makes {} ranks, but the world has {}", text,
                                 std::int64_t{rows} * columns, rank_count));
  }
  return {rows, columns};
}

}  // namespace apps

#include "gemm3d/cube.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "common/input_error.hpp"

namespace gemm3d {

Cube::Cube(int rank_count) : edge_(1) {
  const auto cube = [](std::int64_t edge) { return edge * edge * edge; };
  while (cube(edge_ + 1) <= rank_count) ++edge_;
  if (cube(edge_) != rank_count) {
    throw apps::InputError(
        fmt::format("the number of ranks must be a cube (1, 8, 27, 64, ...), not {}: start {} or "
                    "{} ranks",
                    rank_count, cube(edge_), cube(edge_ + 1)));
  }
}

}  // namespace gemm3d

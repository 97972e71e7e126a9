#pragma once
// The symmetric positive definite matrices that are factored.

#include <cstdint>
#include <memory>
#include <vector>

#include "common/matrix_market.hpp"
#include "common/tile.hpp"

namespace cholesky {

/// A symmetric matrix of which any block can be made on any rank.
class SpdMatrix {
 public:
  virtual ~SpdMatrix() = default;
  [[nodiscard]] virtual int size() const = 0;
  /// The lower triangle of the block of rows x columns at (row, column); zero above the diagonal.
  [[nodiscard]] virtual apps::Tile lower_block(int row, int column, int rows,
                                               int columns) const = 0;
};

/// A dense one, the same for the same seed and size.
std::unique_ptr<SpdMatrix> make_random(int size, std::uint64_t seed);
/// One from a file.
std::unique_ptr<SpdMatrix> make_sparse(int size, std::vector<apps::Entry> lower);

}  // namespace cholesky

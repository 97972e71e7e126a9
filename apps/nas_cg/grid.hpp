#pragma once
// Grid of ranks for the NAS benchmark CG.

#include "nas_cg/matrix.hpp"

namespace nas_cg {

/// A power of two of ranks: as many rows as columns, or half as many.
struct Grid {
  explicit Grid(int ranks) {
    while (4 * rows * rows <= ranks) rows *= 2;
    columns = ranks / rows;
  }
  [[nodiscard]] int per_row() const { return columns / rows; }  // column parts in a row part
  [[nodiscard]] Block::Range row_range(int row, int n) const {
    return {part(n, row, rows), part(n, row + 1, rows)};
  }
  /// Part of the vectors that belongs to a column: of the row part that it lies in.
  [[nodiscard]] Block::Range column_range(int column, int n) const {
    const Block::Range outer = row_range(column / per_row(), n);
    const int size = outer.last - outer.first;
    const int at = column % per_row();
    return {outer.first + part(size, at, per_row()), outer.first + part(size, at + 1, per_row())};
  }
  static int part(int n, int index, int parts) {
    return static_cast<int>(static_cast<long>(n) * index / parts);
  }

  int rows = 1;
  int columns = 1;
};

}  // namespace nas_cg

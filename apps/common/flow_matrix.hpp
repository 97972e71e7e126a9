#pragma once
// Matrices in tiles that are data of a sequential flow, block-cyclic over the ranks.

#include <shoal/shoal.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/block_partition.hpp"
#include "common/process_grid.hpp"
#include "common/tile.hpp"

namespace apps {

using TileView = shoal::MatrixView<double>;
using ConstTileView = shoal::MatrixView<const double>;
using TileData = shoal::Data<TileView>;

/// A dense matrix, of which each rank has its own tiles in memory and knows all by their handles.
class FlowMatrix {
 public:
  enum class Part { all, lower };  // of the tiles

  /// **Caller**: all ranks, in the same order.
  FlowMatrix(const shoal::World& world, shoal::Flow& flow, BlockPartition rows,
             BlockPartition columns, const ProcessGrid& grid, const std::string& name,
             Part part = Part::all);

  [[nodiscard]] const BlockPartition& rows() const { return rows_; }
  [[nodiscard]] const BlockPartition& columns() const { return columns_; }
  [[nodiscard]] TileData at(int i, int j) const { return data_[index(i, j)]; }
  [[nodiscard]] shoal::Rank owner(int i, int j) const { return grid_.owner(i, j); }

  /// Calls f(i, j, tile) for the tiles of this rank. **Caller**: while no task uses them.
  template <class F>
  void for_each_own(F f) {
    for (Own& own : own_) f(own.i, own.j, own.tile);
  }
  /// The tile in this rank's memory. **Errors**: CheckError if it is another rank's.
  [[nodiscard]] Tile& own(int i, int j);

 private:
  struct Own {
    int i;
    int j;
    Tile tile;
  };
  [[nodiscard]] std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_.count()) +
           static_cast<std::size_t>(i);
  }

  BlockPartition rows_;
  BlockPartition columns_;
  ProcessGrid grid_;
  std::vector<TileData> data_;
  std::vector<Own> own_;
  std::vector<int> own_index_;  // -1: another rank's
};

/// Sets the own tiles to element(row, column), and ends the copies of what they were; in a dry run
/// they have no values. **Caller**: all ranks, while no task uses the matrix.
template <class Element>
void fill(const shoal::World& world, shoal::Flow& flow, FlowMatrix& matrix, Element element) {
  flow.flush();
  if (world.is_dry()) return;
  matrix.for_each_own([&](int i, int j, Tile& tile) {
    for (int column = 0; column < tile.columns(); ++column) {
      for (int row = 0; row < tile.rows(); ++row) {
        tile(row, column) =
            element(matrix.rows().offset(i) + row, matrix.columns().offset(j) + column);
      }
    }
  });
}

}  // namespace apps

#include "common/flow_matrix.hpp"

#include <fmt/format.h>

namespace apps {

FlowMatrix::FlowMatrix(const shoal::World& world, shoal::Flow& flow, BlockPartition rows,
                       BlockPartition columns, const ProcessGrid& grid, const std::string& name,
                       Part part)
    : rows_(std::move(rows)), columns_(std::move(columns)), grid_(grid) {
  const int tile_rows = rows_.count();
  own_.reserve(index(0, columns_.count()) / static_cast<std::size_t>(world.size()) + 1);
  for (int j = 0; j < columns_.count(); ++j) {
    for (int i = 0; i < tile_rows; ++i) {
      own_index_.push_back(-1);
      data_.emplace_back();
      if (part == Part::lower && i < j) continue;
      const bool mine = grid_.owner(i, j) == world.rank();
      double* place = nullptr;
      if (mine) {
        own_index_.back() = static_cast<int>(own_.size());
        own_.push_back({i, j, Tile(rows_.extent(i), columns_.extent(j))});
        place = own_.back().tile.data();
      }
      const auto extent = static_cast<std::size_t>(rows_.extent(i));
      data_.back() = flow.matrix<double>(
          place, extent, static_cast<std::size_t>(columns_.extent(j)), extent,
          {.owner = grid_.owner(i, j),
           .name = world.size() <= 64 ? fmt::format("{}({}, {})", name, i, j) : std::string()});
    }
  }
}

Tile& FlowMatrix::own(int i, int j) {
  const int place = own_index_[index(i, j)];
  SHOAL_CHECK(place >= 0, "tile ({}, {}) is not of this rank", i, j);
  return own_[static_cast<std::size_t>(place)].tile;
}

}  // namespace apps

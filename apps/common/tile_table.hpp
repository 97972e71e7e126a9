#pragma once
// The tiles of a matrix that a rank has at the moment: its own ones and copies of others'.

#include <atomic>
#include <cstddef>
#include <vector>

#include "common/tile.hpp"

namespace apps {

/// A table of rows x columns places, each empty or with a tile.
/// Caller: any thread, as long as nobody puts or drops a tile while another one looks at the same
/// place; the dependencies of the tasks ensure that.
class TileTable {
 public:
  /// Instead of a number of uses: the tile stays until it is dropped.
  static constexpr int kKept = -1;

  TileTable(int rows, int columns);

  /// Puts a tile that goes away after `uses` calls of release(). The place must be empty.
  void put(int i, int j, Tile tile, int uses = kKept);
  /// One use of the tile is over; does nothing for tiles that are kept.
  void release(int i, int j);
  /// Empties the place, and returns what was there.
  Tile drop(int i, int j);
  /// Empties all places. Caller: main, while no task runs.
  void clear();

  [[nodiscard]] bool has(int i, int j) const { return !place(i, j).tile.empty(); }
  /// The tile at (i, j), which must be there.
  [[nodiscard]] Tile& at(int i, int j) { return checked(i, j).tile; }
  [[nodiscard]] const Tile& at(int i, int j) const { return checked(i, j).tile; }

 private:
  struct Place {
    Tile tile;
    // The last of several users frees the tile: acq_rel in release() orders their reads before it.
    std::atomic<int> uses_left = kKept;
  };

  [[nodiscard]] const Place& place(int i, int j) const;
  [[nodiscard]] Place& place(int i, int j);
  [[nodiscard]] const Place& checked(int i, int j) const;
  [[nodiscard]] Place& checked(int i, int j);

  int rows_;
  int columns_;
  std::vector<Place> places_;
};

}  // namespace apps

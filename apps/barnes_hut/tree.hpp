#pragma once
// Octrees in global memory.

#include <shoal/memory.hpp>

#include <array>
#include <span>
#include <vector>

#include "barnes_hut/octree.hpp"

namespace barnes_hut {

struct Cell : CellData {
  std::array<shoal::GlobalPtr<Cell>, 8> children{};
};

/// The tree over the bodies of one rank, in its global heap, until it is destroyed.
class Tree {
 public:
  Tree(shoal::GlobalMemory& memory, std::span<const Body> bodies);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Null without bodies.
  [[nodiscard]] shoal::GlobalPtr<Cell> root() const { return root_; }

 private:
  shoal::GlobalMemory& memory_;
  std::vector<shoal::GlobalPtr<Cell>> cells_;
  shoal::GlobalPtr<Cell> root_;
};

}  // namespace barnes_hut

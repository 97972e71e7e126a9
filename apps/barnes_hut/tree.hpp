#pragma once
// Octrees in global memory.

#include <shoal/memory.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "barnes_hut/bodies.hpp"

namespace barnes_hut {

/// A cube of space with its bodies or smaller cubes. A leaf holds its bodies, and travels with
/// them.
struct Cell {
  static constexpr std::size_t kBodiesMax = 8;
  struct Mass {
    Vector position{};
    double mass = 0;
  };

  Mass all;                      // at the centre of mass
  double width = 0;              // of the cube
  std::uint32_t body_count = 0;  // of a leaf; else 0
  std::uint32_t child_count = 0;
  std::array<shoal::GlobalPtr<Cell>, 8> children{};
  std::array<Mass, kBodiesMax> bodies{};
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
  shoal::GlobalPtr<Cell> build(std::vector<Cell::Mass>& bodies, const Vector& corner, double width,
                               int depth);

  shoal::GlobalMemory& memory_;
  std::vector<shoal::GlobalPtr<Cell>> cells_;
  shoal::GlobalPtr<Cell> root_;
};

}  // namespace barnes_hut

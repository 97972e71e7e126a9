#pragma once
// Octrees: how they are built and used, wherever their cells are.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "barnes_hut/bodies.hpp"

namespace barnes_hut {

struct Mass {
  Vector position{};
  double mass = 0;
};

/// A cube of space with its bodies or smaller cubes. A leaf holds its bodies, and travels with
/// them. A cell type adds `children`: an array of 8 pointers.
struct CellData {
  static constexpr std::size_t kBodiesMax = 8;

  Mass all;                      // at the centre of mass
  double width = 0;              // of the cube
  std::uint32_t body_count = 0;  // of a leaf; else 0
  std::uint32_t child_count = 0;
  std::array<Mass, kBodiesMax> bodies{};
};

struct Cube {
  Vector corner{};
  double width = 0;
};

[[nodiscard]] std::vector<Mass> masses_of(std::span<const Body> bodies);
/// A cube around at least one body.
[[nodiscard]] Cube cube_around(const std::vector<Mass>& bodies);

/// The cell of the cube, without its children. `parts` are the bodies of those, by octant; all are
/// empty for a leaf.
using Parts = std::array<std::vector<Mass>, 8>;
[[nodiscard]] CellData make_cell(const std::vector<Mass>& bodies, const Cube& cube, int depth,
                                 Parts& parts);
[[nodiscard]] Cube octant(const Cube& cube, std::size_t part);

/// Builds the tree over at least one body, children first. store(cell) keeps a cell, and returns
/// the pointer to it.
template <class Cell, class Store>
std::invoke_result_t<const Store&, const Cell&> build_tree(const std::vector<Mass>& bodies,
                                                           const Cube& cube, const Store& store,
                                                           int depth = 0) {
  Parts parts;
  Cell cell;
  static_cast<CellData&>(cell) = make_cell(bodies, cube, depth, parts);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].empty()) continue;
    cell.children[cell.child_count++] =
        build_tree<Cell>(parts[part], octant(cube, part), store, depth + 1);
  }
  return store(cell);
}

/// Adds the acceleration that a tree gives a body at `position`. A cell is one mass where its width
/// is below `tolerance` of its distance. read(pointer) gives access to a cell.
template <class Pointer, class Read>
void add_tree(Vector& acceleration, const Vector& position, const Pointer& pointer,
              double tolerance, const Read& read) {
  const auto cell = read(pointer);
  if (cell->body_count > 0) {
    for (std::size_t i = 0; i < cell->body_count; ++i) {
      // The body itself is at no distance, and adds nothing.
      attract(acceleration, position, cell->bodies[i].position, cell->bodies[i].mass);
    }
    return;
  }
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double distance = cell->all.position[axis] - position[axis];
    square += distance * distance;
  }
  if (cell->width * cell->width < tolerance * tolerance * square) {
    attract(acceleration, position, cell->all.position, cell->all.mass);
    return;
  }
  for (std::size_t i = 0; i < cell->child_count; ++i) {
    add_tree(acceleration, position, cell->children[i], tolerance, read);
  }
}

}  // namespace barnes_hut

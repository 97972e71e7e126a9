#pragma once
// Octrees: how they are built and used, wherever their cells are.

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
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

/// Adds the accelerations that a tree gives a group of bodies. A cell is one mass for a body where
/// its width is below `tolerance` of its distance. Each cell is read once, and a body gets its
/// masses in an order that does not depend on the others. read(pointer) gives access to a cell.
template <class Read>
class Attraction {
 public:
  Attraction(std::span<const Body> bodies, std::span<Vector> accelerations, double tolerance,
             const Read& read)
      : bodies_(bodies),
        accelerations_(accelerations),
        square_of_tolerance_(tolerance * tolerance),
        read_(read) {}

  /// Returns the number of masses that were added.
  template <class Pointer>
  std::uint64_t add_tree(const Pointer& root) {
    near_.resize(bodies_.size());
    std::iota(near_.begin(), near_.end(), std::size_t{0});
    masses_ = 0;
    add_cell(root, 0);
    return masses_;
  }

 private:
  /// For the bodies in near_ from `first` on.
  template <class Pointer>
  void add_cell(const Pointer& pointer, std::size_t first) {
    const auto cell = read_(pointer);
    const std::size_t end = near_.size();
    for (std::size_t i = first; i < end; ++i) {
      const std::size_t body = near_[i];
      if (cell->body_count > 0) {
        // The body itself is at no distance, and adds nothing.
        for (std::size_t k = 0; k < cell->body_count; ++k) add(body, cell->bodies[k]);
      } else if (is_far(*cell, bodies_[body].position)) {
        add(body, cell->all);
      } else {
        near_.push_back(body);
      }
    }
    if (near_.size() == end) return;
    for (std::size_t i = 0; i < cell->child_count; ++i) add_cell(cell->children[i], end);
    near_.resize(end);
  }
  void add(std::size_t body, const Mass& mass) {
    attract(accelerations_[body], bodies_[body].position, mass.position, mass.mass);
    ++masses_;
  }
  [[nodiscard]] bool is_far(const CellData& cell, const Vector& position) const {
    double square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double distance = cell.all.position[axis] - position[axis];
      square += distance * distance;
    }
    return cell.width * cell.width < square_of_tolerance_ * square;
  }

  const std::span<const Body> bodies_;
  const std::span<Vector> accelerations_;
  const double square_of_tolerance_;
  const Read& read_;
  std::vector<std::size_t> near_;  // bodies: those of a cell lie behind those of its parent
  std::uint64_t masses_ = 0;
};

}  // namespace barnes_hut

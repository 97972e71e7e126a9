#include "barnes_hut/tree.hpp"

#include <algorithm>
#include <limits>

namespace barnes_hut {
namespace {

constexpr int kDepthMax = 40;  // bodies closer than that share a cell as one mass

Cell::Mass sum_of(const std::vector<Cell::Mass>& bodies) {
  Cell::Mass all;
  for (const Cell::Mass& body : bodies) {
    all.mass += body.mass;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all.position[axis] += body.mass * body.position[axis];
    }
  }
  for (double& x : all.position) x /= all.mass;
  return all;
}

}  // namespace

Tree::Tree(shoal::GlobalMemory& memory, std::span<const Body> bodies) : memory_(memory) {
  if (bodies.empty()) return;
  Vector low;
  low.fill(std::numeric_limits<double>::max());
  Vector high;
  high.fill(std::numeric_limits<double>::lowest());
  std::vector<Cell::Mass> masses;
  for (const Body& body : bodies) {
    masses.push_back({body.position, body.mass});
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], body.position[axis]);
      high[axis] = std::max(high[axis], body.position[axis]);
    }
  }
  double width = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) width = std::max(width, high[axis] - low[axis]);
  root_ = build(masses, low, width * (1 + 1e-9) + 1e-300, 0);
}

Tree::~Tree() {
  for (const shoal::GlobalPtr<Cell> cell : cells_) memory_.destroy(cell);
}

shoal::GlobalPtr<Cell> Tree::build(std::vector<Cell::Mass>& bodies, const Vector& corner,
                                   double width, int depth) {
  Cell cell;
  cell.all = sum_of(bodies);
  cell.width = width;
  if (bodies.size() <= Cell::kBodiesMax) {
    cell.body_count = static_cast<std::uint32_t>(bodies.size());
    std::copy(bodies.begin(), bodies.end(), cell.bodies.begin());
  } else if (depth == kDepthMax) {
    cell.body_count = 1;
    cell.bodies[0] = cell.all;
  } else {
    std::array<std::vector<Cell::Mass>, 8> parts;
    for (const Cell::Mass& body : bodies) {
      std::size_t part = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (body.position[axis] >= corner[axis] + width / 2) part |= std::size_t{1} << axis;
      }
      parts[part].push_back(body);
    }
    for (std::size_t part = 0; part < 8; ++part) {
      if (parts[part].empty()) continue;
      Vector at = corner;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if ((part >> axis & 1U) != 0) at[axis] += width / 2;
      }
      cell.children[cell.child_count++] = build(parts[part], at, width / 2, depth + 1);
    }
  }
  cells_.push_back(memory_.create<Cell>(cell));
  return cells_.back();
}

}  // namespace barnes_hut

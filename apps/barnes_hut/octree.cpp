#include "barnes_hut/octree.hpp"

#include <algorithm>
#include <limits>

namespace barnes_hut {
namespace {

constexpr int kDepthMax = 40;  // bodies closer than that share a cell as one mass

Mass sum_of(const std::vector<Mass>& bodies) {
  Mass all;
  for (const Mass& body : bodies) {
    all.mass += body.mass;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all.position[axis] += body.mass * body.position[axis];
    }
  }
  for (double& x : all.position) x /= all.mass;
  return all;
}

}  // namespace

std::vector<Mass> masses_of(std::span<const Body> bodies) {
  std::vector<Mass> masses;
  for (const Body& body : bodies) masses.push_back({body.position, body.mass});
  return masses;
}

Cube cube_around(const std::vector<Mass>& bodies) {
  Vector low;
  low.fill(std::numeric_limits<double>::max());
  Vector high;
  high.fill(std::numeric_limits<double>::lowest());
  for (const Mass& body : bodies) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], body.position[axis]);
      high[axis] = std::max(high[axis], body.position[axis]);
    }
  }
  double width = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) width = std::max(width, high[axis] - low[axis]);
  return {low, width * (1 + 1e-9) + 1e-300};
}

CellData make_cell(const std::vector<Mass>& bodies, const Cube& cube, int depth, Parts& parts) {
  CellData cell;
  cell.all = sum_of(bodies);
  cell.width = cube.width;
  if (bodies.size() <= CellData::kBodiesMax) {
    cell.body_count = static_cast<std::uint32_t>(bodies.size());
    std::copy(bodies.begin(), bodies.end(), cell.bodies.begin());
    return cell;
  }
  if (depth == kDepthMax) {
    cell.body_count = 1;
    cell.bodies[0] = cell.all;
    return cell;
  }
  for (const Mass& body : bodies) {
    std::size_t part = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (body.position[axis] >= cube.corner[axis] + cube.width / 2) part |= std::size_t{1} << axis;
    }
    parts[part].push_back(body);
  }
  return cell;
}

Cube octant(const Cube& cube, std::size_t part) {
  Cube child{cube.corner, cube.width / 2};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if ((part >> axis & 1U) != 0) child.corner[axis] += cube.width / 2;
  }
  return child;
}

}  // namespace barnes_hut

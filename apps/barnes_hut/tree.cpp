#include "barnes_hut/tree.hpp"

namespace barnes_hut {

Tree::Tree(shoal::GlobalMemory& memory, std::span<const Body> bodies) : memory_(memory) {
  if (bodies.empty()) return;
  const std::vector<Mass> masses = masses_of(bodies);
  root_ = build_tree<Cell>(masses, cube_around(masses), [this](const Cell& cell) {
    cells_.push_back(memory_.create<Cell>(cell));
    return cells_.back();
  });
}

Tree::~Tree() {
  for (const shoal::GlobalPtr<Cell> cell : cells_) memory_.destroy(cell);
}

}  // namespace barnes_hut

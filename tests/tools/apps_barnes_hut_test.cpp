// Barnes-Hut: groups of bodies give what each body alone gives; simulated time is that of the work.

#include "barnes_hut/octree.hpp"
#include "barnes_hut/simulation.hpp"
#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

namespace apps_barnes_hut_test {

using barnes_hut::Attraction;
using barnes_hut::Body;
using barnes_hut::Vector;

struct Cell : barnes_hut::CellData {
  std::array<const Cell*, 8> children{};
};

TEST(Attraction, AGroup_GetsToTheLastBitWhatEachBodyGets_AndReadsEachCellOnce) {
  const std::vector<Body> bodies = barnes_hut::plummer(700, 3);
  const auto masses = barnes_hut::masses_of(bodies);
  std::deque<Cell> cells;
  const Cell* const root = barnes_hut::build_tree<Cell>(
      masses, barnes_hut::cube_around(masses),
      [&cells](const Cell& cell) -> const Cell* { return &cells.emplace_back(cell); });
  std::map<const Cell*, int> reads;
  const auto read = [&reads](const Cell* cell) {
    ++reads[cell];
    return cell;
  };
  std::vector<Vector> alone(bodies.size());
  std::uint64_t masses_alone = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const auto body = std::span(bodies).subspan(i, 1);
    const auto acceleration = std::span(alone).subspan(i, 1);
    masses_alone += Attraction(body, acceleration, 0.5, read).add_tree(root);
  }
  for (const std::size_t group : {std::size_t{2}, std::size_t{33}, bodies.size()}) {
    std::vector<Vector> together(bodies.size());
    std::uint64_t masses_together = 0;
    for (std::size_t begin = 0; begin < bodies.size(); begin += group) {
      const std::size_t count = std::min(group, bodies.size() - begin);
      const auto some = std::span<const Body>(bodies).subspan(begin, count);
      const auto accelerations = std::span(together).subspan(begin, count);
      reads.clear();
      masses_together += Attraction(some, accelerations, 0.5, read).add_tree(root);
      for (const auto& [cell, times] : reads) EXPECT_EQ(times, 1);
    }
    EXPECT_EQ(together, alone) << "groups of " << group;
    EXPECT_EQ(masses_together, masses_alone) << "groups of " << group;
  }
}

barnes_hut::Result simulated(int ranks, double flops_rate) {
  shoal::runtime::Config config = shoal::testing::sim_config(ranks, 1, 1);
  config.check_graphs = false;  // else each use of a copy is a message
  config.sim_flops = flops_rate;
  shoal::runtime::SimulatedWorld simulation(config);
  barnes_hut::Result result;
  simulation.run([&](shoal::World& world) {
    const auto own = barnes_hut::simulate(world, {.bodies = 1000, .steps = 1});
    if (world.rank() == 0) result = own;
    return 0;
  });
  return result;
}

TEST(BarnesHut, Simulated_TakesTheTimeOfItsWork) {
  const auto alone = simulated(1, 1e8);
  const double work = 38 * static_cast<double>(alone.interactions) / 1e8;
  EXPECT_GT(alone.seconds, work);
  EXPECT_LT(alone.seconds, 1.02 * work);
  const auto four = simulated(4, 1e8);
  EXPECT_GT(four.interactions, alone.interactions);  // one tree for each rank
  EXPECT_LT(four.seconds, alone.seconds / 2.5);
  EXPECT_LT(four.error, barnes_hut::error_bound(0.5));
}

}  // namespace apps_barnes_hut_test

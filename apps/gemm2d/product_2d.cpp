#include "gemm2d/product_2d.hpp"

#include <algorithm>
#include <vector>

namespace gemm2d {
namespace {

std::vector<int> every(int step, int first, int end) {
  std::vector<int> values;
  for (int value = first; value < end; value += step) values.push_back(value);
  return values;
}

apps::LocalProduct::Shape own_part(int tiles, const apps::ProcessGrid& grid, shoal::Rank me) {
  return {.rows = every(grid.rows(), grid.row_of(me), tiles),
          .inner = every(1, 0, tiles),
          .columns = every(grid.columns(), grid.column_of(me), tiles)};
}

}  // namespace

Product2d::Product2d(shoal::World& world, const apps::BlockPartition& partition,
                     apps::ProcessGrid grid, apps::AmKind am, apps::ProductMode mode,
                     apps::RunMeter& meter)
    : world_(world),
      partition_(partition),
      grid_(grid),
      a_(partition.count(), partition.count()),
      b_(partition.count(), partition.count()),
      c_(partition.count(), partition.count()),
      product_(world, mode, partition, own_part(partition.count(), grid, world.rank()),
               {.a = a_, .b = b_, .c = c_}, meter, [](int, int) {}),
      channel_a_(world, am, partition, a_,
                 {.uses = [this](int, int) { return product_.a_uses(); },
                  .arrived = [this](int i, int k) { product_.a_arrived(i, k); }},
                 "tile of A"),
      channel_b_(world, am, partition, b_,
                 {.uses = [this](int, int) { return product_.b_uses(); },
                  .arrived = [this](int k, int j) { product_.b_arrived(k, j); }},
                 "tile of B"),
      send_a_(world, "send A"),
      send_b_(world, "send B") {
  define_sends();
}

void Product2d::fill(const apps::RandomFactors& factors) {
  a_.clear();
  b_.clear();
  c_.clear();
  for (const int i : own().rows) {
    for (const int j : own().columns) {
      a_.put(i, j, factors.a(i, j));
      b_.put(i, j, factors.b(i, j));
    }
  }
}

void Product2d::run(apps::ProgressBar& bar) {
  product_.start(bar);
  // All ranks have their tiles of C before the first tile of A or B arrives.
  world_.barrier();
  for (const int i : own().rows) {
    for (const int j : own().columns) {
      send_a_.fulfill({i, j});
      send_b_.fulfill({i, j});
    }
  }
  world_.wait();
  bar.finish();
}

void Product2d::define_sends() {
  using Key = std::array<int, 2>;
  const int workers = world_.worker_count();
  // Before all products (whose priority is -k), and in the order in which they need the tiles.
  const int highest = partition_.count();
  send_a_.set_indegree([](const Key&) { return 1; })
      .set_task([this](const Key& key) { send_a(key[0], key[1]); })
      .set_mapping([workers](const Key& key) { return key[0] % workers; })
      .set_priority([highest](const Key& key) { return highest - key[1]; });
  send_b_.set_indegree([](const Key&) { return 1; })
      .set_task([this](const Key& key) { send_b(key[0], key[1]); })
      .set_mapping([workers](const Key& key) { return key[1] % workers; })
      .set_priority([highest](const Key& key) { return highest - key[0]; });
}

// Ranks beyond the last tile have no part of C and need nothing.
void Product2d::send_a(int i, int k) {
  for (int column = 0; column < std::min(grid_.columns(), partition_.count()); ++column) {
    const shoal::Rank to = grid_.at(grid_.row_of(world_.rank()), column);
    if (to != world_.rank()) channel_a_.send(to, i, k);
  }
  product_.a_arrived(i, k);
}

void Product2d::send_b(int k, int j) {
  for (int row = 0; row < std::min(grid_.rows(), partition_.count()); ++row) {
    const shoal::Rank to = grid_.at(row, grid_.column_of(world_.rank()));
    if (to != world_.rank()) channel_b_.send(to, k, j);
  }
  product_.b_arrived(k, j);
}

}  // namespace gemm2d

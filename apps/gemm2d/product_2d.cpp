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

Product2d::Product2d(const apps::ProductContext& context, apps::ProcessGrid grid)
    : world_(context.world),
      partition_(context.partition),
      grid_(grid),
      a_(partition_.count(), partition_.count()),
      b_(partition_.count(), partition_.count()),
      c_(partition_.count(), partition_.count()),
      product_(context, own_part(partition_.count(), grid, world_.rank()),
               {.a = a_, .b = b_, .c = c_}, [](int, int) {}),
      inputs_a_(world_, partition_, a_,
                {.name = "tile of A",
                 .uses = [this](int, int) { return product_.a_uses(); },
                 .arrived = [this](int i, int k) { product_.a_arrived(i, k); }}),
      inputs_b_(world_, partition_, b_,
                {.name = "tile of B",
                 .uses = [this](int, int) { return product_.b_uses(); },
                 .arrived = [this](int k, int j) { product_.b_arrived(k, j); }}),
      send_a_(world_, "send A"),
      send_b_(world_, "send B") {
  define_sends();
}

void Product2d::fill(const apps::RandomFactors& factors) {
  a_.clear();
  b_.clear();
  c_.clear();
  product_.clear_c();
  for (const int i : own().rows) {
    for (const int j : own().columns) {
      a_.put(i, j, factors.a(i, j));
      b_.put(i, j, factors.b(i, j));
    }
  }
}

void Product2d::run() {
  for (const int i : own().rows) {
    for (const int j : own().columns) {
      send_a_.fulfill({i, j});
      send_b_.fulfill({i, j});
    }
  }
  world_.wait();
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
  std::vector<shoal::Rank> row;
  for (int column = 0; column < std::min(grid_.columns(), partition_.count()); ++column) {
    const shoal::Rank to = grid_.at(grid_.row_of(world_.rank()), column);
    if (to != world_.rank()) row.push_back(to);
  }
  inputs_a_.send(row, i, k);
  product_.a_arrived(i, k);
}

void Product2d::send_b(int k, int j) {
  std::vector<shoal::Rank> column;
  for (int row = 0; row < std::min(grid_.rows(), partition_.count()); ++row) {
    const shoal::Rank to = grid_.at(row, grid_.column_of(world_.rank()));
    if (to != world_.rank()) column.push_back(to);
  }
  inputs_b_.send(column, k, j);
  product_.b_arrived(k, j);
}

}  // namespace gemm2d

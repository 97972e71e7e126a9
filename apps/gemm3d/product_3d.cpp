#include "gemm3d/product_3d.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "common/blas.hpp"
#include "common/input_error.hpp"

namespace gemm3d {
namespace {

/// The first tile of the block `b` of `edge` blocks of nearly equal numbers of tiles.
int first_tile(int tiles, int edge, int b) {
  return static_cast<int>(std::int64_t{tiles} * b / edge);
}

std::vector<int> tiles_of(int tiles, int edge, int b) {
  std::vector<int> result;
  for (int t = first_tile(tiles, edge, b); t < first_tile(tiles, edge, b + 1); ++t) {
    result.push_back(t);
  }
  return result;
}

apps::LocalProduct::Shape own_part(int tiles, const Cube& cube, shoal::Rank me) {
  if (tiles < cube.edge()) {
    throw apps::InputError(fmt::format(
        "{} tiles in a row are too few for {} ranks along an edge of the cube: choose a smaller "
        "--tile",
        tiles, cube.edge()));
  }
  return {.rows = tiles_of(tiles, cube.edge(), cube.row_of(me)),
          .inner = tiles_of(tiles, cube.edge(), cube.layer_of(me)),
          .columns = tiles_of(tiles, cube.edge(), cube.column_of(me))};
}

std::vector<apps::TileTable> make_tables(int count, int tiles) {
  std::vector<apps::TileTable> tables;
  for (int table = 0; table < count; ++table) tables.emplace_back(tiles, tiles);
  return tables;
}

}  // namespace

Product3d::Product3d(const apps::ProductContext& context, const Cube& cube, apps::AmKind am)
    : world_(context.world),
      costs_(context.meter.costs()),
      partition_(context.partition),
      cube_(cube),
      row_(cube.row_of(world_.rank())),
      column_(cube.column_of(world_.rank())),
      layer_(cube.layer_of(world_.rank())),
      a_(partition_.count(), partition_.count()),
      b_(partition_.count(), partition_.count()),
      parts_(make_tables(cube.edge(), partition_.count())),
      product_(context, own_part(partition_.count(), cube, world_.rank()),
               {.a = a_, .b = b_, .c = parts_[static_cast<std::size_t>(layer_)]},
               [this](int i, int j) { lower_c(i, j); }),
      send_a_(world_, "send A"),
      send_b_(world_, "send B"),
      add_(world_, "add") {
  make_channels(am);
  define_sends();
  define_add();
}

void Product3d::make_channels(apps::AmKind am) {
  using Receiver = apps::TileChannel::Receiver;
  // Copies stay: they may be on their way to other ranks while they are used here.
  const auto kept = [](int, int) { return apps::TileTable::kUnlimited; };
  channel_a_ = std::make_unique<apps::TileChannel>(
      world_, am, partition_, a_,
      Receiver{
          .name = "tile of A", .uses = kept, .arrived = [this](int i, int k) { spread_a(i, k); }});
  channel_b_ = std::make_unique<apps::TileChannel>(
      world_, am, partition_, b_,
      Receiver{
          .name = "tile of B", .uses = kept, .arrived = [this](int k, int j) { spread_b(k, j); }});
  for (int layer = 1; layer < cube_.edge(); ++layer) {
    channels_c_.push_back(std::make_unique<apps::TileChannel>(
        world_, am, partition_, parts_[static_cast<std::size_t>(layer)],
        Receiver{.name = "tile of C",
                 .uses = [](int, int) { return 1; },
                 .arrived =
                     [this, layer](int i, int j) {
                       add_.fulfill({i, j, layer});
                     }}));
  }
}

apps::TileRange Product3d::own() const {
  if (layer_ != 0) return {};
  return {product_.shape().rows, product_.shape().columns};
}

void Product3d::fill(const apps::RandomFactors& factors) {
  a_.clear();
  b_.clear();
  for (apps::TileTable& part : parts_) part.clear();
  product_.clear_c();
  for (const int i : own().rows) {
    for (const int j : own().columns) {
      a_.put(i, j, factors.a(i, j));
      b_.put(i, j, factors.b(i, j));
    }
  }
}

void Product3d::run() {
  for (const int i : own().rows) {
    for (const int j : own().columns) {
      send_a_.fulfill({i, j});
      send_b_.fulfill({i, j});
    }
  }
  world_.wait();
}

void Product3d::define_sends() {
  using Key = std::array<int, 2>;
  const int highest = partition_.count();
  send_a_.set_indegree([](const Key&) { return 1; })
      .set_task([this](const Key& key) { raise_a(key[0], key[1]); })
      .set_mapping([this](const Key& key) { return worker_of(key[0], key[1]); })
      .set_priority([highest](const Key& key) { return highest - key[1]; });
  send_b_.set_indegree([](const Key&) { return 1; })
      .set_task([this](const Key& key) { raise_b(key[0], key[1]); })
      .set_mapping([this](const Key& key) { return worker_of(key[0], key[1]); })
      .set_priority([highest](const Key& key) { return highest - key[0]; });
}

void Product3d::define_add() {
  using Key = std::array<int, 3>;
  add_.set_indegree([](const Key&) { return 2; })  // the contribution, and the sum of those before
      .set_task([this](const Key& key) { add(key[0], key[1], key[2]); })
      .set_mapping([this](const Key& key) { return worker_of(key[0], key[1]); })
      .set_priority([highest = partition_.count()](const Key&) { return highest; })
      .set_name([](const Key& key) {
        return fmt::format("add({}, {}, layer {})", key[0], key[1], key[2]);
      });
}

void Product3d::raise_a(int i, int k) {
  const shoal::Rank to = cube_.at(row_, column_, block_of(k));
  if (to == world_.rank()) return spread_a(i, k);
  channel_a_->send(to, i, k);
}

void Product3d::raise_b(int k, int j) {
  const shoal::Rank to = cube_.at(row_, column_, block_of(k));
  if (to == world_.rank()) return spread_b(k, j);
  channel_b_->send(to, k, j);
}

void Product3d::spread_a(int i, int k) {
  for (int column = 0; column_ == layer_ && column < cube_.edge(); ++column) {
    if (column != column_) channel_a_->send(cube_.at(row_, column, layer_), i, k);
  }
  product_.a_arrived(i, k);
}

void Product3d::spread_b(int k, int j) {
  for (int row = 0; row_ == layer_ && row < cube_.edge(); ++row) {
    if (row != row_) channel_b_->send(cube_.at(row, column_, layer_), k, j);
  }
  product_.b_arrived(k, j);
}

void Product3d::lower_c(int i, int j) {
  if (layer_ != 0) {
    channels_c_[static_cast<std::size_t>(layer_) - 1]->send(cube_.at(row_, column_, 0), i, j);
  } else if (cube_.edge() > 1) {
    add_.fulfill({i, j, 1});
  }
}

void Product3d::add(int i, int j, int layer) {
  apps::TileTable& part = parts_[static_cast<std::size_t>(layer)];
  // Not counted as one of the kernels.
  shoal::compute(costs_.cost(apps::Kernel::add, partition_.extent(i)),
                 [&] { apps::add(part.at(i, j), parts_[0].at(i, j)); });
  part.release(i, j);
  if (layer + 1 < cube_.edge()) add_.fulfill({i, j, layer + 1});
}

int Product3d::block_of(int tile) const {
  int b = 0;
  while (tile >= first_tile(partition_.count(), cube_.edge(), b + 1)) ++b;
  return b;
}

}  // namespace gemm3d

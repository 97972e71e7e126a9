#include "common/local_product.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/blas.hpp"
#include "common/panel.hpp"

namespace apps {
namespace {

/// index[value] = position of the value in `values`, for all values.
std::vector<int> positions(const std::vector<int>& values, int count) {
  std::vector<int> index(static_cast<std::size_t>(count), -1);
  int position = 0;
  for (const int value : values) index[static_cast<std::size_t>(value)] = position++;
  return index;
}

int size(const std::vector<int>& values) { return static_cast<int>(values.size()); }

constexpr int kStepsOfBlock = 32;  // of the inner dimension; frees the tiles of a panel early

}  // namespace

LocalProduct::LocalProduct(const ProductContext& context, Shape shape, Tables tables,
                           std::function<void(int i, int j)> done)
    : context_(context),
      shape_(std::move(shape)),
      tables_(tables),
      done_(std::move(done)),
      order_(size(shape_.rows), size(shape_.columns), kStepsOfBlock, context.world.worker_count()),
      index_of_row_(positions(shape_.rows, context.partition.count())),
      index_of_column_(positions(shape_.columns, context.partition.count())),
      gemm_(context.world, "gemm"),
      whole_(context.world, "whole product") {
  define_gemm();
  define_whole();
}

std::uint64_t LocalProduct::kernel_count() const {
  if (context_.mode == ProductMode::blas) return 1;
  return shape_.rows.size() * shape_.inner.size() * shape_.columns.size();
}

void LocalProduct::clear_c() {
  const BlockPartition& partition = context_.partition;
  for (const int i : shape_.rows) {
    for (const int j : shape_.columns) {
      const int rows = partition.extent(i);
      const int columns = partition.extent(j);
      tables_.c.put(i, j,
                    context_.world.is_dry() ? Tile(rows, columns) : Tile::zeros(rows, columns));
    }
  }
}

void LocalProduct::a_arrived(int i, int k) {
  if (context_.mode == ProductMode::blas) return whole_.fulfill(0);
  for (const int j : shape_.columns) gemm_.fulfill({i, k, j});
}

void LocalProduct::b_arrived(int k, int j) {
  if (context_.mode == ProductMode::blas) return whole_.fulfill(0);
  for (const int i : shape_.rows) gemm_.fulfill({i, k, j});
}

int LocalProduct::a_uses() const {
  return context_.mode == ProductMode::blas ? TileTable::kUnlimited : size(shape_.columns);
}

int LocalProduct::b_uses() const {
  return context_.mode == ProductMode::blas ? TileTable::kUnlimited : size(shape_.rows);
}

void LocalProduct::define_gemm() {
  using Key = std::array<int, 3>;
  const int first = shape_.inner.empty() ? 0 : shape_.inner.front();
  gemm_.set_indegree([first](const Key& key) { return key[1] == first ? 2 : 3; })
      .set_task([this](const Key& key) { run_gemm(key[0], key[1], key[2]); })
      .set_mapping([this](const Key& key) { return worker_of(key[0], key[2]); })
      .set_priority([this](const Key& key) { return priority(key[0], key[1], key[2]); })
      .set_name(
          [](const Key& key) { return fmt::format("gemm({}, {}, {})", key[0], key[1], key[2]); });
}

void LocalProduct::define_whole() {
  const int tiles = size(shape_.inner) * (size(shape_.rows) + size(shape_.columns));
  whole_.set_indegree([tiles](int) { return tiles; })
      .set_task([this](int) { run_whole(); })
      .set_mapping([](int) { return 0; });
}

void LocalProduct::run_gemm(int i, int k, int j) {
  const double size = context_.partition.extent(i);
  context_.meter.timed(context_.meter.costs().cost(Kernel::gemm, size), [&] {
    add_product(tables_.a.at(i, k), tables_.b.at(k, j), tables_.c.at(i, j));
  });
  tables_.a.release(i, k);
  tables_.b.release(k, j);
  if (k == shape_.inner.back()) {
    done_(i, j);
  } else {
    gemm_.fulfill({i, k + 1, j});
  }
}

// In a simulated run the threads of BLAS share the work evenly.
shoal::Cost LocalProduct::whole_cost() const {
  double flops = 2;
  for (const std::vector<int>* tiles : {&shape_.rows, &shape_.inner, &shape_.columns}) {
    double extent = 0;
    for (const int tile : *tiles) extent += context_.partition.extent(tile);
    flops *= extent;
  }
  const shoal::Cost cost =
      context_.meter.costs().cost(Kernel::gemm, context_.partition.size(), flops);
  const int workers = context_.world.worker_count();
  return {cost.seconds / workers, cost.flops / workers};
}

void LocalProduct::run_whole() {
  context_.meter.timed(whole_cost(), [this] { multiply_panels(); });
  for (const int i : shape_.rows) {
    for (const int j : shape_.columns) done_(i, j);
  }
}

void LocalProduct::multiply_panels() {
  const Tile a = assemble(tables_.a, context_.partition, {shape_.rows, shape_.inner});
  const Tile b = assemble(tables_.b, context_.partition, {shape_.inner, shape_.columns});
  Tile c = Tile::zeros(a.rows(), b.columns());
  add_product(a, b, c);
  scatter(c, tables_.c, context_.partition, {shape_.rows, shape_.columns});
}

// Negative: after whatever else the rank has to do.
int LocalProduct::priority(int i, int k, int j) const {
  const int step = k - shape_.inner.front();
  const int row = index_of_row_[static_cast<std::size_t>(i)];
  const int column = index_of_column_[static_cast<std::size_t>(j)];
  const int block = step / kStepsOfBlock;
  return -block * order_.length() - order_.place(row, column, step % kStepsOfBlock) - 1;
}

int LocalProduct::worker_of(int i, int j) const {
  const int row = index_of_row_[static_cast<std::size_t>(i)];
  const int column = index_of_column_[static_cast<std::size_t>(j)];
  return order_.square(row, column) % context_.world.worker_count();
}

}  // namespace apps

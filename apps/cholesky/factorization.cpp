#include "cholesky/factorization.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "common/blas.hpp"

namespace cholesky {

using apps::Kernel;

Factorization::Factorization(shoal::World& world, const apps::TriangleLayout& layout,
                             apps::TileTable& tiles, apps::RunMeter& meter)
    : world_(world),
      layout_(layout),
      tiles_(tiles),
      meter_(meter),
      order_(layout.n(), layout.grid(), world.worker_count()),
      inputs_(world, layout.partition(), tiles,
              {.name = "tile of L",
               .uses = [this](int i, int k) { return use_count(i, k); },
               .arrived = [this](int i, int k) { fulfill_uses(i, k); }}),
      potrf_(world, "potrf"),
      trsm_(world, "trsm"),
      gemm_(world, "gemm") {
  define_potrf();
  define_trsm();
  define_gemm();
}

std::uint64_t Factorization::task_count() const {
  std::uint64_t count = 0;
  layout_.for_each_local_tile(
      [&](int /*i*/, int j) { count += static_cast<std::uint64_t>(j) + 1; });
  return count;
}

void Factorization::run() {
  if (layout_.mine(0, 0)) potrf_.fulfill(0);
  world_.wait();
}

void Factorization::define_potrf() {
  potrf_
      .set_indegree([](int) { return 1; })  // the last update of the tile, or run() for the first
      .set_task([this](int k) { run_potrf(k); })
      .set_mapping([this](int k) { return order_.worker_of(k, k); })
      .set_priority([this](int k) { return priority(k, k, k); })
      .set_name([](int k) { return fmt::format("potrf({})", k); });
}

void Factorization::define_trsm() {
  using Key = std::array<int, 2>;
  trsm_
      .set_indegree([](const Key& key) { return key[1] == 0 ? 1 : 2; })  // L_kk, last update
      .set_task([this](const Key& key) { run_trsm(key[0], key[1]); })
      .set_mapping([this](const Key& key) { return order_.worker_of(key[0], key[1]); })
      .set_priority([this](const Key& key) { return priority(key[1], key[0], key[1]); })
      .set_name([](const Key& key) { return fmt::format("trsm({}, {})", key[0], key[1]); });
}

void Factorization::define_gemm() {
  using Key = std::array<int, 3>;
  gemm_
      .set_indegree([](const Key& key) {
        const auto [k, i, j] = key;
        return (i == j ? 1 : 2) + (k == 0 ? 0 : 1);  // L_ik and L_jk, the update before
      })
      .set_task([this](const Key& key) { run_gemm(key[0], key[1], key[2]); })
      .set_mapping([this](const Key& key) { return order_.worker_of(key[1], key[2]); })
      .set_priority([this](const Key& key) { return priority(key[0], key[1], key[2]); })
      .set_name(
          [](const Key& key) { return fmt::format("gemm({}, {}, {})", key[0], key[1], key[2]); });
}

void Factorization::run_potrf(int k) {
  int minor = 0;
  meter_.timed(cost(Kernel::potrf, k), [&] { minor = apps::potrf(tiles_.at(k, k)); });
  if (minor != 0) {
    throw NotPositiveDefinite(fmt::format(
        "the matrix is not positive definite: tile ({0}, {0}), pivot {1} (row {2} of the matrix)",
        k, minor, layout_.partition().offset(k) + minor));
  }
  publish(k, k);
}

void Factorization::run_trsm(int i, int k) {
  meter_.timed(cost(Kernel::trsm, i), [&] { apps::trsm(tiles_.at(k, k), tiles_.at(i, k)); });
  tiles_.release(k, k);
  publish(i, k);
}

void Factorization::run_gemm(int k, int i, int j) {
  meter_.timed(cost(i == j ? Kernel::syrk : Kernel::gemm, i), [&] {
    if (i == j) {
      apps::syrk(tiles_.at(i, k), tiles_.at(i, i));
    } else {
      apps::subtract_product_transposed(tiles_.at(i, k), tiles_.at(j, k), tiles_.at(i, j));
    }
  });
  tiles_.release(i, k);
  if (i != j) tiles_.release(j, k);
  if (k + 1 < j) {
    gemm_.fulfill({k + 1, i, j});
  } else if (i == j) {
    potrf_.fulfill(i);
  } else {
    trsm_.fulfill({i, j});
  }
}

// The last tile of a row may be smaller than the others: its row says how large.
shoal::Cost Factorization::cost(apps::Kernel kernel, int row) const {
  const double size = layout_.partition().extent(row);
  return meter_.costs().cost(kernel, size);
}

void Factorization::publish(int i, int k) {
  inputs_.send(layout_.readers(i, k), i, k);
  fulfill_uses(i, k);
}

void Factorization::fulfill_uses(int i, int k) {
  layout_.for_each_local_use(i, k, [&](int row, int column) {
    if (i == k) {
      trsm_.fulfill({row, k});
    } else {
      gemm_.fulfill({k, row, column});
    }
  });
}

int Factorization::use_count(int i, int k) const {
  int count = 0;
  layout_.for_each_local_use(i, k, [&](int /*row*/, int /*column*/) { ++count; });
  return count;
}

int Factorization::priority(int k, int i, int j) const {
  return has_priorities_ ? order_.priority(k, i, j) : 0;
}

}  // namespace cholesky

#pragma once
// Shared by the sides of StarPU: tiles as its data, kernels, and the order in which sequential task
// flow inserts the tasks.

#include <starpu.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "common/block_partition.hpp"
#include "common/critical_path.hpp"
#include "common/tile.hpp"
#include "linalg/problem.hpp"

namespace linalg {

/// The tiles of a matrix, of which this process holds its own. StarPU runs while it exists.
class TileData {
 public:
  struct Place {
    Grid grid;
    int rank = 0;
  };
  /// Tiles that there are.
  enum class Shape { all, lower, diagonal };
  /// The elements are those of `matrix`.
  TileData(const Options& options, Matrix matrix, const Place& place, Shape shape);
  /// Their values do not matter yet. With `tile_rows` each tile has so many rows.
  TileData(const Options& options, const Place& place, Shape shape, int tile_rows = 0);
  ~TileData();
  TileData(const TileData&) = delete;
  TileData& operator=(const TileData&) = delete;

  /// Tiles in a row.
  [[nodiscard]] int n() const { return partition_.count(); }
  [[nodiscard]] starpu_data_handle_t at(int i, int j) const { return handles_[index(i, j)]; }
  [[nodiscard]] int owner(int i, int j) const { return place_.grid.owner(i, j); }
  /// Calls visit(handle, owner) for all tiles in the same order on every rank.
  template <class Visit>
  void for_each(Visit visit) const {
    for (int j = 0; j < n(); ++j) {
      for (int i = first(j); i < end(j); ++i) visit(at(i, j), owner(i, j));
    }
  }

  void set_zero();
  /// The own tiles. No task may use them any more.
  [[nodiscard]] Blocks own_blocks();

 private:
  [[nodiscard]] std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(n()) +
           static_cast<std::size_t>(i);
  }
  // Rows of tiles in column `j`.
  [[nodiscard]] int first(int j) const { return shape_ == Shape::all ? 0 : j; }
  [[nodiscard]] int end(int j) const { return shape_ == Shape::diagonal ? j + 1 : n(); }
  [[nodiscard]] Block block(int i, int j);
  void add(int i, int j);

  const apps::BlockPartition partition_;
  const Place place_;
  const Shape shape_;
  const int tile_rows_;  // 0: as the matrix
  std::vector<apps::Tile> tiles_;
  std::vector<starpu_data_handle_t> handles_;
};

/// The kernels as StarPU's codelets: the same calls of BLAS as in the applications.
struct Codelets {
  Codelets();
  starpu_codelet potrf{};
  starpu_codelet trsm{};
  starpu_codelet syrk{};
  starpu_codelet update{};
  starpu_codelet product{};
  starpu_codelet geqrt{};
  starpu_codelet gemqrt{};
  starpu_codelet tsqrt{};
  starpu_codelet tsmqr{};
};

/// The matrices of a kernel.
struct Problem {
  Problem(const Options& options, const TileData::Place& place);

  TileData answer;
  // Factors of the product.
  std::optional<TileData> a;
  std::optional<TileData> b;
  // Triangular factors of the reflectors, and the reflectors of tiles (k, k), of QR.
  std::optional<TileData> factors;
  std::optional<TileData> diagonal;
};

/// Calls insert(codelet, priority, arguments...), with modes and handles as StarPU takes them, for
/// every task.
template <class Insert>
void insert_cholesky(Codelets& codelets, const TileData& l, Insert insert) {
  const apps::CriticalPath path(l.n());
  const auto priority = [](double length) { return static_cast<int>(length); };
  for (int k = 0; k < l.n(); ++k) {
    insert(codelets.potrf, priority(path.potrf(k)), STARPU_RW, l.at(k, k));
    for (int i = k + 1; i < l.n(); ++i) {
      insert(codelets.trsm, priority(path.trsm(i, k)), STARPU_R, l.at(k, k), STARPU_RW, l.at(i, k));
    }
    for (int j = k + 1; j < l.n(); ++j) {
      insert(codelets.syrk, priority(path.gemm(k, j, j)), STARPU_R, l.at(j, k), STARPU_RW,
             l.at(j, j));
      for (int i = j + 1; i < l.n(); ++i) {
        insert(codelets.update, priority(path.gemm(k, i, j)), STARPU_R, l.at(i, k), STARPU_R,
               l.at(j, k), STARPU_RW, l.at(i, j));
      }
    }
  }
}

template <class Insert>
void insert_product(Codelets& codelets, const TileData& a, const TileData& b, const TileData& c,
                    Insert insert) {
  for (int k = 0; k < c.n(); ++k) {
    for (int j = 0; j < c.n(); ++j) {
      for (int i = 0; i < c.n(); ++i) {
        insert(codelets.product, c.n() - k, STARPU_R, a.at(i, k), STARPU_R, b.at(k, j), STARPU_RW,
               c.at(i, j));
      }
    }
  }
}

/// In the order of apps/common/flow_qr.cpp.
template <class Insert>
void insert_qr(Codelets& codelets, const TileData& a, const TileData& t, const TileData& v,
               Insert insert) {
  const int n = a.n();
  for (int k = 0; k < n; ++k) {
    insert(codelets.geqrt, n - k, STARPU_RW, a.at(k, k), STARPU_W, t.at(k, k), STARPU_W,
           v.at(k, k));
    for (int j = k + 1; j < n; ++j) {
      insert(codelets.gemqrt, n - k, STARPU_R, v.at(k, k), STARPU_R, t.at(k, k), STARPU_RW,
             a.at(k, j));
    }
    for (int i = k + 1; i < n; ++i) {
      insert(codelets.tsqrt, n - k, STARPU_RW, a.at(k, k), STARPU_RW, a.at(i, k), STARPU_W,
             t.at(i, k), STARPU_EXECUTE_ON_NODE, a.owner(i, k));
      for (int j = k + 1; j < n; ++j) {
        insert(codelets.tsmqr, 0, STARPU_R, a.at(i, k), STARPU_R, t.at(i, k), STARPU_RW, a.at(k, j),
               STARPU_RW, a.at(i, j), STARPU_EXECUTE_ON_NODE, a.owner(i, j));
      }
    }
  }
}

/// All tasks of a kernel.
template <class Insert>
void insert_tasks(Codelets& codelets, const Problem& problem, Insert insert) {
  if (problem.a) {
    insert_product(codelets, *problem.a, *problem.b, problem.answer, insert);
  } else if (problem.factors) {
    insert_qr(codelets, problem.answer, *problem.factors, *problem.diagonal, insert);
  } else {
    insert_cholesky(codelets, problem.answer, insert);
  }
}

}  // namespace linalg

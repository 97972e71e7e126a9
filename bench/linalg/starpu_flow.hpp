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
  /// `triangle`: the lower one only.
  TileData(const Options& options, Matrix matrix, const Place& place, bool triangle);
  ~TileData();
  TileData(const TileData&) = delete;
  TileData& operator=(const TileData&) = delete;

  /// Tiles in a row.
  [[nodiscard]] int n() const { return partition_.count(); }
  [[nodiscard]] starpu_data_handle_t at(int i, int j) const { return handles_[index(i, j)]; }
  /// Calls visit(handle, owner) for all tiles in the same order on every rank.
  template <class Visit>
  void for_each(Visit visit) const {
    for (int j = 0; j < n(); ++j) {
      for (int i = triangle_ ? j : 0; i < n(); ++i) visit(at(i, j), place_.grid.owner(i, j));
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
  [[nodiscard]] Block block(int i, int j);
  void add(int i, int j);

  const apps::BlockPartition partition_;
  const Place place_;
  const bool triangle_;
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
};

/// The matrices of a kernel.
struct Problem {
  Problem(const Options& options, const TileData::Place& place);

  TileData answer;
  // Factors of the product.
  std::optional<TileData> a;
  std::optional<TileData> b;
};

/// Calls insert(codelet, priority, mode, handle...), each mode before its handle, for every task.
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

/// All tasks of a kernel.
template <class Insert>
void insert_tasks(Codelets& codelets, const Problem& problem, Insert insert) {
  if (problem.a) {
    insert_product(codelets, *problem.a, *problem.b, problem.answer, insert);
  } else {
    insert_cholesky(codelets, problem.answer, insert);
  }
}

}  // namespace linalg

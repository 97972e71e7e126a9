// NAS benchmark CG with MPI: the same blocks, grid and steps as the application nas_cg.

#include <mpi.h>

#include <cmath>
#include <cstddef>
#include <numeric>

#include "common/stopwatch.hpp"
#include "nas_cg/grid.hpp"
#include "nas_cg/power_method.hpp"
#include "objects/mpi_apps.hpp"

namespace objects {

namespace {

using nas_cg::Block;
using nas_cg::Grid;
using nas_cg::Problem;
using nas_cg::Vector;

class Solver {
 public:
  Solver(const Problem& problem, const Grid& grid, int rank)
      : grid_(grid),
        row_(rank / grid.columns),
        column_(rank % grid.columns),
        rows_(grid.row_range(row_, problem.n)),
        columns_(grid.column_range(column_, problem.n)),
        block_(problem, rows_, columns_) {
    MPI_Comm_split(MPI_COMM_WORLD, row_, column_, &row_comm_);
    const int per_row = grid.per_row();
    const int part = row_ * per_row + column_ % per_row;
    to_ = column_ / per_row * grid.columns + part;
    sent_ = grid.column_range(part, problem.n);
  }
  ~Solver() { MPI_Comm_free(&row_comm_); }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  Vector multiply(const Vector& in) {
    Vector product(rows_.size());
    block_.multiply(in, product);
    MPI_Allreduce(MPI_IN_PLACE, product.data(), static_cast<int>(product.size()), MPI_DOUBLE,
                  MPI_SUM, row_comm_);
    Vector out(columns_.size());
    MPI_Sendrecv(product.data() + (sent_.first - rows_.first), static_cast<int>(sent_.size()),
                 MPI_DOUBLE, to_, 0, out.data(), static_cast<int>(out.size()), MPI_DOUBLE,
                 MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return out;
  }
  [[nodiscard]] double dot(const Vector& a, const Vector& b) const {
    double sum = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, row_comm_);
    return sum;
  }
  [[nodiscard]] std::size_t width() const { return columns_.size(); }

 private:
  const Grid grid_;
  const int row_;
  const int column_;
  const Block::Range rows_;
  const Block::Range columns_;
  Block block_;
  MPI_Comm row_comm_ = MPI_COMM_NULL;
  int to_ = 0;
  Block::Range sent_;
};

}  // namespace

bench::Sample conjugate_gradients(int rank, int size, const std::string& problem_class) {
  const Problem problem = nas_cg::problem_of(problem_class);
  Solver solver(problem, Grid(size), rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  const double zeta = nas_cg::zeta_of(solver, problem);
  return {watch.seconds(), std::abs(zeta - problem.zeta) <= 1e-10 * problem.zeta};
}

}  // namespace objects

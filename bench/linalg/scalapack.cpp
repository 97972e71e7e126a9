// ScaLAPACK: bulk-synchronous, over BLACS on MPI.

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>
#include "cli/command_line.hpp"

#include "common/stopwatch.hpp"
#include "linalg/mpi_parts.hpp"
#include "linalg/problem.hpp"

// It comes without a header for C. Fortran's names, and those that BLACS has for C.
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
int numroc_(const int* size, const int* block, const int* coordinate, const int* source,
            const int* processes);
void descinit_(int* descriptor, const int* rows, const int* columns, const int* block_rows,
               const int* block_columns, const int* source_row, const int* source_column,
               const int* context, const int* stride, int* info);
void pdpotrf_(const char* triangle, const int* size, double* a, const int* row, const int* column,
              const int* descriptor, int* info);
void pdgeqrf_(const int* rows, const int* columns, double* a, const int* row, const int* column,
              const int* descriptor, double* scales, double* work, const int* work_count,
              int* info);
void pdgemm_(const char* transpose_a, const char* transpose_b, const int* rows, const int* columns,
             const int* inner, const double* alpha, const double* a, const int* row_a,
             const int* column_a, const int* descriptor_a, const double* b, const int* row_b,
             const int* column_b, const int* descriptor_b, const double* beta, double* c,
             const int* row_c, const int* column_c, const int* descriptor_c);
}

namespace {

using linalg::Block;
using linalg::Matrix;
using linalg::Options;

/// A grid of ranks, row by row.
class Context {
 public:
  Context(const linalg::Grid& grid, int rank)
      : grid_(grid), row_(rank / grid.columns), column_(rank % grid.columns) {
    Cblacs_get(0, 0, &number_);
    Cblacs_gridinit(&number_, "Row", grid.rows, grid.columns);
  }
  ~Context() { Cblacs_gridexit(number_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const linalg::Grid& grid() const { return grid_; }
  [[nodiscard]] int row() const { return row_; }
  [[nodiscard]] int column() const { return column_; }

 private:
  const linalg::Grid grid_;
  const int row_;
  const int column_;
  int number_ = 0;
};

/// A block-cyclic matrix: the part of this rank, and ScaLAPACK's description of the whole.
class Distributed {
 public:
  Distributed(const Options& options, const Context& context)
      : context_(context),
        size_(options.size),
        tile_(options.tile),
        rows_(extent(context.row(), context.grid().rows)),
        columns_(extent(context.column(), context.grid().columns)),
        values_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_)) {
    const int zero = 0;
    const int stride = std::max(1, rows_);
    const int number = context.number();
    int info = 0;
    descinit_(descriptor_.data(), &size_, &size_, &tile_, &tile_, &zero, &zero, &number, &stride,
              &info);
    if (info != 0) throw std::invalid_argument("descinit() refuses this matrix");
  }

  [[nodiscard]] double* values() { return values_.data(); }
  [[nodiscard]] const int* descriptor() const { return descriptor_.data(); }
  /// Columns of this rank.
  [[nodiscard]] int columns() const { return columns_; }

  void visit(const std::function<void(const Block&)>& see) {
    for (int column = 0; column < columns_; column += tile_) {
      for (int row = 0; row < rows_; row += tile_) {
        see({global(row, context_.row(), context_.grid().rows),
             global(column, context_.column(), context_.grid().columns),
             std::min(tile_, rows_ - row), std::min(tile_, columns_ - column),
             &values_[static_cast<std::size_t>(column) * static_cast<std::size_t>(rows_) +
                      static_cast<std::size_t>(row)],
             rows_});
      }
    }
  }
  void fill(const Options& options, Matrix matrix) {
    visit([&](const Block& own) { linalg::fill(options, matrix, own); });
  }

 private:
  [[nodiscard]] int extent(int coordinate, int processes) const {
    const int zero = 0;
    return numroc_(&size_, &tile_, &coordinate, &zero, &processes);
  }
  [[nodiscard]] int global(int local, int coordinate, int processes) const {
    return (local / tile_ * processes + coordinate) * tile_;
  }

  const Context& context_;
  const int size_;
  const int tile_;
  const int rows_;
  const int columns_;
  std::vector<double> values_;
  std::array<int, 9> descriptor_{};
};

class Side {
 public:
  Side(const Options& options, const Context& context)
      : options_(options), a_(options, context), b_(options, context), c_(options, context) {
    a_.fill(options, Matrix::first);
    b_.fill(options, Matrix::second);
  }

  bench::Sample run_once() {
    if (is_cholesky(options_)) c_.fill(options_, Matrix::spd);
    if (is_qr(options_)) c_.fill(options_, Matrix::general);
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    compute();
    const double seconds = linalg::slowest(watch.seconds());
    const auto visit = [this](const auto& see) { c_.visit(see); };
    return {seconds, is_right(options_, visit, linalg::sum_over_ranks)};
  }

 private:
  void compute() {
    const int one = 1;
    const int size = options_.size;
    if (is_cholesky(options_)) {
      int info = 0;  // not positive definite: a wrong answer
      pdpotrf_("L", &size, c_.values(), &one, &one, c_.descriptor(), &info);
      return;
    }
    if (is_qr(options_)) return factor_qr();
    const double factor = 1;
    const double nothing = 0;
    pdgemm_("N", "N", &size, &size, &size, &factor, a_.values(), &one, &one, a_.descriptor(),
            b_.values(), &one, &one, b_.descriptor(), &nothing, c_.values(), &one, &one,
            c_.descriptor());
  }

  void factor_qr() {
    const int one = 1;
    const int size = options_.size;
    std::vector<double> scales(static_cast<std::size_t>(c_.columns()) + 1);
    std::vector<double> work(1);
    int work_count = -1;  // asks for it
    for (int call = 0; call < 2; ++call) {
      int info = 0;
      pdgeqrf_(&size, &size, c_.values(), &one, &one, c_.descriptor(), scales.data(), work.data(),
               &work_count, &info);
      if (info != 0) throw std::invalid_argument("pdgeqrf() refuses this matrix");
      work_count = static_cast<int>(work.front());
      work.resize(static_cast<std::size_t>(work_count));
    }
  }

  const Options& options_;
  Distributed a_;
  Distributed b_;
  Distributed c_;
};

int run(const Options& options, const bench::MpiWorld& world, bool tall) {
  bench::limit_time(options.run);
  linalg::use_one_blas_thread();
  if (options.rho != 1) throw std::invalid_argument("--random-blocks: its blocks are equal");
  linalg::Grid grid = linalg::Grid::near_square(world.size());
  if (tall) std::swap(grid.rows, grid.columns);
  std::vector<bench::Sample> samples;
  const Context context(grid, world.rank());
  Side side(options, context);
  for (int i = 0; i < options.run.repeat; ++i) samples.push_back(side.run_once());
  return linalg::finish_all(options, "scalapack", world, samples,
                            {{"grid_rows", grid.rows}, {"grid_columns", grid.columns}});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  Options options;
  bool tall = false;
  const auto add_options = [&](cli::App& app) {
    linalg::add_options(app, options);
    app.add_flag("--tall", tall, "No more columns of ranks than rows");
  };
  return bench::run_program({"linalg_scalapack", "ScaLAPACK, one thread for each rank.",
                             add_options, [&] { return run(options, world, tall); }},
                            bench::arguments_of(argc, argv), world.rank() == 0);
}

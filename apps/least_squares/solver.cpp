#include "least_squares/solver.hpp"

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "common/blas.hpp"
#include "common/flow_app.hpp"
#include "common/flow_kernels.hpp"
#include "common/flow_matrix.hpp"
#include "common/flow_qr.hpp"
#include "common/input_error.hpp"
#include "common/matrix_market.hpp"
#include "common/output_file.hpp"
#include "common/random_matrix.hpp"
#include "common/report.hpp"
#include "common/sum_of_squares.hpp"

namespace least_squares {
namespace {

using apps::BlockPartition;
using apps::ConstTileView;
using apps::Entry;
using apps::FlowMatrix;
using apps::GeneralMatrix;
using apps::TileView;
using shoal::Codelet;
using shoal::read;
using shoal::read_write;
using Vector = std::vector<double>;

/// Rank 0 reads the file, so that it must exist there only, and gives it to all.
GeneralMatrix load(shoal::World& world, const std::string& path) {
  GeneralMatrix matrix;
  std::string error;
  if (world.rank() == 0) {
    try {
      matrix = apps::read_matrix_market_general_file(path);
    } catch (const apps::InputError& bad) {
      error = bad.what();
    }
  }
  error = world.broadcast(error, shoal::Rank(0));
  if (!error.empty()) throw apps::InputError(error);
  matrix.rows = world.broadcast(matrix.rows, shoal::Rank(0));
  matrix.columns = world.broadcast(matrix.columns, shoal::Rank(0));
  matrix.entries = world.broadcast(matrix.entries, shoal::Rank(0));
  return matrix;
}

/// The matrix A: of a file, or random with half as many columns as rows.
class Matrix {
 public:
  Matrix(shoal::World& world, const Options& options)
      : is_random_(options.matrix.empty()), seed_(options.flow.common.seed) {
    if (!is_random_) {
      file_ = load(world, options.matrix);
    } else {
      file_.rows = options.flow.common.size;
      file_.columns = (file_.rows + 1) / 2;
    }
    if (file_.rows >= file_.columns) return;
    throw apps::InputError(
        fmt::format("{}: the matrix is {} x {}: it needs at least as many rows as columns",
                    options.matrix, file_.rows, file_.columns));
  }

  [[nodiscard]] int rows() const { return file_.rows; }
  [[nodiscard]] int columns() const { return file_.columns; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} x {}, {}", rows(), columns(),
                       is_random_ ? "random" : fmt::format("{} entries", file_.entries.size()));
  }
  /// Calls f(row, column, value) for all entries that are not 0.
  template <class F>
  void for_each(F f) const {
    for (const Entry& entry : file_.entries) f(entry.row, entry.column, entry.value);
    for (int j = 0; is_random_ && j < columns(); ++j) {
      for (int i = 0; i < rows(); ++i) f(i, j, apps::random_element(seed_, i, j));
    }
  }
  /// Sets the tiles of this rank, while no task uses them.
  void fill(const shoal::World& world, shoal::Flow& flow, FlowMatrix& a) const {
    apps::fill(world, flow, a, [this](int i, int j) {
      return is_random_ ? apps::random_element(seed_, i, j) : 0.0;
    });
    for (const Entry& entry : file_.entries) {
      const int i = a.rows().block_of(entry.row);
      const int j = a.columns().block_of(entry.column);
      if (a.owner(i, j) != world.rank() || world.is_dry()) continue;
      a.own(i, j)(entry.row - a.rows().offset(i), entry.column - a.columns().offset(j)) =
          entry.value;
    }
  }

 private:
  const bool is_random_;
  const std::uint64_t seed_;
  GeneralMatrix file_;  // of a random one the shape
};

/// The vector b of a file, or a random one: as a further column of a random matrix would be.
Vector right_hand_side(shoal::World& world, const Options& options, const Matrix& matrix) {
  const int rows = matrix.rows();
  Vector b(static_cast<std::size_t>(rows), 0);
  if (options.rhs.empty()) {
    for (int i = 0; i < rows; ++i) {
      b[static_cast<std::size_t>(i)] =
          apps::random_element(options.flow.common.seed, i, matrix.columns());
    }
    return b;
  }
  const GeneralMatrix file = load(world, options.rhs);
  if (file.rows != rows || file.columns != 1) {
    throw apps::InputError(fmt::format("{}: the right-hand side is {} x {}: it must be {} x 1",
                                       options.rhs, file.rows, file.columns, rows));
  }
  for (const Entry& entry : file.entries) b[static_cast<std::size_t>(entry.row)] = entry.value;
  return b;
}

/// x <- R^-1 of the first rows of b, from the bottom up.
void insert_back_substitution(shoal::Flow& flow, const FlowMatrix& r, const FlowMatrix& b) {
  const Codelet solve(
      "trsv", [](ConstTileView triangle, TileView x) { apps::kernels::trsv_upper(triangle, x); });
  // The last tile of a wide column may have more rows than columns: only the top of b is x.
  const Codelet subtract("gemv", [](ConstTileView a, ConstTileView x, TileView y) {
    apps::kernels::gemm(a, {x.data(), a.columns(), x.columns(), x.stride()}, y);
  });
  for (int k = r.columns().count() - 1; k >= 0; --k) {
    flow.insert(solve, read(r.at(k, k)), read_write(b.at(k, 0)));
    for (int i = 0; i < k; ++i) {
      flow.insert(subtract, read(r.at(i, k)), read(b.at(k, 0)), read_write(b.at(i, 0)));
    }
  }
}

/// The first `count` elements of a column of tiles, on all ranks.
Vector gather(shoal::World& world, FlowMatrix& column, int count) {
  Vector values(static_cast<std::size_t>(count), 0);
  column.for_each_own([&](int i, int /*j*/, const apps::Tile& tile) {
    for (int row = 0; row < tile.rows(); ++row) {
      const int at = column.rows().offset(i) + row;
      if (at < count) values[static_cast<std::size_t>(at)] = tile(row, 0);
    }
  });
  world.allreduce(std::span<double>(values), std::plus<>());
  return values;
}

/// Refuses a matrix whose columns are linearly dependent, as far as numbers of this size can tell.
void check_rank(shoal::World& world, FlowMatrix& r) {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  r.for_each_own([&](int i, int j, const apps::Tile& tile) {
    for (int k = 0; i == j && k < tile.columns(); ++k) {
      least = std::min(least, std::abs(tile(k, k)));
      most = std::max(most, std::abs(tile(k, k)));
    }
  });
  least = world.allreduce(least, [](double a, double b) { return std::min(a, b); });
  most = world.allreduce(most, [](double a, double b) { return std::max(a, b); });
  // The usual bound of the rounding errors of a factorization, by the number of rows.
  if (least > most * r.rows().size() * std::numeric_limits<double>::epsilon()) return;
  throw apps::InputError(fmt::format(
      "the columns of the matrix are linearly dependent: the diagonal of R is {:.2e} to {:.2e}",
      least, most));
}

double norm(const Vector& v) {
  apps::SumOfSquares sum;
  for (const double x : v) sum.add(x);
  return sum.norm();
}

struct Quality {
  double residual = 0;  // ||A^T r|| / (||A|| (||A|| ||x|| + ||b||))
  double distance = 0;  // ||r||
};

Quality quality(const Matrix& a, const Vector& b, const Vector& x) {
  Vector r = b;
  apps::SumOfSquares squares;
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  a.for_each([&](int row, int column, double value) {
    r[at(row)] -= value * x[at(column)];
    squares.add(value);
  });
  // Products of large numbers overflow: both factors are relative.
  const double size = squares.norm();
  const double bound = size * norm(x) + norm(b);
  Vector gradient(x.size(), 0);
  a.for_each([&](int row, int column, double value) {
    gradient[at(column)] += value / size * (r[at(row)] / bound);
  });
  if (!std::isfinite(bound)) return {std::numeric_limits<double>::quiet_NaN(), norm(r)};
  return {bound == 0 ? 0 : norm(gradient), norm(r)};
}

bool write_solution(const std::string& path, const Vector& x) {
  apps::OutputFile file(path);
  file.write(fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", x.size()));
  for (const double value : x) file.write(fmt::format("{:.17g}\n", value));
  if (file.is_good()) return true;
  cli::tell(fmt::format("cannot write the solution to {}\n", path));
  return false;
}

}  // namespace

int run(shoal::World& world, const Options& options) {
  apps::use_blas_threads(1);
  const Matrix matrix(world, options);
  const Vector rhs = right_hand_side(world, options, matrix);
  const auto& common = options.flow.common;
  const auto rows = BlockPartition::uniform(matrix.rows(), common.tile);
  const auto columns = BlockPartition::uniform(matrix.columns(), common.tile);
  const auto grid = apps::grid_of(options.flow.grid, world.size());
  shoal::Flow flow(world, "least_squares", {.broadcast_tree = options.flow.tree});
  apps::RunMeter meter(world, "least_squares", false);
  FlowMatrix a(world, flow, rows, columns, grid, "A");
  FlowMatrix b(world, flow, rows, BlockPartition::uniform(1, 1), grid, "b");
  apps::FlowQr qr(world, flow, meter, a, grid);

  Vector x;
  Quality good;
  apps::FlowProblem problem;
  problem.name = "least_squares";
  problem.problem =
      fmt::format("{}, {}x{} tiles of up to {}, grid {}x{}", matrix.text(), rows.count(),
                  columns.count(), common.tile, grid.rows(), grid.columns());
  problem.formula = "||A^T(b - Ax)|| / (||A||_F (||A||_F ||x|| + ||b||))";
  const double m = matrix.rows();
  const double n = matrix.columns();
  problem.gflop = 2 * n * n * (m - n / 3) * 1e-9;
  problem.fill = [&] {
    matrix.fill(world, flow, a);
    apps::fill(world, flow, b, [&](int i, int) { return rhs[static_cast<std::size_t>(i)]; });
  };
  problem.factor = [&] {
    qr.insert(&b);
    insert_back_substitution(flow, a, b);
  };
  problem.residual = [&] {
    check_rank(world, a);
    x = gather(world, b, matrix.columns());
    good = quality(matrix, rhs, x);
    return good.residual;
  };
  const int code = apps::run_flow_problem(world, options.flow, meter, problem);
  if (world.rank() != 0 || x.empty()) return code;
  if (!apps::is_standard_output(common.json)) {
    apps::print_line("distance", fmt::format("{:.6e}  = ||b - Ax||_2", good.distance));
  }
  if (!options.solution.empty() && !write_solution(options.solution, x)) return 1;
  return code;
}

}  // namespace least_squares

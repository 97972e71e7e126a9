// Jacobi iteration for the Laplace equation on a square, by rows (STAPL-RTS thesis, figure A.2).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace {

using shoal::Distribution;
using shoal::Rank;

/// Value on the border of an n x n grid; what is inside begins at 0.
double border(std::size_t row, std::size_t column, std::size_t n) {
  return static_cast<double>(row + 1) / static_cast<double>(n) -
         (column == 0 ? 1.0 : 0.25 * static_cast<double>(column) / static_cast<double>(n));
}

/// Rows first .. first + count - 1 of the grid, and one beyond each end.
class Grid {
 public:
  Grid(std::size_t n, std::size_t first, std::size_t count)
      : n_(n), first_(first), count_(count), old_((count + 2) * n, 0.0) {
    for (std::size_t row = 0; row < count + 2; ++row) {
      if (first + row == 0 || first + row > n) continue;  // beyond the grid
      const std::size_t global = first + row - 1;
      for (std::size_t column = 0; column < n; ++column) {
        if (is_border(global, column)) at(row)[column] = border(global, column, n);
      }
    }
    new_ = old_;
  }
  /// Row 1 is the first of the own rows; 0 and count + 1 are the neighbours'.
  [[nodiscard]] double* at(std::size_t row) { return old_.data() + row * n_; }

  /// One iteration; returns the sum of the squares of the changes.
  double iterate() {
    double change = 0;
    for (std::size_t row = 1; row <= count_; ++row) {
      const double* const up = at(row - 1);
      const double* const here = at(row);
      const double* const down = at(row + 1);
      double* const out = new_.data() + row * n_;
      if (first_ + row - 1 == 0 || first_ + row == n_) continue;
      for (std::size_t column = 1; column + 1 < n_; ++column) {
        out[column] = 0.25 * (here[column + 1] + here[column - 1] + up[column] + down[column]);
        change += (out[column] - here[column]) * (out[column] - here[column]);
      }
    }
    const auto own = static_cast<std::ptrdiff_t>(n_);
    std::copy(new_.begin() + own, new_.end() - own, old_.begin() + own);
    return change;
  }

 private:
  [[nodiscard]] bool is_border(std::size_t row, std::size_t column) const {
    return row == 0 || column == 0 || row + 1 == n_ || column + 1 == n_;
  }

  std::size_t n_;
  std::size_t first_;
  std::size_t count_;
  std::vector<double> old_;
  std::vector<double> new_;
};

class Jacobi : public shoal::DistributedObject<Jacobi> {
 public:
  Jacobi(shoal::Team& team, std::size_t n)
      : DistributedObject(team),
        n_(n),
        rows_(Distribution::balanced(n, team.size())),
        count_(rows_.count(team.rank())),
        grid_(n, count_ > 0 ? rows_.index(team.rank(), 0) : 0, count_) {}

  void receive_upper(std::span<const double> row) {
    std::copy(row.begin(), row.end(), grid_.at(0));
  }
  void receive_lower(std::span<const double> row) {
    std::copy(row.begin(), row.end(), grid_.at(count_ + 1));
  }
  [[nodiscard]] double change() const { return change_; }

  /// Returns the norm of the change on all ranks.
  double iterate() {
    if (rank() + 1 < team().size()) {
      async<&Jacobi::receive_upper>(Rank(rank() + 1), row(count_));
    }
    if (rank() > 0) async<&Jacobi::receive_lower>(Rank(rank() - 1), row(1));
    fence();
    change_ = grid_.iterate();
    return std::sqrt(allreduce<&Jacobi::change>(std::plus<>()).get());
  }
  [[nodiscard]] std::span<const double> row(std::size_t local) { return {grid_.at(local), n_}; }
  [[nodiscard]] const Distribution& rows() const { return rows_; }

 private:
  std::size_t n_;
  Distribution rows_;
  std::size_t count_;
  Grid grid_;
  double change_ = 0;
};

/// Compares the own rows with those of one rank that computes them all.
bool is_right(Jacobi& jacobi, std::size_t n, int iterations) {
  Grid whole(n, 0, n);
  for (int i = 0; i < iterations; ++i) whole.iterate();
  for (std::size_t local = 0; local < jacobi.rows().count(jacobi.rank()); ++local) {
    const auto row = jacobi.row(local + 1);
    const std::size_t global = jacobi.rows().index(jacobi.rank(), local);
    if (!std::equal(row.begin(), row.end(), whole.at(global + 1))) return false;
  }
  return true;
}

int run(shoal::World& world) {
  CLI::App app("Jacobi iteration on a square of n x n points", "jacobi");
  std::size_t n = 256;
  int iterations = 100;
  app.add_option("--n", n, "points on a side")->check(CLI::Range(8, 65536));
  app.add_option("--iterations", iterations, "iterations")->check(CLI::Range(1, 1000000));
  return apps::run_app(app, world, [&] {
    if (n < static_cast<std::size_t>(world.size())) n = static_cast<std::size_t>(world.size());
    Jacobi jacobi(world, n);
    double change = 0;
    const std::uint64_t begin_ns = world.now_ns();
    for (int i = 0; i < iterations; ++i) change = jacobi.iterate();
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    return apps::conclude(
        world, is_right(jacobi, n, iterations),
        fmt::format(
            "jacobi: {} x {} points, {} iterations on {} ranks, last change {:.6e}, {:.3f} s", n, n,
            iterations, world.size(), change, seconds));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }

// Jacobi iteration for the Laplace equation on a square, by rows (STAPL-RTS thesis, figure A.2).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/options.hpp"
#include "jacobi/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace {

using jacobi::Grid;
using shoal::Distribution;
using shoal::Rank;

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
bool is_right(Jacobi& solver, std::size_t n, int iterations) {
  Grid whole(n, 0, n);
  for (int i = 0; i < iterations; ++i) whole.iterate();
  for (std::size_t local = 0; local < solver.rows().count(solver.rank()); ++local) {
    const auto row = solver.row(local + 1);
    const std::size_t global = solver.rows().index(solver.rank(), local);
    if (!std::equal(row.begin(), row.end(), whole.at(global + 1))) return false;
  }
  return true;
}

int run(shoal::World& world) {
  cli::App app("Jacobi iteration on a square of n x n points", "jacobi");
  std::size_t n = 256;
  int iterations = 100;
  app.add_option("--n", n, "points on a side")->check(cli::range(8, 65536));
  app.add_option("--iterations", iterations, "iterations")->check(cli::range(1, 1000000));
  std::string json;
  apps::add_json_option(app, json);
  return apps::run_app(app, world, [&] {
    if (n < static_cast<std::size_t>(world.size())) n = static_cast<std::size_t>(world.size());
    Jacobi solver(world, n);
    double change = 0;
    const std::uint64_t begin_ns = world.now_ns();
    for (int i = 0; i < iterations; ++i) change = solver.iterate();
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    return apps::conclude(
        world, is_right(solver, n, iterations),
        fmt::format("jacobi: {} x {} points, {} iterations on {} ranks, last change {:.6e}", n, n,
                    iterations, world.size(), change),
        seconds, json);
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }

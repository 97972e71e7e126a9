// NAS benchmark CG: the largest eigenvalue of a sparse matrix by the inverse power method. The
// matrix lies in blocks on a grid of ranks; each row of the grid is a team (STAPL-RTS thesis,
// 7.11.4).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/input_error.hpp"
#include "common/options.hpp"
#include "nas_cg/grid.hpp"
#include "nas_cg/matrix.hpp"
#include "nas_cg/power_method.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using nas_cg::Block;
using nas_cg::Grid;
using nas_cg::Problem;
using nas_cg::Vector;
using shoal::Rank;

class Solver : public shoal::DistributedObject<Solver> {
 public:
  Solver(shoal::Team& team, shoal::Team& row_team, const Problem& problem, const Grid& grid)
      : DistributedObject(team),
        row_team_(row_team),
        n_(problem.n),
        grid_(grid),
        row_(team.rank() / grid.columns),
        column_(team.rank() % grid.columns),
        rows_(grid.row_range(row_, problem.n)),
        columns_(grid.column_range(column_, problem.n)),
        block_(problem, rows_, columns_) {}

  /// Rows of a product, for this rank's columns.
  void receive(Vector values) {
    arrived_.push_back(std::move(values));
    if (waiting_.has_value()) std::exchange(waiting_, std::nullopt)->set_value();
  }

  /// The product of the matrix with a vector, of which each rank has the part of its column.
  Vector multiply(const Vector& in) {
    Vector product(rows_.size());
    block_.multiply(in, product);
    row_team_.allreduce(std::span(product), std::plus<>());
    // To the rank whose columns are a part of these rows: the transposition.
    const int per_row = grid_.per_row();
    const int to = column_ / per_row * grid_.columns + row_ * per_row + column_ % per_row;
    const Block::Range part = grid_.column_range(row_ * per_row + column_ % per_row, n_);
    const auto first = product.begin() + (part.first - rows_.first);
    async<&Solver::receive>(Rank(to), Vector(first, first + (part.last - part.first)));
    if (arrived_.empty()) {
      waiting_.emplace();
      waiting_->future().get();
    }
    Vector out = std::move(arrived_.front());
    arrived_.pop_front();
    return out;
  }
  [[nodiscard]] double dot(const Vector& a, const Vector& b) const {
    return row_team_.allreduce(std::inner_product(a.begin(), a.end(), b.begin(), 0.0),
                               std::plus<>());
  }
  [[nodiscard]] std::size_t width() const { return columns_.size(); }

 private:
  shoal::Team& row_team_;
  const int n_;
  const Grid grid_;
  const int row_;
  const int column_;
  const Block::Range rows_;
  const Block::Range columns_;
  Block block_;
  std::deque<Vector> arrived_;
  std::optional<shoal::Promise<void>> waiting_;
};

int run(shoal::World& world) {
  cli::App app("NAS benchmark CG", "nas_cg");
  std::string name = "S";
  app.add_option("--class", name, "class of the benchmark: S, W or A")
      ->transform(cli::one_of_in_any_case({"S", "W", "A"}));
  std::string json;
  apps::add_json_option(app, json);
  return apps::run_app(app, world, [&] {
    if ((world.size() & (world.size() - 1)) != 0) {
      throw apps::InputError(
          fmt::format("nas_cg runs on 1, 2, 4, 8, ... ranks, not on {}", world.size()));
    }
    const Problem problem = nas_cg::problem_of(name);
    const Grid grid(world.size());
    shoal::Team row_team = world.split(world.rank() / grid.columns, 0, "row of the grid");
    double zeta = 0;
    double seconds = 0;
    {
      Solver solver(world, row_team, problem, grid);
      world.barrier();
      const std::uint64_t begin_ns = world.now_ns();
      zeta = nas_cg::zeta_of(solver, problem);
      seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
      solver.fence();
    }
    const bool good = std::abs(zeta - problem.zeta) <= 1e-10 * problem.zeta;
    return apps::conclude(
        world, good,
        fmt::format("nas_cg: class {}, {} x {} ranks, zeta {:.13f} (official {:.13f})",
                    problem.name, grid.rows, grid.columns, zeta, problem.zeta),
        seconds, json);
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }

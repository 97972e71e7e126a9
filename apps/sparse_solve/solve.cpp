#include "sparse_solve/solve.hpp"

#include <shoal/memory.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>

namespace sparse_solve {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

class Solver {
 public:
  Solver(shoal::World& world, const LowerFactor& factor, const std::vector<double>& b, int block)
      : world_(world),
        factor_(factor),
        b_(b),
        block_(block),
        memory_(world, {.name = "solution", .heap_bytes = heap_bytes(factor.size)}),
        // On each rank a place for every element: those that it solves, and those that come.
        x_(memory_, index(factor.size) * index(world.size())),
        here_(x_.local()),
        rows_(world, "rows"),
        arrived_(world.make_am([this](int column) { announce(column); }, {.name = "element"})),
        needed_by_(index(factor.size)) {
    for (int row = 0; row < factor.size; ++row) {
      for (std::size_t at = begin(row); at < end(row); ++at) {
        std::vector<int>& rows = needed_by_[index(factor.column[at])];
        rows.push_back(row);
      }
    }
    rows_.set_indegree([this](int row) { return dependencies(row); })
        .set_mapping([this, workers = world.worker_count()](int row) {
          return row / block_ / world_.size() % workers;
        })
        .set_task([this](int row) { solve(row); });
  }

  Solution run() {
    world_.barrier();
    const std::uint64_t begin = world_.now_ns();
    for (int row = 0; row < factor_.size; ++row) {
      if (owner(row) == world_.rank() && end(row) == this->begin(row)) rows_.fulfill(row);
    }
    world_.wait();
    Solution solution;
    solution.seconds = static_cast<double>(world_.now_ns() - begin) * 1e-9;
    solution.puts = world_.allreduce(puts_.load(), std::plus<>());
    if (world_.rank() == 0) {
      for (int row = 0; row < factor_.size; ++row) {
        solution.x.push_back(memory_.get(x_.at(owner(row), index(row))));
      }
    }
    world_.barrier();
    return solution;
  }

 private:
  static std::size_t heap_bytes(int size) {
    return (index(size) * sizeof(double) + (std::size_t{1} << 17U)) * 2;
  }
  [[nodiscard]] shoal::Rank owner(int row) const {
    return shoal::Rank(row / block_ % world_.size());
  }
  // Elements of a row except the diagonal one.
  [[nodiscard]] std::size_t begin(int row) const { return factor_.row_begin[index(row)]; }
  [[nodiscard]] std::size_t end(int row) const { return factor_.row_begin[index(row) + 1] - 1; }
  // A row that needs nothing is fulfilled once, at the start.
  [[nodiscard]] int dependencies(int row) const {
    return std::max(1, static_cast<int>(end(row) - begin(row)));
  }

  void solve(int row) {
    const auto value_of = [this](int column) { return here_[index(column)]; };
    here_[index(row)] = solve_row(factor_, row, b_[index(row)], value_of);
    std::vector<bool> told(index(world_.size()));
    for (const int next : needed_by_[index(row)]) {
      const shoal::Rank rank = owner(next);
      if (told[index(rank.value())]) continue;
      told[index(rank.value())] = true;
      if (rank == world_.rank()) continue;
      // relaxed: a statistic
      puts_.fetch_add(1, std::memory_order_relaxed);
      memory_.put_signal(x_.at(rank, index(row)), std::span<const double>(&here_[index(row)], 1),
                         [&] { arrived_.send(rank, row); });
    }
    if (told[index(world_.rank().value())]) announce(row);
  }
  /// The element is here: the rows of this rank that need it have one dependency less.
  void announce(int column) {
    for (const int row : needed_by_[index(column)]) {
      if (owner(row) == world_.rank()) rows_.fulfill(row);
    }
  }

  shoal::World& world_;
  const LowerFactor& factor_;
  const std::vector<double>& b_;
  const int block_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<double> x_;
  const std::span<double> here_;
  shoal::TaskGraph<int> rows_;
  const shoal::ActiveMessage<int> arrived_;
  std::vector<std::vector<int>> needed_by_;  // by column
  std::atomic<std::uint64_t> puts_{0};
};

}  // namespace

Solution solve(shoal::World& world, const LowerFactor& factor, const std::vector<double>& b,
               int block) {
  return Solver(world, factor, b, block).run();
}

}  // namespace sparse_solve

#include "sparse_solve/solve.hpp"

#include <shoal/memory.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <utility>

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
        blocks_(world, "blocks"),
        arrived_(world.make_am([this](int block) { announce(block); }, {.name = "elements"})) {
    find_dependencies();
    blocks_.set_indegree([this](int block) { return std::max(1, needs_[index(block)]); })
        .set_mapping([size = world.size(), workers = world.worker_count()](int block) {
          return block / size % workers;
        })
        .set_task([this](int block) { solve(block); });
  }

  Solution run() {
    world_.barrier();
    const std::uint64_t begin = world_.now_ns();
    for (int block = 0; block < block_count(); ++block) {
      // A block that needs nothing is fulfilled once, at the start.
      if (owner(block) == world_.rank() && needs_[index(block)] == 0) blocks_.fulfill(block);
    }
    world_.wait();
    Solution solution;
    solution.seconds = static_cast<double>(world_.now_ns() - begin) * 1e-9;
    solution.puts = world_.allreduce(puts_.load(), std::plus<>());
    if (world_.rank() == 0) {
      solution.x.resize(index(factor_.size));
      for (int block = 0; block < block_count(); ++block) {
        memory_.get(x_.at(owner(block), index(first_row(block))), rows_of(solution.x, block));
      }
    }
    world_.barrier();
    return solution;
  }

 private:
  static std::size_t heap_bytes(int size) {
    return (index(size) * sizeof(double) + (std::size_t{1} << 17U)) * 2;
  }
  [[nodiscard]] int block_count() const { return (factor_.size + block_ - 1) / block_; }
  [[nodiscard]] int first_row(int block) const { return block * block_; }
  [[nodiscard]] int end_row(int block) const {
    return std::min(factor_.size, first_row(block) + block_);
  }
  [[nodiscard]] std::span<double> rows_of(std::span<double> all, int block) const {
    return all.subspan(index(first_row(block)), index(end_row(block) - first_row(block)));
  }
  [[nodiscard]] shoal::Rank owner(int block) const { return shoal::Rank(block % world_.size()); }

  /// The blocks of which a block needs elements, each once.
  void find_dependencies() {
    needs_.resize(index(block_count()));
    needed_by_.resize(index(block_count()));
    std::vector<int> last(index(block_count()), -1);  // that was found to need a block
    for (int block = 0; block < block_count(); ++block) {
      last[index(block)] = block;
      const std::size_t end = factor_.row_begin[index(end_row(block))];
      for (std::size_t at = factor_.row_begin[index(first_row(block))]; at < end; ++at) {
        const std::size_t before = index(factor_.column[at] / block_);
        if (std::exchange(last[before], block) == block) continue;
        needed_by_[before].push_back(block);
        ++needs_[index(block)];
      }
    }
  }

  void solve(int block) {
    const auto value_of = [this](int column) { return here_[index(column)]; };
    for (int row = first_row(block); row < end_row(block); ++row) {
      here_[index(row)] = solve_row(factor_, row, b_[index(row)], value_of);
    }
    std::vector<bool> told(index(world_.size()));
    for (const int next : needed_by_[index(block)]) {
      const shoal::Rank rank = owner(next);
      if (told[index(rank.value())]) continue;
      told[index(rank.value())] = true;
      if (rank == world_.rank()) continue;
      // relaxed: a statistic
      puts_.fetch_add(1, std::memory_order_relaxed);
      memory_.put_signal(x_.at(rank, index(first_row(block))), rows_of(here_, block),
                         [&] { arrived_.send(rank, block); });
    }
    if (told[index(world_.rank().value())]) announce(block);
  }
  /// The elements are here: the blocks of this rank that need them have one dependency less.
  void announce(int block) {
    for (const int next : needed_by_[index(block)]) {
      if (owner(next) == world_.rank()) blocks_.fulfill(next);
    }
  }

  shoal::World& world_;
  const LowerFactor& factor_;
  const std::vector<double>& b_;
  const int block_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<double> x_;
  const std::span<double> here_;
  std::vector<int> needs_;                   // by block: how many others
  std::vector<std::vector<int>> needed_by_;  // by block
  shoal::TaskGraph<int> blocks_;
  const shoal::ActiveMessage<int> arrived_;
  std::atomic<std::uint64_t> puts_{0};
};

}  // namespace

Solution solve(shoal::World& world, const LowerFactor& factor, const std::vector<double>& b,
               int block) {
  return Solver(world, factor, b, block).run();
}

}  // namespace sparse_solve

#include "sparse_solve/solve.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace sparse_solve {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

int block_of(const shoal::World& world, const LowerFactor& factor, const Grain& grain) {
  constexpr int kStripsPerWorker = 4;
  if (grain.block > 0) return grain.block;
  return std::max(1, factor.size / (kStripsPerWorker * world.size() * world.worker_count()));
}

std::size_t heap_bytes(int size) {
  return (index(size) * sizeof(double) + (std::size_t{1} << 17U)) * 2;
}

}  // namespace

Solver::Solver(shoal::World& world, const LowerFactor& factor, const Grain& grain)
    : world_(world),
      size_(factor.size),
      block_(block_of(world, factor, grain)),
      tiles_(factor, block_, grain.levels),
      memory_(world, {.name = "solution", .heap_bytes = heap_bytes(size_)}),
      // On each rank a place for every element: those that it solves, and those that come.
      x_(memory_, index(size_) * index(world.size())),
      here_(x_.local()),
      graph_(world, "tiles"),
      arrived_(world.make_am([this](int tile) { announce(tile); }, {.name = "elements"})) {
  copy_rows(factor);
  find_dependencies(factor);
  graph_.set_indegree([this](int tile) { return std::max(1, needs_[index(tile)]); })
      .set_mapping([this](int tile) {
        return tiles_.strip_of(tile) / world_.size() % world_.worker_count();
      })
      .set_task([this](int tile) { solve_tile(tile); });
}

Solution Solver::solve(const std::vector<double>& b) {
  b_ = b.data();
  puts_ = 0;
  world_.barrier();
  const std::uint64_t begin = world_.now_ns();
  for (int tile = 0; tile < tiles_.count(); ++tile) {
    // A tile that needs nothing is fulfilled once, at the start.
    if (is_mine(tile) && needs_[index(tile)] == 0) graph_.fulfill(tile);
  }
  world_.wait();
  Solution solution;
  solution.seconds = static_cast<double>(world_.now_ns() - begin) * 1e-9;
  solution.puts = world_.allreduce(puts_.load(), std::plus<>());
  solution.tasks = static_cast<std::uint64_t>(tiles_.count());
  if (world_.rank() == 0) solution.x = gather();
  world_.barrier();
  return solution;
}

std::vector<double> Solver::gather() {
  std::vector<double> x(index(size_));
  for (int first = 0; first < size_; first += block_) {
    const shoal::Rank rank(first / block_ % world_.size());
    const std::size_t count = index(std::min(block_, size_ - first));
    memory_.get(x_.at(rank, index(first)), std::span(x).subspan(index(first), count));
  }
  return x;
}

void Solver::copy_rows(const LowerFactor& factor) {
  first_own_.resize(index(tiles_.count()));
  own_.row_begin.push_back(0);
  for (int tile = 0; tile < tiles_.count(); ++tile) {
    first_own_[index(tile)] = own_.size;
    if (!is_mine(tile)) continue;
    for (const int row : tiles_.rows(tile)) {
      const std::size_t end = factor.row_begin[index(row) + 1];
      for (std::size_t at = factor.row_begin[index(row)]; at < end; ++at) {
        own_.column.push_back(factor.column[at]);
        own_.value.push_back(factor.value[at]);
      }
      own_.row_begin.push_back(own_.column.size());
      ++own_.size;
    }
  }
}

void Solver::find_dependencies(const LowerFactor& factor) {
  needs_.resize(index(tiles_.count()));
  needed_by_.resize(index(tiles_.count()));
  std::vector<int> last(index(tiles_.count()), -1);  // that was found to need a tile
  std::vector<std::array<int, 3>> sent;              // tile, rank, row
  for (int tile = 0; tile < tiles_.count(); ++tile) {
    last[index(tile)] = tile;
    for (const int row : tiles_.rows(tile)) {
      const std::size_t end = factor.row_begin[index(row) + 1];
      for (std::size_t at = factor.row_begin[index(row)]; at < end; ++at) {
        const int column = factor.column[at];
        const int before = tiles_.tile_of(column);
        if (!is_mine(tile) && is_mine(before)) {
          sent.push_back({before, owner(tile).value(), column});
        }
        if (std::exchange(last[index(before)], tile) == tile) continue;
        needed_by_[index(before)].push_back(tile);
        ++needs_[index(tile)];
      }
    }
  }
  std::ranges::sort(sent);
  const auto repeated = std::ranges::unique(sent);
  sent.erase(repeated.begin(), repeated.end());
  make_parts(sent);
}

void Solver::make_parts(std::span<const std::array<int, 3>> sent) {
  parts_.resize(index(tiles_.count()));
  for (const auto [tile, rank, row] : sent) {
    std::vector<Part>& parts = parts_[index(tile)];
    const bool continues = !parts.empty() && parts.back().rank == rank &&
                           parts.back().first + parts.back().count == row;
    if (!continues) parts.push_back({shoal::Rank(rank), row, 0});
    ++parts.back().count;
  }
}

void Solver::solve_tile(int tile) {
  const auto value_of = [this](int column) { return here_[index(column)]; };
  int own = first_own_[index(tile)];
  for (const int row : tiles_.rows(tile)) {
    here_[index(row)] = solve_row(own_, own++, b_[row], value_of);
  }
  put(tile);
  announce(tile);
}

void Solver::put(int tile) {
  const std::vector<Part>& parts = parts_[index(tile)];
  std::vector<shoal::Transfer> transfers;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [rank, first, count] = parts[i];
    const auto to = x_.at(rank, index(first));
    const std::span<const double> values = here_.subspan(index(first), index(count));
    if (i + 1 < parts.size() && parts[i + 1].rank == rank) {
      transfers.push_back(memory_.put(to, values));
      continue;
    }
    for (shoal::Transfer& transfer : transfers) transfer.wait();
    transfers.clear();
    memory_.put_signal(to, values, [&, to_rank = rank] { arrived_.send(to_rank, tile); });
  }
  // relaxed: a statistic
  puts_.fetch_add(parts.size(), std::memory_order_relaxed);
}

void Solver::announce(int tile) {
  for (const int next : needed_by_[index(tile)]) {
    if (is_mine(next)) graph_.fulfill(next);
  }
}

}  // namespace sparse_solve

#include "tasks/kernels.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace bench::tasks {
namespace {

struct KnownQueens {
  std::uint64_t solutions;
  std::uint64_t placements;  // of a queen beside and below safe ones: the nodes of the search
};
// By the size of the board.
constexpr std::array<KnownQueens, Queens::kSizeMax + 1> kQueens{{
    {1, 0},
    {1, 1},
    {0, 2},
    {0, 5},
    {2, 16},
    {10, 53},
    {4, 152},
    {40, 551},
    {92, 2'056},
    {352, 8'393},
    {724, 35'538},
    {2'680, 166'925},
    {14'200, 856'188},
}};

const KnownQueens& known_queens(int n) { return kQueens.at(static_cast<std::size_t>(n)); }

std::uint64_t fibonacci(int n) {
  std::uint64_t now = 0;
  std::uint64_t next = 1;
  for (int i = 0; i < n; ++i) {
    const std::uint64_t sum = now + next;
    now = next;
    next = sum;
  }
  return now;
}

void require(bool good, const std::string& message) {
  if (!good) throw std::runtime_error("wrong answer: " + message);
}

void require_equal(std::uint64_t got, std::uint64_t wanted, const char* what) {
  require(got == wanted, fmt::format("{} {}, not {}", got, what, wanted));
}

std::uint64_t product(int a, int b, int c = 1) {
  return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) *
         static_cast<std::uint64_t>(c);
}

}  // namespace

void Flood::check(int times) const {
  require_equal(tally_.sum(), tasks * static_cast<std::uint64_t>(times), "tasks ran");
}

void Grid::check() const {
  require(wrong_ == 0, fmt::format("{} tasks ran too early", wrong_.load()));
  for (int i = 0; i < rows; ++i) {
    require(last(i) == columns - 1, fmt::format("row {} ended at column {}", i, last(i)));
  }
}

std::uint64_t Fib::spawns() const { return fibonacci(n + 1) - 1; }

void Fib::check(std::uint64_t answer) const {
  require_equal(answer, fibonacci(n), "is the Fibonacci number");
}

bool Queens::Board::is_safe(int column) const {
  for (int other = 0; other < row_; ++other) {
    const int distance = column - columns_[static_cast<std::size_t>(other)];
    if (distance == 0 || std::abs(distance) == row_ - other) return false;
  }
  return true;
}

Queens::Board Queens::Board::with(int column) const {
  Board board = *this;
  board.columns_[static_cast<std::size_t>(board.row_++)] = static_cast<std::int8_t>(column);
  return board;
}

std::uint64_t Queens::spawns() const { return known_queens(n).placements; }

void Queens::check(std::uint64_t answer) const {
  require_equal(answer, known_queens(n).solutions, "solutions");
}

void Switching::check(int times) const {
  require_equal(tally_.sum(), product(tasks, rounds, times), "turns");
}

void RoundTrips::check(std::uint64_t sum) const {
  require_equal(sum, product(rounds, rounds - 1) / 2, "is the sum of the returned values");
}

void HandOver::check(int times) const {
  require(wrong_ == 0, fmt::format("{} times two tasks had the lock", wrong_));
  require_equal(static_cast<std::uint64_t>(count_), product(tasks, rounds, times), "times locked");
}

}  // namespace bench::tasks

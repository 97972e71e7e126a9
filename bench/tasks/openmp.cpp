// The kernels about tasks on OpenMP. Compiled with gcc for libgomp and with clang for libomp:
// BENCH_SIDE says which.

#include <omp.h>

#include <array>
#include <cstddef>
#include <exception>
#include <numeric>
#include <vector>

#include "tasks/side.hpp"

namespace bench::tasks {
namespace {

std::uint64_t fib_of(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  std::uint64_t first = 0;
#pragma omp task default(none) shared(first) firstprivate(n)
  first = fib_of(n - 1);
  const std::uint64_t second = fib_of(n - 2);
#pragma omp taskwait
  return first + second;
}

std::uint64_t solutions(int n, const Queens::Board& board) {
  if (board.row() == n) return 1;
  std::array<std::uint64_t, Queens::kSizeMax> found{};
  for (int column = 0; column < n; ++column) {
    if (!board.is_safe(column)) continue;
    const Queens::Board next = board.with(column);
#pragma omp task default(none) shared(found) firstprivate(n, column, next)
    found[static_cast<std::size_t>(column)] = solutions(n, next);
  }
#pragma omp taskwait
  return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
}

class OpenMp final : public Side {
 public:
  [[nodiscard]] std::string name() const override { return BENCH_SIDE; }

  void start(int count, const std::function<void()>& body) override {
    omp_set_dynamic(0);
    omp_set_num_threads(count);
    std::exception_ptr error;  // none may leave the region
#pragma omp parallel
#pragma omp single
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
    if (error) std::rethrow_exception(error);
  }

  double flood(Flood& flood) override {
    if (flood.ready) refuse(*this, "flood --ready");  // it runs tasks itself when many wait
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < flood.tasks; ++i) {
#pragma omp task default(none) shared(flood)
      flood.run_task();
    }
#pragma omp taskwait
    return watch.seconds();
  }

  double grid(Grid& grid) override {
    const auto rows = static_cast<std::size_t>(grid.rows);
    std::vector<char> places(rows * static_cast<std::size_t>(grid.columns));
    char* const place = places.data();
    const Stopwatch watch;
    for (int i = 0; i < grid.rows; ++i) insert_first(grid, place, i);
    for (int j = 1; j < grid.columns; ++j) {
      char* const before = place + static_cast<std::size_t>(j - 1) * rows;
      for (int i = 0; i < grid.rows; ++i) insert(grid, before, i, j);
    }
#pragma omp taskwait
    return watch.seconds();
  }

  std::uint64_t fib(const Fib& fib) override { return fib_of(fib.n); }

  std::uint64_t queens(const Queens& queens) override { return solutions(queens.n, {}); }

  double round_trips(const RoundTrips& trips, std::uint64_t& sum) override {
    const Stopwatch watch;
    for (int i = 0; i < trips.rounds; ++i) {
      std::uint64_t value = 0;
#pragma omp task default(none) shared(value) firstprivate(i)
      value = static_cast<std::uint64_t>(i);
#pragma omp taskwait
      sum += value;
    }
    return watch.seconds();
  }

 private:
  // gcc does not take depend() for a use.
  static void insert_first(Grid& grid, [[maybe_unused]] char* place, int i) {
#pragma omp task default(none) shared(grid) firstprivate(i) depend(out : place[i])
    grid.run_task(i, 0);
  }

  // `before` is the column before.
  static void insert(Grid& grid, [[maybe_unused]] char* before, int i, int j) {
    const int rows = grid.rows;
    if (grid.dependencies == 1) {  // without the cost of an iterator
#pragma omp task default(none) shared(grid) firstprivate(i, j) depend(in : before[i]) \
    depend(out : before[rows + i])
      grid.run_task(i, j);
      return;
    }
    const int count = grid.dependencies;
#pragma omp task default(none) shared(grid) firstprivate(i, j)          \
    depend(iterator(k = 0 : count), in : before[(i + rows - k) % rows]) \
    depend(out : before[rows + i])
    grid.run_task(i, j);
  }
};

}  // namespace
}  // namespace bench::tasks

int main(int argc, char** argv) {
  bench::tasks::OpenMp side;
  return bench::tasks::run_program(argc, argv, side);
}

// The kernels about tasks on oneTBB: task groups, and a flow graph for dependencies.

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <array>
#include <cstddef>
#include <deque>
#include <numeric>

#include "tasks/gate.hpp"
#include "tasks/side.hpp"

namespace bench::tasks {
namespace {

std::uint64_t fib_of(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  std::uint64_t first = 0;
  tbb::task_group group;
  group.run([&first, n] { first = fib_of(n - 1); });
  const std::uint64_t second = fib_of(n - 2);
  group.wait();
  return first + second;
}

std::uint64_t solutions(int n, const Queens::Board& board) {
  if (board.row() == n) return 1;
  std::array<std::uint64_t, Queens::kSizeMax> found{};
  tbb::task_group group;
  for (int column = 0; column < n; ++column) {
    if (!board.is_safe(column)) continue;
    group.run([n, next = board.with(column), &count = found[static_cast<std::size_t>(column)]] {
      count = solutions(n, next);
    });
  }
  group.wait();
  return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
}

class Tbb final : public Side {
 public:
  [[nodiscard]] std::string name() const override { return "tbb"; }

  void start(int count, const std::function<void()>& body) override {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(count));
    tbb::task_arena arena(count);
    arena.execute([&] {
      run_held([](tbb::task_group&) {});  // its threads start with their first work
      body();
    });
  }

  double flood(Flood& flood) override {
    if (flood.ready) {
      return run_held([&flood](tbb::task_group& group) { insert(group, flood); });
    }
    const Stopwatch watch;
    tbb::task_group group;
    insert(group, flood);
    group.wait();
    return watch.seconds();
  }

  double grid(Grid& grid) override {
    using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
    tbb::flow::graph graph;
    std::deque<Node> nodes;  // they cannot be moved
    const auto node = [&](int i, int j) -> Node& {
      return nodes[static_cast<std::size_t>(j) * static_cast<std::size_t>(grid.rows) +
                   static_cast<std::size_t>(i)];
    };
    const Stopwatch watch;
    for (int j = 0; j < grid.columns; ++j) {
      for (int i = 0; i < grid.rows; ++i) {
        nodes.emplace_back(graph, [&grid, i, j](tbb::flow::continue_msg) { grid.run_task(i, j); });
      }
      for (int i = 0; j > 0 && i < grid.rows; ++i) {
        for (int k = 0; k < grid.dependencies; ++k) {
          tbb::flow::make_edge(node(grid.row_before(i, k), j - 1), node(i, j));
        }
      }
    }
    for (int i = 0; i < grid.rows; ++i) node(i, 0).try_put(tbb::flow::continue_msg());
    graph.wait_for_all();
    return watch.seconds();
  }

  std::uint64_t fib(const Fib& fib) override { return fib_of(fib.n); }

  std::uint64_t queens(const Queens& queens) override { return solutions(queens.n, {}); }

  double round_trips(const RoundTrips& trips, std::uint64_t& sum) override {
    const Stopwatch watch;
    tbb::task_group group;
    for (int i = 0; i < trips.rounds; ++i) {
      std::uint64_t value = 0;
      group.run([&value, i] { value = static_cast<std::uint64_t>(i); });
      group.wait();
      sum += value;
    }
    return watch.seconds();
  }

 private:
  static void insert(tbb::task_group& group, Flood& flood) {
    for (std::uint64_t i = 0; i < flood.tasks; ++i) group.run([&flood] { flood.run_task(); });
  }

  /// Calls `prepare(group)` while all workers but the caller stand before a gate; returns the
  /// seconds from then on until the tasks of the group have run.
  template <class Prepare>
  static double run_held(Prepare prepare) {
    const int others = tbb::this_task_arena::max_concurrency() - 1;
    Gate gate;
    tbb::task_group group;
    for (int i = 0; i < others; ++i) group.run([&gate] { gate.pass(); });
    gate.wait_for(others);
    prepare(group);
    const Stopwatch watch;
    gate.open();
    group.wait();
    return watch.seconds();
  }
};

}  // namespace
}  // namespace bench::tasks

int main(int argc, char** argv) {
  bench::tasks::Tbb side;
  return bench::tasks::run_program(argc, argv, side);
}

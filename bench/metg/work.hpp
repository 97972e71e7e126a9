#pragma once
// Work of the tasks of a graph, and the check of its result: the same for all sides.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "metg/pattern.hpp"
#include "metg/value.hpp"

namespace metg {

/// Kernel that keeps a task busy.
class Kernel {
 public:
  enum class Bound { compute, memory };

  /// Memory bound: each column has a buffer of so many bytes.
  Kernel(Bound bound, int columns, std::size_t buffer_bytes);

  /// Whether the right result came out. One iteration is a multiplication and an addition that
  /// depend on the one before; or a cache line of the column's buffer, read from where the step
  /// finds its part.
  [[nodiscard]] bool run(int step, int column, std::int64_t iterations) const;

 private:
  [[nodiscard]] bool compute(std::int64_t iterations) const;
  [[nodiscard]] bool walk(int step, int column, std::int64_t iterations) const;

  const Bound bound_;
  // x * factor_ + summand_ stays what it is, which the compiler does not know.
  const double start_ = 1;
  const double factor_ = 0.5;
  const double summand_ = 0.5;
  std::vector<std::vector<std::uint64_t>> buffers_;  // of ones
};

/// Columns [first, last).
struct Columns {
  int first = 0;
  int last = 0;
  [[nodiscard]] bool contains(int column) const { return first <= column && column < last; }
};

/// One graph with the values of its tasks, as one rank knows them.
class Work {
 public:
  Work(const Graph& graph, const Kernel& kernel);

  [[nodiscard]] const Graph& graph() const { return graph_; }

  /// Before each run of the graph.
  void start(std::int64_t iterations);
  /// After all those that it depends on.
  void run_task(int step, int column);

  [[nodiscard]] Value value(int step, int column) const {
    return slot(step, column).load(std::memory_order_relaxed);
  }
  /// Stores the value that a task of another rank has computed.
  void receive(int step, int column, Value value) {
    slot(step, column).store(value, std::memory_order_relaxed);
  }
  /// The same for a side that has nothing else to order its tasks by.
  [[nodiscard]] Value wait_for(int step, int column) const;

  /// Whether every task of these columns has the value that it has when all run one by one.
  [[nodiscard]] bool is_right(const Columns& columns) const;

 private:
  // Alone in its cache line, as the output of a task mostly is. Relaxed: what orders the tasks is
  // what is measured.
  struct alignas(64) Slot {
    std::atomic<Value> value{0};
  };
  [[nodiscard]] std::size_t number(int step, int column) const {
    return static_cast<std::size_t>(step) * static_cast<std::size_t>(graph_.width()) +
           static_cast<std::size_t>(column);
  }
  [[nodiscard]] const std::atomic<Value>& slot(int step, int column) const {
    return slots_[number(step, column)].value;
  }
  [[nodiscard]] std::atomic<Value>& slot(int step, int column) {
    return slots_[number(step, column)].value;
  }

  const Graph& graph_;
  const Kernel& kernel_;
  std::int64_t iterations_ = 0;
  std::vector<Slot> slots_;
  std::vector<Value> right_;
};

}  // namespace metg

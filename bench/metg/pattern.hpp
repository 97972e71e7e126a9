#pragma once
// Graphs of tasks in steps and columns: each task depends on some of the step before.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace metg {

/// Dependencies between tasks. **Source**: the patterns of "Task Bench: A Parameterized Benchmark
/// for Evaluating Parallel Runtime Performance", SC 2020.
enum class Pattern {
  trivial,           // on nothing
  stencil,           // on the same column and both neighbours
  stencil_periodic,  // the same; the first column and the last one are neighbours
  nearest,           // on the `radix` nearest columns
  spread,            // on `radix` columns far from each other, others in each step
  fft,               // on the same column and those at a distance of 1, 2, 4, ...
  tree,              // on one; two depend on each, until the graph is as wide as it may
  random,            // on about half of the `radix` nearest columns, others in each step
  all_to_all,        // on all
};

/// Each pattern by its name.
[[nodiscard]] std::vector<std::string> pattern_names();
/// **Errors**: std::invalid_argument.
[[nodiscard]] Pattern pattern_of(const std::string& name);

struct Shape {
  Pattern pattern = Pattern::stencil;
  int steps = 1000;
  int width = 4;
  int radix = 3;
  std::uint64_t seed = 1;
};

/// The tasks (step, column), 0 <= step < steps, 0 <= column < width_at(step).
class Graph {
 public:
  explicit Graph(const Shape& shape);

  [[nodiscard]] int steps() const { return shape_.steps; }
  [[nodiscard]] int width() const { return shape_.width; }
  [[nodiscard]] int width_at(int step) const;
  [[nodiscard]] std::int64_t task_count() const;

  /// Columns of the step before, in ascending order.
  [[nodiscard]] std::span<const int> dependencies(int step, int column) const {
    return step == 0 ? std::span<const int>() : at(step, column).dependencies;
  }
  /// Columns of the step behind, in ascending order.
  [[nodiscard]] std::span<const int> dependants(int step, int column) const {
    return step + 1 == steps() ? std::span<const int>() : at(step + 1, column).dependants;
  }

 private:
  // Edges of a column, in the steps of one set.
  struct Edges {
    std::vector<int> dependencies;
    std::vector<int> dependants;  // in the step itself; the column is of the step before
  };
  [[nodiscard]] const Edges& at(int step, int column) const {
    const std::size_t set = static_cast<std::size_t>(step % sets_);
    return edges_[set * static_cast<std::size_t>(width()) + static_cast<std::size_t>(column)];
  }

  const Shape shape_;
  const int sets_;            // step s and step s + sets_ have the same edges
  std::vector<Edges> edges_;  // set by set
};

}  // namespace metg

#pragma once
// The matrix of the NAS benchmark CG.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nas_cg {

/// A class of the benchmark.
struct Problem {
  char name;
  int n;        // rows
  int nonzero;  // of each random vector
  int iterations;
  double shift;
  double zeta;  // the official result
};

/// **Errors**: std::invalid_argument for an unknown class.
[[nodiscard]] Problem problem_of(const std::string& name);

/// A part of the matrix, in compressed rows.
class Block {
 public:
  /// Rows and columns from `first` to below `last`. **Source**: NAS Parallel Benchmarks 3.4, CG,
  /// makea: a sum of outer products of random sparse vectors.
  struct Range {
    int first = 0;
    int last = 0;
    [[nodiscard]] bool has(int index) const { return index >= first && index < last; }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(last - first); }
  };
  Block(const Problem& problem, Range rows, Range columns);

  /// out = this * in.
  void multiply(std::span<const double> in, std::span<double> out) const;

 private:
  struct Element {
    int row;
    int column;
    double value;
  };
  void compress(std::vector<Element> elements);

  Range rows_;
  Range columns_;
  std::vector<std::size_t> starts_;
  std::vector<int> indices_;
  std::vector<double> values_;
};

}  // namespace nas_cg

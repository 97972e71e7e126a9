#include "nas_cg/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace nas_cg {

namespace {

constexpr double kCondition = 0.1;

/// x = 5^13 x mod 2^46, as a number between 0 and 1: the generator of the NAS benchmarks.
class Random {
 public:
  double next() {
    constexpr std::uint64_t kFactor = 1220703125;
    constexpr int kBits = 46;
    state_ = state_ * kFactor & ((std::uint64_t{1} << kBits) - 1);
    return std::ldexp(static_cast<double>(state_), -kBits);
  }

 private:
  std::uint64_t state_ = 314159265;
};

using SparseVector = std::vector<std::pair<int, double>>;

/// As many random elements as the problem says, at different places, and 0.5 at place `row`.
SparseVector random_vector(const Problem& problem, int row, Random& random) {
  int power = 1;
  while (power < problem.n) power *= 2;
  const auto place_is = [](int place) {
    return [place](const auto& one) { return one.first == place; };
  };
  SparseVector vector;
  while (static_cast<int>(vector.size()) < problem.nonzero) {
    const double value = random.next();
    const int place = static_cast<int>(power * random.next());
    if (place >= problem.n) continue;
    if (std::any_of(vector.begin(), vector.end(), place_is(place))) continue;
    vector.emplace_back(place, value);
  }
  const auto diagonal = std::find_if(vector.begin(), vector.end(), place_is(row));
  if (diagonal != vector.end()) {
    diagonal->second = 0.5;
  } else {
    vector.emplace_back(row, 0.5);
  }
  return vector;
}

}  // namespace

Problem problem_of(const std::string& name) {
  for (const Problem& one : {Problem{'S', 1400, 7, 15, 10, 8.5971775078648},
                             Problem{'W', 7000, 8, 15, 12, 10.362595087124},
                             Problem{'A', 14000, 11, 15, 20, 17.130235054029}}) {
    if (name == std::string(1, one.name)) return one;
  }
  throw std::invalid_argument("there is no class '" + name + "': choose S, W or A");
}

Block::Block(const Problem& problem, Range rows, Range columns) : rows_(rows), columns_(columns) {
  Random random;
  static_cast<void>(random.next());  // the benchmark draws one number before
  const double ratio = std::pow(kCondition, 1.0 / problem.n);
  double size = 1;
  std::vector<Element> elements;
  for (int i = 0; i < problem.n; ++i) {
    const SparseVector vector = random_vector(problem, i, random);
    for (const auto& [row, left] : vector) {
      if (!rows.has(row)) continue;
      for (const auto& [column, right] : vector) {
        if (!columns.has(column)) continue;
        double value = right * (size * left);
        if (row == i && column == i) value += kCondition - problem.shift;
        elements.push_back({row, column, value});
      }
    }
    size *= ratio;
  }
  compress(std::move(elements));
}

void Block::compress(std::vector<Element> elements) {
  std::stable_sort(elements.begin(), elements.end(), [](const Element& a, const Element& b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  });
  int row = rows_.first;
  int last_column = -1;
  starts_.push_back(0);
  for (const Element& one : elements) {
    for (; row < one.row; ++row) {
      starts_.push_back(indices_.size());
      last_column = -1;
    }
    if (one.column == last_column) {
      values_.back() += one.value;
      continue;
    }
    last_column = one.column;
    indices_.push_back(one.column - columns_.first);
    values_.push_back(one.value);
  }
  for (; row < rows_.last; ++row) starts_.push_back(indices_.size());
}

void Block::multiply(std::span<const double> in, std::span<double> out) const {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    double sum = 0;
    for (std::size_t at = starts_[row]; at < starts_[row + 1]; ++at) {
      sum += values_[at] * in[static_cast<std::size_t>(indices_[at])];
    }
    out[row] = sum;
  }
}

}  // namespace nas_cg

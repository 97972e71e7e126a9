#include "metg/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <stdexcept>
#include <utility>

#include "metg/value.hpp"

namespace metg {

namespace {

// How many steps of spread and random differ.
constexpr int kPeriod = 8;

constexpr std::array<std::pair<const char*, Pattern>, 9> kPatterns{{
    {"trivial", Pattern::trivial},
    {"stencil", Pattern::stencil},
    {"stencil_periodic", Pattern::stencil_periodic},
    {"nearest", Pattern::nearest},
    {"spread", Pattern::spread},
    {"fft", Pattern::fft},
    {"tree", Pattern::tree},
    {"random", Pattern::random},
    {"all_to_all", Pattern::all_to_all},
}};

int set_count(const Shape& shape) {
  switch (shape.pattern) {
    case Pattern::fft:
      return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(shape.width - 1))));
    case Pattern::spread:
    case Pattern::random:
      return kPeriod;
    default:
      return 1;
  }
}

bool is_drawn(const Shape& shape, int set, int from, int to) {
  Value value = shape.seed;
  for (const int part : {set, from, to}) value = mix(value + static_cast<Value>(part) + 1);
  return value % 2 == 0;
}

// Columns that lie outside are to be left out.
std::vector<int> candidates(const Shape& shape, int set, int column) {
  std::vector<int> found;
  const auto add = [&](int first, int last) {
    for (int i = first; i <= last; ++i) found.push_back(i);
  };
  switch (shape.pattern) {
    case Pattern::trivial:
      break;
    case Pattern::stencil:
      add(column - 1, column + 1);
      break;
    case Pattern::stencil_periodic:
      found = {(column + shape.width - 1) % shape.width, column, (column + 1) % shape.width};
      break;
    case Pattern::nearest:
      add(column - shape.radix / 2, column + (shape.radix - 1) / 2);
      break;
    case Pattern::spread:
      for (int i = 0; i < shape.radix; ++i) {
        found.push_back((column + i * shape.width / shape.radix + (i > 0 ? set : 0)) % shape.width);
      }
      break;
    case Pattern::fft:
      found = {column - (1 << set), column, column + (1 << set)};
      break;
    case Pattern::tree:
      found = {column / 2};
      break;
    case Pattern::random:
      add(column - shape.radix / 2, column + (shape.radix - 1) / 2);
      std::erase_if(
          found, [&](int from) { return from != column && !is_drawn(shape, set, from, column); });
      break;
    case Pattern::all_to_all:
      add(0, shape.width - 1);
      break;
  }
  return found;
}

}  // namespace

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const auto& [name, pattern] : kPatterns) names.emplace_back(name);
  return names;
}

Pattern pattern_of(const std::string& name) {
  for (const auto& [known, pattern] : kPatterns) {
    if (name == known) return pattern;
  }
  throw std::invalid_argument("there is no pattern " + name);
}

Graph::Graph(const Shape& shape)
    : shape_(shape),
      sets_(set_count(shape)),
      edges_(static_cast<std::size_t>(sets_) * static_cast<std::size_t>(shape.width)) {
  if (shape.steps < 1 || shape.width < 1 || shape.radix < 1) {
    throw std::invalid_argument("a graph has at least one step, column and dependency");
  }
  const auto width = static_cast<std::size_t>(shape.width);
  for (int set = 0; set < sets_; ++set) {
    const std::span<Edges> columns =
        std::span(edges_).subspan(static_cast<std::size_t>(set) * width, width);
    for (int column = 0; column < shape.width; ++column) {
      const std::vector<int> all = candidates(shape, set, column);
      for (const int from : std::set<int>(all.begin(), all.end())) {
        if (from < 0 || from >= shape.width) continue;
        columns[static_cast<std::size_t>(column)].dependencies.push_back(from);
        columns[static_cast<std::size_t>(from)].dependants.push_back(column);
      }
    }
  }
}

int Graph::width_at(int step) const {
  if (shape_.pattern != Pattern::tree || step >= 30) return shape_.width;
  return std::min(shape_.width, 1 << step);
}

std::int64_t Graph::task_count() const {
  std::int64_t count = 0;
  for (int step = 0; step < steps(); ++step) count += width_at(step);
  return count;
}

}  // namespace metg

#pragma once
// Inputs of graph tasks that take any number of values.

#include <shoal/archive.hpp>

#include <vector>

namespace shoal {

/// Parameter of a task's function that takes every value sent to its input: as many as come before
/// the task has all its dependencies, in no particular order.
template <class V>
struct Gathered {
  static_assert(!wire::holds_view_v<V>,
                "shoal: a graph keeps the values that it gathers, and a view owns none: take "
                "std::vector or std::string");
  /// The values.
  std::vector<V> values;
};

}  // namespace shoal

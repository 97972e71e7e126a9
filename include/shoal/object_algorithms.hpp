#pragma once
// Algorithms on distributed arrays: collective over the array's team.

#include <shoal/distributed_array.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace shoal {

/// Calls f(element) for each element, on its owner; returns when all ranks have done so.
/// Collective. If the elements are distributed objects themselves, f may call algorithms on them.
template <class T, class F>
void for_each(DistributedArray<T>& array, F f) {
  for (T& element : array.local()) f(element);
  array.barrier();
}

/// Combines map(element) of all elements with operation(a, b), in the order of ranks and, on each,
/// of indices; returns the result on every rank, and nothing for an empty array. Collective.
template <class T, class Map, class Operation>
[[nodiscard]] auto map_reduce(const DistributedArray<T>& array, Map map, Operation operation) {
  using Value = std::decay_t<decltype(map(std::declval<const T&>()))>;
  team::check_operation<Value, Operation>();
  std::optional<Value> own;
  for (const T& element : array.local()) {
    own = own.has_value() ? operation(*own, map(element)) : map(element);
  }
  return array.team().allreduce(
      own,
      [&](const std::optional<Value>& a, const std::optional<Value>& b) -> std::optional<Value> {
        if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
        return operation(*a, *b);
      });
}

/// Returns the smallest element on every rank; nothing for an empty array. Collective.
template <class T>
[[nodiscard]] std::optional<T> min_element(const DistributedArray<T>& array) {
  return map_reduce(
      array, [](const T& element) { return element; },
      [](const T& a, const T& b) { return std::min(a, b); });
}

/// Returns the sum of the products of the elements of two arrays with the same distribution, on
/// every rank. Collective.
template <class T>
[[nodiscard]] T inner_product(const DistributedArray<T>& a, const DistributedArray<T>& b) {
  SHOAL_CHECK(a.local().size() == b.local().size(),
              "inner_product() on rank {}: the arrays have {} and {} elements there: give both one "
              "size and distribution",
              a.rank().value(), a.local().size(), b.local().size());
  T own{};
  for (std::size_t i = 0; i < a.local().size(); ++i) own += a.local()[i] * b.local()[i];
  return a.team().allreduce(own, std::plus<>());
}

/// Sorts the elements of a balanced array in ascending order, by a sample sort. Collective.
template <class T>
void sort(DistributedArray<T>& array) {
  Team& team = array.team();
  const auto ranks = static_cast<std::size_t>(team.size());
  std::vector<T>& local = array.local();
  std::sort(local.begin(), local.end());
  std::vector<T> samples;
  for (std::size_t i = 0; i < ranks && !local.empty(); ++i) {
    samples.push_back(local[i * local.size() / ranks]);
  }
  std::vector<T> all;
  for (const std::vector<T>& some : team.allgather(samples)) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<std::vector<T>> parts(ranks);
  for (T& element : local) {
    const auto above = std::upper_bound(all.begin(), all.end(), element) - all.begin();
    const std::size_t part = static_cast<std::size_t>(above) * ranks / (all.size() + 1);
    parts[part].push_back(std::move(element));
  }
  std::vector<T> mine;
  for (std::vector<T>& some : team.alltoall(parts)) {
    mine.insert(mine.end(), std::move_iterator(some.begin()), std::move_iterator(some.end()));
  }
  std::sort(mine.begin(), mine.end());
  const std::size_t first = team.exclusive_scan(mine.size(), std::plus<>(), std::size_t{0});
  array.set_range(first, mine);
  array.fence();
}

}  // namespace shoal

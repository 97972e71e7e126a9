#pragma once
// Arrays of distributed arrays, each of which has a team of its own, and algorithms on them.

#include <shoal/object_algorithms.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Inner arrays 0 to size() - 1, each distributed over a team of its own: all ranks of the outer
/// array's team, or some. An inner array is a section: its collective operations, and the
/// algorithms on it, take part on its members only, and on a rank run in the order of the inner
/// arrays. Elements are named by two indices, from any rank of the outer team. Made, and destroyed,
/// as every distributed object; sends nothing. **Source**: stapl-rts thesis, 7.2.1.
template <class T>
class DistributedArray<DistributedArray<T>>  // NOLINT(readability-identifier-naming)
    : public DistributedObject<DistributedArray<DistributedArray<T>>> {
 public:
  /// Type of an inner array.
  using value_type = DistributedArray<T>;

  /// Makes sizes.size() inner arrays, with `sizes[i]` elements on all ranks of `team`. Collective:
  /// `sizes` is the same on all ranks.
  DistributedArray(Team& team, const std::vector<std::size_t>& sizes)
      : DistributedArray(team, sizes, [&team](std::size_t /*which*/) {
          std::vector<Rank> all;
          for (int rank = 0; rank < team.size(); ++rank) all.emplace_back(rank);
          return all;
        }) {}
  /// Makes sizes.size() inner arrays: array i has `sizes[i]` elements on the ranks `ranks_of(i)` of
  /// `team`, a std::vector<Rank>. Collective: `sizes` and `ranks_of` are the same on all ranks.
  template <class RanksOf>
    requires std::is_invocable_r_v<std::vector<Rank>, RanksOf&, std::size_t>
  DistributedArray(Team& team, const std::vector<std::size_t>& sizes, RanksOf ranks_of)
      : DistributedObject<DistributedArray>(team) {
    for (std::size_t which = 0; which < sizes.size(); ++which) {
      inner_.push_back(std::make_unique<Inner>(team, ranks_of(which), sizes[which]));
    }
    // Making an inner array may wait: invocations of ranks that are done wait for this one.
    this->advance_epoch();
  }

  /// Number of inner arrays.
  [[nodiscard]] std::size_t size() const { return inner_.size(); }
  /// Number of elements of one.
  [[nodiscard]] std::size_t size(std::size_t which) const { return at(which).elements.size(); }
  /// Returns whether this rank is a member of the team of an inner array.
  [[nodiscard]] bool is_member(std::size_t which) const { return at(which).team.is_member(); }
  /// Rank that owns an element.
  [[nodiscard]] Rank owner(std::size_t which, std::size_t index) const {
    const Inner& inner = at(which);
    return inner.ranks[static_cast<std::size_t>(inner.elements.owner(index).value())];
  }
  /// Returns an inner array. **Errors**: CheckError on a rank that is no member of its team.
  [[nodiscard]] DistributedArray<T>& inner(std::size_t which) { return *checked(which).array; }
  /// Returns an inner array that cannot be changed. **Errors**: CheckError on a rank that is no
  /// member of its team.
  [[nodiscard]] const DistributedArray<T>& inner(std::size_t which) const {
    return *checked(which).array;
  }
  /// Calls f(index, array) for each inner array that has elements on this rank, in order.
  template <class F>
  void for_each_local(F f) {
    for (std::size_t which = 0; which < size(); ++which) {
      if (is_member(which)) f(which, inner(which));
    }
  }
  /// Calls f(index, array) for each inner array that has elements on this rank, in order; f cannot
  /// change them.
  template <class F>
  void for_each_local(F f) const {
    for (std::size_t which = 0; which < size(); ++which) {
      if (is_member(which)) f(which, inner(which));
    }
  }

  // --- single elements. **Errors**: CheckError for an element that does not exist.

  /// Value of an element.
  [[nodiscard]] Future<T> get(std::size_t which, std::size_t index) const {
    return this->template call<&DistributedArray::get_here>(owner(which, index), which, index);
  }
  /// Replaces an element.
  void set(std::size_t which, std::size_t index, T value) const {
    this->template async<&DistributedArray::set_here>(owner(which, index), which, index,
                                                      std::move(value));
  }
  /// Runs `Function(element, args...)` on its owner: a function, or a lambda without captures.
  template <auto Function, class... Args>
  void apply(std::size_t which, std::size_t index, Args&&... args) const {
    object::check_applied<Function, 1>(this->place_of_object(), args...);
    this->template async<&DistributedArray::template apply_here<Function, std::decay_t<Args>...>>(
        owner(which, index), which, index, std::forward<Args>(args)...);
  }

 private:
  struct Inner {
    Inner(Team& outer, std::vector<Rank> members, std::size_t size)
        : ranks(std::move(members)),
          elements(Distribution::balanced(size, static_cast<int>(ranks.size()))),
          team(outer, ranks, "inner array") {
      if (team.is_member()) array = std::make_unique<DistributedArray<T>>(team, elements);
    }
    const std::vector<Rank> ranks;  // of the outer team
    const Distribution elements;
    Team team;
    std::unique_ptr<DistributedArray<T>> array;  // on members
  };

  [[nodiscard]] Inner& at(std::size_t which) const {
    if (which >= size()) [[unlikely]]
      object::refuse_element(this->place_of_object(), which, size());
    return *inner_[which];
  }
  [[nodiscard]] Inner& checked(std::size_t which) const {
    Inner& inner = at(which);
    SHOAL_CHECK(inner.array != nullptr,
                "rank {} has no part of inner array {}: only its members use it as an array",
                this->rank().value(), which);
    return inner;
  }
  [[nodiscard]] T& element(std::size_t which, std::size_t index) const {
    Inner& inner = checked(which);
    if (index < inner.elements.size()) [[likely]] {
      const auto [owner, place] = inner.elements.locate(index);
      if (owner == inner.team.rank()) [[likely]]
        return inner.array->local()[place];
    }
    object::refuse_distribution(this->place_of_object(), index, inner.elements.size());
  }
  [[nodiscard]] T get_here(std::size_t which, std::size_t index) const {
    return element(which, index);
  }
  void set_here(std::size_t which, std::size_t index, T value) {
    element(which, index) = std::move(value);
  }
  template <auto Function, class... Args>
  void apply_here(std::size_t which, std::size_t index, const Args&... args) {
    Function(element(which, index), args...);
  }

  std::vector<std::unique_ptr<Inner>> inner_;
};

/// Array of arrays.
template <class T>
using ComposedArray = DistributedArray<DistributedArray<T>>;

// Algorithms on composed arrays: collective over the outer team; each runs its nested form on the
// members of each inner array.

/// Runs f(inner array) on all members of each, or, if f takes elements, f(element) on each.
template <class T, class F>
void for_each(ComposedArray<T>& array, F f) {
  array.for_each_local([&](std::size_t /*which*/, DistributedArray<T>& inner) {
    if constexpr (std::is_invocable_v<F&, DistributedArray<T>&>) {
      f(inner);
    } else {
      for_each(inner, f);
    }
  });
  array.barrier();
}

/// Combines values of `map` with operation(a, b), in the order of the ranks that have the values;
/// returns the result on all ranks, or nothing if there is no value. If `map` takes an inner array,
/// all members of that array call it, and the value of rank 0 of its team counts; else `map` takes
/// each element.
template <class T, class Map, class Operation>
[[nodiscard]] auto map_reduce(const ComposedArray<T>& array, Map map, Operation operation) {
  const auto of_inner = [&](const DistributedArray<T>& inner) {
    if constexpr (std::is_invocable_v<Map&, const DistributedArray<T>&>) {
      return std::optional<std::decay_t<decltype(map(inner))>>(map(inner));
    } else {
      return map_reduce(inner, map, operation);
    }
  };
  using Value = std::decay_t<decltype(of_inner(std::declval<const DistributedArray<T>&>()))>;
  const auto both = [&](const Value& a, const Value& b) -> Value {
    if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
    return operation(*a, *b);
  };
  Value own;
  array.for_each_local([&](std::size_t /*which*/, const DistributedArray<T>& inner) {
    const Value value = of_inner(inner);
    if (inner.rank() == 0) own = both(own, value);
  });
  return array.team().allreduce(own, both);
}

/// The least element of all inner arrays; nothing if there is none.
template <class T>
[[nodiscard]] std::optional<T> min_element(const ComposedArray<T>& array) {
  return map_reduce(
      array, [](const T& element) { return element; },
      [](const T& a, const T& b) { return std::min(a, b); });
}

/// Sum of the inner products of inner arrays, which are distributed alike.
template <class T>
[[nodiscard]] T inner_product(const ComposedArray<T>& a, const ComposedArray<T>& b) {
  SHOAL_CHECK(
      a.size() == b.size(),
      "inner_product() on rank {}: the arrays have {} and {} inner arrays: give both as many",
      a.rank().value(), a.size(), b.size());
  T own{};
  a.for_each_local([&](std::size_t which, const DistributedArray<T>& inner) {
    const T product = inner_product(inner, b.inner(which));
    if (inner.rank() == 0) own += product;
  });
  return a.team().allreduce(own, std::plus<>());
}

/// Sorts the elements of each inner array.
template <class T>
void sort(ComposedArray<T>& array) {
  array.for_each_local([](std::size_t /*which*/, DistributedArray<T>& inner) { sort(inner); });
  array.barrier();
}

}  // namespace shoal

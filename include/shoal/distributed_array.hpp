#pragma once
// Arrays with elements on all ranks of a team.

#include <shoal/detail/object/applied.hpp>
#include <shoal/distributed_object.hpp>
#include <shoal/distribution.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace shoal {

/// Elements 0 to size() - 1, each on the rank that its distribution says. Made, and destroyed, as
/// every distributed object. Operations on single elements are invocations on their owners: they
/// come in causal order, and each is atomic. T may be a distributed object itself, made on a team
/// of its own (see local()).
template <class T>
class DistributedArray : public DistributedObject<DistributedArray<T>> {
 public:
  /// Type of an element.
  using value_type = T;

  static_assert(!wire::holds_view_v<T>,
                "shoal: a DistributedArray keeps its elements, and a view owns none: take "
                "std::string or std::vector");

  /// Makes an array of `size` elements T(), distributed evenly.
  DistributedArray(Team& team, std::size_t size)
      : DistributedArray(team, Distribution::balanced(size, team.size())) {}
  /// Makes an array of elements T() with the given distribution.
  DistributedArray(Team& team, Distribution distribution)
      : DistributedObject<DistributedArray>(team),
        distribution_(std::move(distribution)),
        elements_(distribution_.count(team.rank())) {}

  /// Number of elements on all ranks.
  [[nodiscard]] std::size_t size() const { return distribution_.size(); }
  /// Owners of the elements.
  [[nodiscard]] const Distribution& distribution() const { return distribution_; }
  /// Elements of this rank, in the order of their indices. They may be used where no invocation
  /// runs: see DistributedObject.
  [[nodiscard]] std::vector<T>& local() { return elements_; }
  /// Returns the elements of this rank, in the order of their indices; they cannot be changed. They
  /// may be used where no invocation runs: see DistributedObject.
  [[nodiscard]] const std::vector<T>& local() const { return elements_; }
  /// Index of an element of this rank.
  [[nodiscard]] std::size_t index_of(std::size_t place) const {
    return distribution_.index(this->rank(), place);
  }

  // --- single elements. **Errors**: CheckError for an element that does not exist.

  /// Value of an element.
  [[nodiscard]] Future<T> get(std::size_t index) const {
    return this->template call<&DistributedArray::get_here>(owner(index), index);
  }
  /// Replaces an element.
  void set(std::size_t index, T value) const {
    this->template async<&DistributedArray::set_here>(owner(index), index, std::move(value));
  }
  /// Runs `Function(element, args...)`, a function or a lambda without captures, on the owner of
  /// the element.
  template <auto Function, class... Args>
  void apply(std::size_t index, Args&&... args) const {
    object::check_applied<Function, 1>(this->place_of_object(), args...);
    this->template async<&DistributedArray::template apply_here<Function, std::decay_t<Args>...>>(
        owner(index), index, std::forward<Args>(args)...);
  }
  /// Runs `Function(element, args...)`, a function or a lambda without captures, on the owner of
  /// the element; returns the future of its result.
  template <auto Function, class... Args>
  [[nodiscard]] auto apply_call(std::size_t index, Args&&... args) const {
    object::check_applied<Function, 1>(this->place_of_object(), args...);
    return this
        ->template call<&DistributedArray::template apply_here<Function, std::decay_t<Args>...>>(
            owner(index), index, std::forward<Args>(args)...);
  }

  // --- ranges: one message for each run of elements with one owner

  /// Replaces the elements from `first` on.
  void set_range(std::size_t first, std::span<const T> values) const {
    for_runs(first, values.size(), [&](Rank owner, std::size_t at, std::size_t count) {
      this->template async<&DistributedArray::set_run>(owner, first + at,
                                                       values.subspan(at, count));
    });
  }
  /// Values of `count` elements from `first` on.
  [[nodiscard]] Future<std::vector<T>> get_range(std::size_t first, std::size_t count) const {
    std::vector<Future<std::vector<T>>> runs;
    for_runs(first, count, [&](Rank owner, std::size_t at, std::size_t length) {
      runs.push_back(this->template call<&DistributedArray::get_run>(owner, first + at, length));
    });
    return when_all(std::move(runs)).then([](std::vector<std::vector<T>> parts) {
      std::vector<T> all;
      for (std::vector<T>& part : parts) {
        all.insert(all.end(), std::move_iterator(part.begin()), std::move_iterator(part.end()));
      }
      return all;
    });
  }

 private:
  [[nodiscard]] Rank owner(std::size_t index) const {
    if (index >= size()) [[unlikely]]
      object::refuse_element(this->place_of_object(), index, size());
    return distribution_.owner(index);
  }
  /// Returns the local index of the first of `count` elements that a sender expects on this rank.
  /// Checks that they are here: the sender may have another distribution.
  [[nodiscard]] std::size_t place_here(std::size_t index, std::size_t count = 1) const {
    if (index < size() && (count <= 1 || count <= distribution_.run(index))) [[likely]] {
      const auto [owner, place] = distribution_.locate(index);
      if (owner == this->rank()) [[likely]]
        return place;
    }
    object::refuse_distribution(this->place_of_object(), index, size());
  }
  [[nodiscard]] T get_here(std::size_t index) const { return elements_[place_here(index)]; }
  void set_here(std::size_t index, T value) { elements_[place_here(index)] = std::move(value); }
  template <auto Function, class... Args>
  auto apply_here(std::size_t index, const Args&... args) {
    return Function(elements_[place_here(index)], args...);
  }
  void set_run(std::size_t first, std::span<const T> values) {
    const auto place = static_cast<std::ptrdiff_t>(place_here(first, values.size()));
    std::copy(values.begin(), values.end(), elements_.begin() + place);
  }
  [[nodiscard]] std::vector<T> get_run(std::size_t first, std::size_t count) const {
    const auto from = elements_.begin() + static_cast<std::ptrdiff_t>(place_here(first, count));
    return std::vector<T>(from, from + static_cast<std::ptrdiff_t>(count));
  }
  /// Calls run(owner, offset, length) for each longest run of elements that are contiguous on one
  /// owner.
  template <class Run>
  void for_runs(std::size_t first, std::size_t count, Run run) const {
    if (first > size() || count > size() - first) [[unlikely]]
      object::refuse_element(this->place_of_object(), std::max(first, size()), size());
    for (std::size_t at = 0; at < count;) {
      const std::size_t length = std::min(count - at, distribution_.run(first + at));
      run(distribution_.owner(first + at), at, length);
      at += length;
    }
  }

  const Distribution distribution_;
  std::vector<T> elements_;
};

}  // namespace shoal

#pragma once
// Maps with entries on all ranks of a team.

#include <shoal/detail/object/applied.hpp>
#include <shoal/distributed_object.hpp>
#include <shoal/key.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

namespace shoal {

/// Entries by key, each on the rank that the hash of its key says. Operations are invocations on
/// that rank: they come in causal order, and each is atomic.
template <HashableKey K, class V>
class DistributedMap : public DistributedObject<DistributedMap<K, V>> {
 public:
  static_assert(!wire::holds_view_v<K> && !wire::holds_view_v<V>,
                "shoal: a DistributedMap keeps its entries, and a view owns none: take "
                "std::string or std::vector");

  /// Entries of one rank.
  using Local = std::unordered_map<K, V, KeyHash<K>>;

  /// An empty map.
  explicit DistributedMap(Team& team) : DistributedObject<DistributedMap>(team) {}

  /// Rank that keeps the entry of a key.
  [[nodiscard]] Rank owner(const K& key) const {
    return Rank(
        static_cast<int>(KeyHash<K>()(key) % static_cast<std::uint64_t>(this->team().size())));
  }
  /// Entries of this rank. They may be used where no invocation runs: see DistributedObject.
  [[nodiscard]] Local& local() { return entries_; }
  /// Returns the entries of this rank; they cannot be changed. They may be used where no invocation
  /// runs: see DistributedObject.
  [[nodiscard]] const Local& local() const { return entries_; }

  /// Sets the value of an entry, and replaces an earlier one.
  void insert(const K& key, V value) const {
    this->template async<&DistributedMap::insert_here>(owner(key), key, std::move(value));
  }
  /// Removes an entry, if there is one.
  void erase(const K& key) const {
    this->template async<&DistributedMap::erase_here>(owner(key), key);
  }
  /// Value of an entry, or nothing.
  [[nodiscard]] Future<std::optional<V>> find(const K& key) const {
    return this->template call<&DistributedMap::find_here>(owner(key), key);
  }
  /// Runs `Function(value, args...)`, a function or a lambda without captures, on the rank of the
  /// entry; the entry is V() if there was none.
  template <auto Function, class... Args>
  void apply(const K& key, Args&&... args) const {
    object::check_applied<Function, 1>(this->place_of_object(), args...);
    this->template async<&DistributedMap::template apply_here<Function, std::decay_t<Args>...>>(
        owner(key), key, std::forward<Args>(args)...);
  }
  /// Runs `Function(value, args...)`, a function or a lambda without captures, on the rank of the
  /// entry; returns the future of its result. The entry is V() if there was none.
  template <auto Function, class... Args>
  [[nodiscard]] auto apply_call(const K& key, Args&&... args) const {
    object::check_applied<Function, 1>(this->place_of_object(), args...);
    return this
        ->template call<&DistributedMap::template apply_here<Function, std::decay_t<Args>...>>(
            owner(key), key, std::forward<Args>(args)...);
  }
  /// Runs `Function(key, value, args...)` on the rank of the entry, if there is one.
  template <auto Function, class... Args>
  void visit(const K& key, Args&&... args) const {
    object::check_applied<Function, 2>(this->place_of_object(), args...);
    this->template async<&DistributedMap::template visit_here<Function, std::decay_t<Args>...>>(
        owner(key), key, std::forward<Args>(args)...);
  }
  /// Adds to the entry, which is V() if there was none.
  void count(const K& key, const V& more = V(1)) const {
    apply<[](V& value, const V& added) { value += added; }>(key, more);
  }
  /// value = Operation(value, more), or `more` if there was no entry.
  template <class Operation>
  void reduce(const K& key, const V& more) const {
    this->template async<&DistributedMap::template reduce_here<Operation>>(owner(key), key, more);
  }
  /// Number of entries on all ranks. Collective, as Team::allreduce().
  [[nodiscard]] std::size_t size() const {
    return this->team().allreduce(entries_.size(), std::plus<>());
  }

 private:
  void insert_here(K key, V value) { entries_.insert_or_assign(std::move(key), std::move(value)); }
  void erase_here(const K& key) { entries_.erase(key); }
  [[nodiscard]] std::optional<V> find_here(const K& key) const {
    const auto it = entries_.find(key);
    return it != entries_.end() ? std::optional<V>(it->second) : std::nullopt;
  }
  template <auto Function, class... Args>
  auto apply_here(const K& key, const Args&... args) {
    return Function(entries_[key], args...);
  }
  template <auto Function, class... Args>
  void visit_here(const K& key, const Args&... args) {
    const auto it = entries_.find(key);
    if (it != entries_.end()) Function(it->first, it->second, args...);
  }
  template <class Operation>
  void reduce_here(const K& key, const V& more) {
    const auto [it, is_new] = entries_.try_emplace(key, more);
    if (!is_new) it->second = Operation()(it->second, more);
  }

  Local entries_;
};

}  // namespace shoal

#pragma once
// Counters of the dependencies that each task has and needs: a hash table for keys of any kind, and
// an array for dense keys.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/key.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace shoal::graph {

/// Outcome of fulfilling a dependency.
enum class [[nodiscard]] Fulfill {
  waiting,  ///< more dependencies are missing
  ready,    ///< the last one: only the caller now runs the task
  over,     ///< refused, nothing changed: more than the indegree
  ran,      ///< refused, nothing changed: the task became ready before (DenseTable only)
};

/// Counters of a key: 0 <= fulfilled <= indegree, 1 <= indegree.
struct Entry {
  // Initializes nothing: most calls fill no entry.
  Entry() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init)
  Entry(int fulfilled, int indegree) : fulfilled(fulfilled), indegree(indegree) {}

  int fulfilled;
  int indegree;
};

/// The keys that have been fulfilled in part. A key is stored from its first dependency to its
/// last; then nothing of it is kept, and the next fulfillment counts from zero again. 45 bytes per
/// key of 12 bytes at worst while the table grows.
///
/// Caller: one thread at a time. Blocks: never.
/// Errors: exceptions of K's copy and of memory leave the table unchanged; hash and equality of K
/// must not throw.
template <class K>
class DependencyTable {
 public:
  /// Counts `count` >= 1 of the `indegree` >= 1 dependencies of `key` as fulfilled; the indegree
  /// counts for a key that is not in the table. `hash`: KeyHash<K>. `refused` receives the counters
  /// when the result is Fulfill::over.
  /// Cost: amortized constant; a key whose first fulfillment is its last is never stored.
  SHOAL_ALWAYS_INLINE Fulfill fulfill(std::uint64_t hash, const K& key, int count, int indegree,
                                      Entry& refused) {
    const auto upper = static_cast<std::uint32_t>(hash >> 32U);
    auto* const slot = counters_.locate(upper, key);
    if (slot->used()) {
      Counters& counters = slot->value();
      const int left = counters.remaining - count;
      if (left < 0) {
        refused = counters.entry();
        return Fulfill::over;
      }
      counters.remaining = left;
      if (left > 0) return Fulfill::waiting;
      counters_.erase(slot);
      return Fulfill::ready;
    }
    if (count > indegree) {
      refused = {0, indegree};
      return Fulfill::over;
    }
    if (count == indegree) return Fulfill::ready;
    counters_.insert(slot, upper, key, {indegree - count, indegree});
    return Fulfill::waiting;
  }

  /// Keys that wait.
  [[nodiscard]] std::size_t size() const { return counters_.size(); }

  /// Calls visitor(const K& key, const Entry& entry) for every waiting key, in no order.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    counters_.for_each(
        [&](const K& key, const Counters& counters) { visitor(key, counters.entry()); });
  }

 private:
  struct Counters {
    [[nodiscard]] Entry entry() const { return {indegree - remaining, indegree}; }
    std::int32_t remaining;  // of the indegree; at least 1
    std::int32_t indegree;
  };
  // So few keys, as most tables have, are sparse.
  static constexpr std::size_t kCapacityMin = 128;

  // The lower half of the hash has chosen this table among others.
  struct UpperHalf {
    constexpr std::uint32_t operator()(const K& key) const {
      return static_cast<std::uint32_t>(KeyHash<K>{}(key) >> 32U);
    }
  };

  FlatMap<K, Counters, UpperHalf, kCapacityMin> counters_;
};

/// Table for indices 0 <= index < n, in 4 bytes each, with no lock. Unlike DependencyTable, it
/// remembers which tasks ran.
/// Caller: any thread. Blocks: never (lock-free).
/// Ordering: all that happened before any fulfillment of an index happens before the return of the
/// one that gets Fulfill::ready.
class DenseTable {
 public:
  explicit DenseTable(std::size_t n)
      : remaining_(std::make_unique<std::atomic<std::int32_t>[]>(n)), n_(n) {}

  /// Counts `count` >= 1 of the `indegree` >= 1 dependencies of `index` as fulfilled; the indegree
  /// is the same in all calls for one index. `after` receives the counters after the call.
  Fulfill fulfill(std::size_t index, int count, int indegree, Entry& after) {
    std::atomic<std::int32_t>& cell = remaining_[index];
    // relaxed: only a guess, the exchange below checks it
    std::int32_t seen = cell.load(std::memory_order_relaxed);
    while (true) {
      after = {indegree, indegree};
      if (seen == has_run) return Fulfill::ran;
      const std::int32_t remaining = seen == never_seen ? indegree : seen;
      after.fulfilled = indegree - remaining;
      if (count > remaining) return Fulfill::over;
      const std::int32_t left = remaining - count;
      // release: writes of this caller; acquire, for the last one: writes of all before it. The
      // exchanges of one cell form a release sequence.
      if (cell.compare_exchange_weak(seen, left == 0 ? has_run : left, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
        after.fulfilled = indegree - left;
        return left == 0 ? Fulfill::ready : Fulfill::waiting;
      }
    }
  }

  /// Calls visitor(std::size_t index, int remaining) for every waiting index, in order. While other
  /// threads fulfil, each index is seen as it was at some moment of the call. Cost: linear in n.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (std::size_t index = 0; index < n_; ++index) {
      // relaxed: a snapshot of one counter; nothing else is read on its account
      const std::int32_t remaining = remaining_[index].load(std::memory_order_relaxed);
      if (remaining > 0) visitor(index, int{remaining});
    }
  }

  /// All tasks may run again. Caller: while no other thread uses the table.
  void reset() {
    for (std::size_t index = 0; index < n_; ++index) {
      // relaxed: the operation that lets others continue makes it visible to them
      remaining_[index].store(never_seen, std::memory_order_relaxed);
    }
  }

  /// Indices 0 <= index < capacity().
  [[nodiscard]] std::size_t capacity() const { return n_; }

 private:
  static constexpr std::int32_t never_seen = 0;
  static constexpr std::int32_t has_run = -1;

  // Any thread reads and writes, by compare-exchange only. 0 -> remaining -> ... -> -1, and back
  // by reset() only.
  std::unique_ptr<std::atomic<std::int32_t>[]> remaining_;
  std::size_t n_;
};

/// Names of the tasks and handlers that have fulfilled a key.
struct Fulfillers {
  int count = 0;      // of dependencies
  bool done = false;  // the task is ready or has run
  std::string names;  // the first ones
  /// Adds the caller of a fulfillment, also of one that is refused.
  void add(int dependencies, const std::string& activity);
};

/// Returns the name of the task or handler that calls.
[[nodiscard]] std::string fulfiller();

[[noreturn]] void refuse_over(const std::string& task, const Entry& entry, int count,
                              const std::string& culprit, const std::string& names);
[[noreturn]] void refuse_again(const std::string& task, int indegree, const std::string& culprit,
                               const std::string& names);

/// Keys that were fulfilled since the last forget(). Used under `mutex`, which is held while the
/// key's dependencies are counted: else a task that has just become ready could begin again.
template <class K>
struct History {
  sync::Mutex mutex;
  FlatMap<K, Fulfillers> keys SHOAL_GUARDED_BY(mutex);

  void forget() {
    const sync::Lock lock(mutex);
    keys.clear();
  }
};

}  // namespace shoal::graph

#pragma once
// Records the tasks of a graph that ran, to name the caller that fulfills one too often.

#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/graph/dependency_table.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <cstdint>
#include <string>

namespace shoal::graph {

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

#pragma once
// Dependencies between accesses to the same data, in the order of insertion: for traces, and for
// the graph of a flow.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace shoal::flow {

/// Accesses to one datum, as far as later ones depend on them.
class AccessOrder {
 public:
  /// Adds an access of the task `id`, and calls need(other) for each that it has to wait for. Reads
  /// do not wait for each other, nor do commutative accesses, reductions and scratch memory.
  template <class Need>
  void add(Mode mode, std::uint64_t id, Need need) {
    const bool is_exclusive = mode == Mode::write || mode == Mode::read_write;
    if (is_exclusive || mode != mode_) {
      mode_ = mode;
      before_ = std::move(last_);
      last_.clear();
    }
    for (const std::uint64_t other : before_) {
      if (other != 0 && other != id) need(other);
    }
    last_.push_back(id);
  }

 private:
  Mode mode_ = Mode::scratch;
  std::vector<std::uint64_t> last_;    // of one kind
  std::vector<std::uint64_t> before_;  // those that each of the last ones waits for
};

/// Records what the tasks of a rank wait for: each access for those before it on its instance, also
/// where these have ended. **Caller**: any inserter.
class Dependencies {
 public:
  /// The task is about to enter the queues of its accesses, and holds some instances already.
  void add(FlowTask& task, std::span<Instance* const> held = {});
  /// The instance is a new one, without accesses.
  void forget(const Instance& instance);

 private:
  void add(const FlowTask& task, std::uint64_t id, FunctionRef<void(std::uint64_t other)> need);

  sync::Mutex mutex_;
  std::unordered_map<const Instance*, AccessOrder> orders_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::flow

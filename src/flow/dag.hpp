#pragma once
// The graph of a flow, as it is inserted.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include "flow/instance.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
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
  /// The task is about to enter the queues of its accesses, and holds some instances already. The
  /// program has inserted it at `place`, if that is known.
  void add(FlowTask& task, std::span<Instance* const> held = {},
           const std::source_location& place = {});
  /// The instance is a new one, without accesses.
  void forget(const Instance& instance);

 private:
  void add(const FlowTask& task, std::uint64_t id, FunctionRef<void(std::uint64_t other)> need);

  sync::Mutex mutex_;
  std::unordered_map<const Instance*, AccessOrder> orders_ SHOAL_GUARDED_BY(mutex_);
};

/// Writes the tasks of all ranks, their accesses, dependencies and transfers for Graphviz; the
/// tasks need not run. **Caller**: the inserters of rank 0.
class Dag {
 public:
  /// **Errors**: Error if the file cannot be made.
  Dag(std::string path, const std::string& flow);
  /// A graph that was not finished stays as far as it is.
  ~Dag() = default;
  Dag(const Dag&) = delete;
  Dag& operator=(const Dag&) = delete;

  /// Adds a task that runs on `rank`. `name` is that of its codelet.
  void add(std::string_view name, std::span<const Request> requests, int rank);
  /// Ends the file. **Errors**: Error if it was not written as a whole.
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  /// A datum as far as tasks were inserted.
  struct Datum {
    AccessOrder order;
    std::uint64_t writer = 0;  // the last task that has written it; 0: none
    bool has_node = false;     // of its initial value
  };

  void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_.get()); }
  void add_access(std::uint64_t task, const Request& request, int rank) SHOAL_REQUIRES(mutex_);
  void add_transfer(const std::string& from, std::uint64_t to, const Handle& handle, int source,
                    int target);

  const std::string path_;
  sync::Mutex mutex_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unordered_map<std::uint64_t, Datum> data_ SHOAL_GUARDED_BY(mutex_);  // by id
  std::vector<int> ranks_ SHOAL_GUARDED_BY(mutex_) = {0};                   // by task, from 1
};

}  // namespace shoal::flow

#pragma once
// A small graph of tasks of one rank that is built once and runs many times.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

class TaskGroup;

/// Options of a run of a StaticGraph.
struct StaticGraphOptions {
  /// Priority of the tasks; nullopt: that of the calling task.
  std::optional<int> priority = {};
};

/// Tasks and the order in which they run. Built by one task, then run by one at a time.
///
/// A condition is a task that returns the number of the one of its successors that runs next, at
/// once and without its other predecessors; with another number none does. So a graph has loops
/// and branches: a successor of conditions alone runs only when one of them chooses it.
/// **Source**: T.-W. Huang et al., "Taskflow", TPDS 2022.
class StaticGraph {
 public:
  class Node;

  /// An empty graph; `name` is used in errors and reports.
  explicit StaticGraph(std::string name = "a static graph") : name_(std::move(name)) {}
  StaticGraph(const StaticGraph&) = delete;
  StaticGraph& operator=(const StaticGraph&) = delete;

  /// Adds a task that calls f(). **Errors**: CheckError while the graph runs.
  template <class F>
  Node& add(F f, std::string name = "a task") {
    static_assert(std::is_invocable_v<F&>, "shoal: a task of a graph takes no parameters");
    return add_node(
        [f = std::move(f)]() mutable {
          f();
          return 0;
        },
        false, std::move(name));
  }
  /// Adds a condition, which returns a number. **Errors**: CheckError while the graph runs.
  template <class F>
  Node& add_condition(F f, std::string name = "a condition") {
    static_assert(CallableAs<F, int>,
                  "shoal: a condition takes no parameters, and returns the number of a successor");
    return add_node([f = std::move(f)]() mutable -> int { return f(); }, true, std::move(name));
  }

  /// Runs the tasks, beginning with those that have no predecessor, each when those before it have
  /// run; returns when none is left. **Caller**: a task or the main function. **Blocks**: parks the
  /// caller. **Errors**: the first exception of a task, after which no other one begins; the graph
  /// may run again. CancelledError when the caller's TaskGroup was cancelled, or the world has
  /// failed. CheckError in a handler, on a thread that is no worker, while it runs, without a task
  /// to begin with, and for tasks that wait for each other.
  void run(const StaticGraphOptions& options = {});
  /// Number of tasks and conditions.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  Node& add_node(Function<int()> function, bool is_condition, std::string name);
  void check();
  void run_from(Node* node, TaskGroup& group);
  void spawn(Node& node, TaskGroup& group);

  const std::string name_;
  std::deque<Node> nodes_;
  std::vector<Node*> first_;
  bool checked_ = false;
  int priority_ = 0;  // of the run
  std::atomic<bool> running_{false};
};

/// A task or condition of a StaticGraph.
class StaticGraph::Node {
 public:
  /// Made by StaticGraph::add().
  Node(StaticGraph& graph, Function<int()> function, bool is_condition, std::string name)
      : graph_(graph),
        function_(std::move(function)),
        is_condition_(is_condition),
        name_(std::move(name)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// This runs before the others; a condition numbers them from 0, in this order. Returns this.
  /// **Errors**: CheckError for a node of another graph, and while the graph runs.
  template <class... Nodes>
  Node& before(Nodes&... others) {
    (add_successor(others), ...);
    return *this;
  }

 private:
  friend class StaticGraph;
  void add_successor(Node& other);

  StaticGraph& graph_;
  const Function<int()> function_;
  const bool is_condition_;
  const std::string name_;
  std::vector<Node*> successors_;
  int needs_ = 0;                // tasks before it
  int conditions_ = 0;           // that may choose it
  std::atomic<int> missing_{0};  // tasks before it that have not run
};

}  // namespace shoal

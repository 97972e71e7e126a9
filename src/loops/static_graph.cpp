#include <shoal/static_graph.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/loops/loop.hpp>
#include <shoal/detail/sched/long_task.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/error.hpp>
#include <shoal/task_group.hpp>

namespace shoal {

StaticGraph::Node& StaticGraph::add_node(Function<int()> function, bool is_condition,
                                         std::string name) {
  SHOAL_CHECK(!running_.load(), "'{}' was added to '{}' while that runs: add it before run()", name,
              name_);
  checked_ = false;
  return nodes_.emplace_back(*this, std::move(function), is_condition, std::move(name));
}

void StaticGraph::Node::add_successor(Node& other) {
  SHOAL_CHECK(&graph_ == &other.graph_,
              "'{}' before '{}': they belong to two graphs, '{}' and '{}'", name_, other.name_,
              graph_.name_, other.graph_.name_);
  SHOAL_CHECK(!graph_.running_.load(), "'{}' before '{}': '{}' runs; build it before run()", name_,
              other.name_, graph_.name_);
  graph_.checked_ = false;
  successors_.push_back(&other);
  ++(is_condition_ ? other.conditions_ : other.needs_);
}

// Removes tasks without predecessors as long as there are any: the others wait for each other.
// Edges of conditions make nobody wait.
void StaticGraph::check() {
  first_.clear();
  std::vector<Node*> free;
  for (Node& node : nodes_) {
    node.missing_.store(node.needs_, std::memory_order_relaxed);
    if (node.needs_ == 0) free.push_back(&node);
    if (node.needs_ == 0 && node.conditions_ == 0) first_.push_back(&node);
  }
  SHOAL_CHECK(
      !first_.empty() || nodes_.empty(),
      "run() of '{}': it has no task to begin with, as each comes after another one; add one "
      "that comes after none",
      name_);
  while (!free.empty()) {
    const Node& node = *free.back();
    free.pop_back();
    if (node.is_condition_) continue;
    for (Node* const next : node.successors_) {
      if (next->missing_.fetch_sub(1, std::memory_order_relaxed) == 1) free.push_back(next);
    }
  }
  for (const Node& node : nodes_) {
    SHOAL_CHECK(node.missing_.load(std::memory_order_relaxed) == 0,
                "run() of '{}': '{}' waits for itself, as tasks come before it that come after it; "
                "only conditions lead back",
                name_, node.name_);
  }
  checked_ = true;
}

void StaticGraph::run(const StaticGraphOptions& options) {
  loops::check_caller("run() of a static graph");
  SHOAL_CHECK(!running_.exchange(true), "run() of '{}', which runs already: one at a time", name_);
  struct Ends {
    std::atomic<bool>& running;
    ~Ends() { running.store(false); }
  } const ends{running_};
  if (!checked_) check();
  priority_ = options.priority.value_or(sched::current_task()->priority);
  for (Node& node : nodes_) node.missing_.store(node.needs_, std::memory_order_relaxed);
  const sched::LongCall here("a static graph", name_);
  TaskGroup group(name_);
  for (Node* const node : first_) spawn(*node, group);
  group.wait();
  if (group.is_cancelled())
    throw CancelledError("run() of '" + name_ + "': the task group of its caller was cancelled");
}

void StaticGraph::spawn(Node& node, TaskGroup& group) {
  group.spawn([this, &node, &group] { run_from(&node, group); }, node.name_, priority_);
}

// The task goes on with one of the successors that become ready, so that others need no task where
// the graph is a chain.
void StaticGraph::run_from(Node* node, TaskGroup& group) {
  while (node != nullptr && !group.is_cancelled()) {
    const int chosen = [node] {
      const sched::LongCall here("a task of a static graph", node->name_);
      return node->function_();
    }();
    Node* next = nullptr;
    if (node->is_condition_) {
      if (chosen >= 0 && static_cast<std::size_t>(chosen) < node->successors_.size()) {
        next = node->successors_[static_cast<std::size_t>(chosen)];
        sched::give_turn("a condition of a static graph");  // it may lead back without end
      }
    } else {
      for (Node* const successor : node->successors_) {
        // acq_rel: the last one sees what all tasks before it did
        if (successor->missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        successor->missing_.store(successor->needs_,
                                  std::memory_order_relaxed);  // for its next run
        if (next != nullptr) spawn(*next, group);
        next = successor;
      }
    }
    node = next;
  }
}

}  // namespace shoal

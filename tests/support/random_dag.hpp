#pragma once
// Random graphs of tasks: computed one after the other, and by a world.

#include <shoal/graph.hpp>
#include <shoal/world.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::testing {

struct DagOptions {
  std::uint64_t seed = 0;
  int nodes = 100;
  int ranks = 1;
  int workers = 1;
  int predecessors_max = 4;
  int reach = 50;  // an edge spans at most this many nodes
};

/// Nodes are numbered in an order in which they could run. The value of a node is a hash of its key
/// and of the sum of its predecessors' values, each as often as the edge counts.
struct Dag {
  struct Node {
    std::uint64_t key = 0;
    int rank = 0;
    int worker = 0;
    int priority = 0;
    bool bound = false;
    int indegree = 0;  // at least 1: one without predecessors is fulfilled by a main function
    std::uint64_t value = 0;
  };
  struct Edge {
    int node = 0;
    int count = 0;
  };
  /// Edges of all nodes, one node after the other.
  struct Edges {
    std::vector<std::size_t> begin{0};
    std::vector<Edge> edges;
    [[nodiscard]] std::span<const Edge> of(std::size_t node) const {
      return std::span(edges).subspan(begin[node], begin[node + 1] - begin[node]);
    }
  };

  static std::uint64_t value_of(std::uint64_t key, std::uint64_t sum) {
    return detail::mix64(key ^ sum);
  }
  [[nodiscard]] std::size_t size() const { return nodes.size(); }

  std::vector<Node> nodes;
  Edges predecessors;
  Edges successors;
  std::unordered_map<std::uint64_t, int> index_of;
};

namespace dag_detail {

inline Dag::Node make_node(const DagOptions& options, std::mt19937_64& random) {
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(n));
  };
  Dag::Node node;
  node.key = random();
  node.rank = below(options.ranks);
  node.worker = below(options.workers);
  node.priority = below(4) == 0 ? below(5) - 2 : 0;
  node.bound = below(4) == 0;
  return node;
}

inline Dag::Edges reversed(const Dag::Edges& edges, std::size_t nodes) {
  Dag::Edges result;
  result.begin.assign(nodes + 1, 0);
  for (const Dag::Edge& edge : edges.edges) ++result.begin[static_cast<std::size_t>(edge.node) + 1];
  for (std::size_t i = 0; i < nodes; ++i) result.begin[i + 1] += result.begin[i];
  result.edges.resize(edges.edges.size());
  std::vector<std::size_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::size_t node = 0; node < nodes; ++node) {
    for (const Dag::Edge& edge : edges.of(node)) {
      result.edges[next[static_cast<std::size_t>(edge.node)]++] = {static_cast<int>(node),
                                                                   edge.count};
    }
  }
  return result;
}

}  // namespace dag_detail

/// A graph with its values, which are the oracle: computed in sequence.
inline Dag make_dag(const DagOptions& options) {
  std::mt19937_64 random(options.seed);
  Dag dag;
  dag.index_of.reserve(static_cast<std::size_t>(options.nodes));
  for (int i = 0; i < options.nodes; ++i) {
    Dag::Node node = dag_detail::make_node(options, random);
    dag.index_of.emplace(node.key, i);
    const auto most = static_cast<std::uint64_t>(std::min(i, options.predecessors_max));
    std::uint64_t sum = 0;
    for (std::uint64_t left = random() % (most + 1); left > 0; --left) {  // twice the same: fine
      const int span =
          1 + static_cast<int>(random() % static_cast<std::uint64_t>(std::min(i, options.reach)));
      const int count = random() % 8 == 0 ? 3 : 1;
      dag.predecessors.edges.push_back({i - span, count});
      sum +=
          static_cast<std::uint64_t>(count) * dag.nodes[static_cast<std::size_t>(i - span)].value;
      node.indegree += count;
    }
    dag.predecessors.begin.push_back(dag.predecessors.edges.size());
    node.indegree = std::max(node.indegree, 1);
    node.value = Dag::value_of(node.key, sum);
    dag.nodes.push_back(node);
  }
  dag.successors = dag_detail::reversed(dag.predecessors, dag.size());
  return dag;
}

/// Runs a graph on a world. One object, shared by the ranks of a process.
class DagRun {
 public:
  explicit DagRun(const Dag& dag)
      : dag_(dag), runs_(dag.size()), sums_(dag.size()), values_(dag.size()) {}

  /// Differences between runs of the same graph.
  struct Manner {
    bool dense = false;
    Delivery delivery = Delivery::inlined;
  };

  /// Called by the main function of every rank; returns after wait().
  void run(World& world, const Manner& manner) {
    Graph even(world, "even");
    Graph odd(world, "odd");
    const auto graph_of = [&](std::uint64_t key) -> Graph& { return key % 2 == 0 ? even : odd; };
    const auto deliver = world.make_am(
        [&](std::uint64_t key, std::uint64_t value, int count) {
          add(key, value, count);
          graph_of(key).fulfill(key, count);
        },
        {manner.delivery, 0, "deliver"});
    const auto hand_on = [&](std::uint64_t key, std::uint64_t value, int count) {
      const int rank = node(key).rank;
      if (rank == world.rank()) {
        add(key, value, count);
        graph_of(key).fulfill(key, count);
      } else {
        deliver.send(Rank(rank), key, value, count);
      }
    };
    for (Graph* graph : {&even, &odd}) {
      set_up(*graph, manner, [this, &world, &hand_on](std::uint64_t key) {
        execute(key, world.rank());
        const auto index = index_of(key);
        for (const Dag::Edge& edge : dag_.successors.of(index)) {
          hand_on(dag_.nodes[static_cast<std::size_t>(edge.node)].key, values_[index], edge.count);
        }
      });
    }
    for (std::size_t i = 0; i < dag_.size(); ++i) {  // who starts a task need not own it
      const bool mine =
          i % static_cast<std::size_t>(world.size()) == static_cast<std::size_t>(world.rank());
      if (mine && dag_.predecessors.of(i).empty()) hand_on(dag_.nodes[i].key, 0, 1);
    }
    world.wait();
  }

  /// After the run: the first thing that differs from the oracle, or "".
  [[nodiscard]] std::string difference() const {
    if (misplaced_ > 0) return fmt::format("{} tasks ran on the wrong rank", misplaced_.load());
    if (early_ > 0) return fmt::format("{} tasks ran before a predecessor", early_.load());
    for (std::size_t i = 0; i < dag_.size(); ++i) {
      if (runs_[i] != 1) return fmt::format("node {} ran {} times", i, runs_[i].load());
      if (values_[i] != dag_.nodes[i].value) return fmt::format("node {} has a wrong value", i);
    }
    return "";
  }

 private:
  using Graph = TaskGraph<std::uint64_t>;

  [[nodiscard]] std::size_t index_of(std::uint64_t key) const {
    return static_cast<std::size_t>(dag_.index_of.at(key));
  }
  [[nodiscard]] const Dag::Node& node(std::uint64_t key) const { return dag_.nodes[index_of(key)]; }

  template <class F>
  void set_up(Graph& graph, const Manner& manner, F task) {
    graph.set_indegree([this](std::uint64_t key) { return node(key).indegree; })
        .set_task(std::move(task))
        .set_mapping([this](std::uint64_t key) { return node(key).worker; })
        .set_priority([this](std::uint64_t key) { return node(key).priority; })
        .set_binding([this](std::uint64_t key) { return node(key).bound; });
    if (manner.dense) {
      graph.set_dense(dag_.size(), [this](std::uint64_t key) { return index_of(key); });
    }
  }

  // relaxed: the fulfillment that follows orders it before the task
  void add(std::uint64_t key, std::uint64_t value, int count) {
    sums_[index_of(key)].fetch_add(value * static_cast<std::uint64_t>(count),
                                   std::memory_order_relaxed);
  }

  void execute(std::uint64_t key, int rank) {
    const std::size_t index = index_of(key);
    runs_[index].fetch_add(1, std::memory_order_relaxed);
    if (node(key).rank != rank) ++misplaced_;
    // Plain memory written by the predecessors, wherever they ran: under ThreadSanitizer a
    // dependency that orders nothing is a race.
    std::uint64_t sum = 0;
    for (const Dag::Edge& edge : dag_.predecessors.of(index)) {
      sum += values_[static_cast<std::size_t>(edge.node)] * static_cast<std::uint64_t>(edge.count);
    }
    if (sum != sums_[index].load(std::memory_order_relaxed)) ++early_;
    values_[index] = Dag::value_of(key, sum);
  }

  const Dag& dag_;
  std::vector<std::atomic<int>> runs_;
  std::vector<std::atomic<std::uint64_t>> sums_;  // of what has been handed on so far
  std::vector<std::uint64_t> values_;
  std::atomic<int> misplaced_{0};
  std::atomic<int> early_{0};
};

}  // namespace shoal::testing

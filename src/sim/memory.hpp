#pragma once
// Memory of simulated nodes: its bandwidth is shared by work and by payloads that arrive.

#include "sim/simulator.hpp"

#include <shoal/contention/model.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace shoal::sim {

/// Bandwidth of payloads beside no computation. `communication_node` below 0: the first one.
[[nodiscard]] double network_mb_s(const contention::Model& model, int communication_node);

/// Each node is a machine of the contention model (docs/contention.md). At any time, `load` cores
/// compute, and share the bandwidth that the model predicts for that number, beside payloads or
/// without; payloads that arrive at the same time share the bandwidth of communication alike. Work
/// that moves fewer bytes than a core could is less than one core; between whole numbers of cores
/// bandwidths are interpolated.
///
/// **Source**: equations 6.3, 6.4 and 6.6 of the thesis on interactions of computation and
/// communication.
class Memory {
 public:
  struct Nodes {
    int ranks_per_node;
    int ranks;  // in all
  };
  /// Simulator::at().
  using At = std::function<void(std::uint64_t time_ns, std::function<void()> action)>;

  /// Data of work on the first NUMA node, payloads on `communication_node`.
  /// **Errors**: ConfigError from contention::predict().
  Memory(const Simulator& simulator, At at, const contention::Model& model, int communication_node,
         Nodes nodes);

  /// Work of a rank begins: `compute_ns` without memory traffic, and `bytes` of that meanwhile.
  /// `done` is called when both have ended.
  void begin_work(int rank, double compute_ns, double bytes, std::function<void()> done);
  /// A payload begins to arrive at a rank from another node.
  void begin_transfer(int rank, double bytes, std::function<void()> done);

  /// Time of work on an idle node.
  [[nodiscard]] double alone_ns(double compute_ns, double bytes) const;
  [[nodiscard]] bool same_node(int one, int other) const {
    return one / ranks_per_node_ == other / ranks_per_node_;
  }

 private:
  /// Bandwidth in MB/s by the number of cores from 0 on.
  using Curve = std::vector<double>;
  struct Flow {
    double compute_ns;  // work only
    double bytes;
    double load;  // in cores; 0: a payload
    std::function<void()> done;
    double left = 1;    // fraction
    double per_ns = 0;  // of that
  };
  struct Node {
    std::vector<Flow> flows;  // in the order in which they began
    std::uint64_t updated_ns = 0;
    std::uint64_t version = 0;  // of the next end
  };

  void begin(int rank, Flow flow);
  void advance(Node& node) const;
  void set_rates(Node& node) const;
  void plan_end(std::size_t index);
  void end_some(std::size_t index);
  static double value_at(const Curve& curve, double load);

  const Simulator& simulator_;
  const At at_;
  const int ranks_per_node_;
  Curve alone_mb_s_;
  Curve beside_mb_s_;         // computation beside communication
  Curve communication_mb_s_;  // beside computation
  std::vector<Node> nodes_;
};

}  // namespace shoal::sim

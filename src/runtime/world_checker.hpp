#pragma once
// Invariants of a simulated world, checked by looking at all of it at once.

#include "runtime/rank_runtime.hpp"
#include "sim/network.hpp"

#include <memory>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Looks at queues and links, not at the counters that completion detection goes by.
class WorldChecker {
 public:
  WorldChecker(const std::vector<std::unique_ptr<RankRuntime>>& ranks,
               const std::vector<std::unique_ptr<net::Fabric>>& fabrics,
               const sim::Network& network)
      : ranks_(ranks), fabrics_(fabrics), network_(network) {}

  /// Tasks and messages that exist, one line for each kind and place. Messages held back because
  /// their handler was never made do not count: they wait like unsatisfied tasks.
  [[nodiscard]] std::vector<std::string> outstanding() const;

 private:
  const std::vector<std::unique_ptr<RankRuntime>>& ranks_;
  const std::vector<std::unique_ptr<net::Fabric>>& fabrics_;
  const sim::Network& network_;
};

}  // namespace shoal::runtime

#pragma once
// Checker of the order of invocations on one rank of a team.

#include <shoal/detail/object/invocation.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

namespace shoal::object {

/// Checker of the order of invocations in simulated runs, with a record of arrivals of its own
/// beside the queue. The owner holds a lock. Each function returns a text about a violation, or "".
class OrderCheck {
 public:
  void arrives(const Invocation& invocation);
  /// `epoch`: of this rank. In a context, invocations run in the order of their arrival, each after
  /// the end of the one before it.
  [[nodiscard]] std::string begins(const Invocation& invocation, std::uint32_t epoch);
  void ends(std::uint64_t context);
  /// Called when all waiting invocations were dropped.
  void forget();

 private:
  struct Context {
    std::deque<const Invocation*> waiting;
    bool is_running = false;
  };

  std::unordered_map<std::uint64_t, Context> contexts_;
};

}  // namespace shoal::object

#pragma once
// Counts of a team's messages into other teams.

#include <atomic>
#include <cstdint>

namespace shoal::term {

/// Counts of the messages of this scope into other teams, until they are acknowledged. Both counts
/// only grow; while it sends, the sender is counted as a task or handler, so that a snapshot that
/// sees its end sees its messages. **Caller**: any thread.
class OutsideMessages {
 public:
  void count_sent() { sent_.fetch_add(1, std::memory_order_release); }
  void count_acknowledged(std::uint64_t n) {
    acknowledged_.fetch_add(n, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t acknowledged() const {
    return acknowledged_.load(std::memory_order_acquire);
  }
  /// Read in this order: there are never fewer sent than acknowledged.
  [[nodiscard]] std::uint64_t unacknowledged() const {
    const std::uint64_t acknowledged = this->acknowledged();
    return sent_.load(std::memory_order_acquire) - acknowledged;
  }
  /// Adds the counts of a nested scope that has ended: all of its messages are acknowledged.
  void take_over(const OutsideMessages& ended) {
    const std::uint64_t acknowledged = ended.acknowledged();
    sent_.fetch_add(acknowledged, std::memory_order_release);
    count_acknowledged(acknowledged);
  }

 private:
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> acknowledged_{0};
};

}  // namespace shoal::term

#pragma once
// Counts of a team's messages into other teams.

#include <atomic>
#include <cstdint>

namespace shoal::term {

/// Messages of this scope that count in others, until they are acknowledged. Any thread. Both
/// counts only grow; the sender is counted as a task or handler meanwhile, so a snapshot that sees
/// its end sees its messages.
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
  /// Takes over those of a nested scope that has ended: all are acknowledged.
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

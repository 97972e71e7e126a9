#pragma once
// Counts events of many threads, without a shared cache line.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace bench {

class Tally {
 public:
  /// Any thread of the first 256 that ever count.
  void add() {
    std::atomic<std::uint64_t>& mine = slots_[thread_number()].count;
    // relaxed: one writer each; the reader of the sum has waited for the tasks
    mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (const Slot& slot : slots_) total += slot.count.load(std::memory_order_relaxed);
    return total;
  }

 private:
  static constexpr std::size_t kThreadsMax = 256;
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> count{0};
  };

  static std::size_t thread_number() {
    thread_local const std::size_t number = next_thread();
    return number;
  }
  static std::size_t next_thread() {
    static std::atomic<std::size_t> next{0};
    const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= kThreadsMax) throw std::runtime_error("too many threads count");
    return number;
  }

  std::array<Slot, kThreadsMax> slots_{};
};

}  // namespace bench

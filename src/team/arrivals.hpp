#pragma once
// Counts of the messages that have arrived, by their sender.

#include <shoal/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "env/sparse_array.hpp"

namespace shoal::team {

/// Messages that have arrived from one rank, for reports.
struct Arrivals {
  Rank source;
  std::uint64_t message_count = 0;  // handled, or made into tasks
  std::uint32_t last_handler = 0;   // of the last one, as MessageHeader::handler
};

/// Counts of arrived messages: the progress context writes, any thread reads. relaxed throughout:
/// there is one writer, and a report may be out of date.
class ArrivalCounts {
 public:
  explicit ArrivalCounts(int world_size) : counters_(static_cast<std::size_t>(world_size)) {}

  void add(std::int32_t source, std::uint64_t count) {
    std::atomic<std::uint64_t>& counter = counters_[static_cast<std::size_t>(source)].message_count;
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    total_.store(total_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  void note_handler(std::int32_t source, std::uint32_t handler) {
    counters_[static_cast<std::size_t>(source)].last_handler.store(handler,
                                                                   std::memory_order_relaxed);
  }
  /// Returns the arrivals from each rank that has sent a message.
  [[nodiscard]] std::vector<Arrivals> all() const {
    std::vector<Arrivals> result;
    for (std::size_t source = 0; source < counters_.size(); ++source) {
      const Counter& counter = counters_[source];
      const Arrivals one{Rank(static_cast<int>(source)),
                         counter.message_count.load(std::memory_order_relaxed),
                         counter.last_handler.load(std::memory_order_relaxed)};
      if (one.message_count > 0 || one.last_handler != 0) result.push_back(one);
    }
    return result;
  }
  /// Returns the number of arrivals from all ranks. **Cost**: constant.
  [[nodiscard]] std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  struct Counter {
    std::atomic<std::uint64_t> message_count{0};
    std::atomic<std::uint32_t> last_handler{0};
  };
  env::SparseArray<Counter> counters_;  // by source
  std::atomic<std::uint64_t> total_{0};
};

}  // namespace shoal::team

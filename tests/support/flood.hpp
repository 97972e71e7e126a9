#pragma once
// Shared by the flood tests: a receiver that is slow on purpose and misses nothing.

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include "support/heap_meter.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace shoal::testing {

inline constexpr std::size_t kFloodWindow = 256 * 1024;
inline const std::vector<std::string> kFloodOptions{"--window-bytes", "256K"};

/// Counts what arrives, and that nothing is missing: the sum of the numbers.
class FloodTally {
 public:
  void add(std::uint64_t number, std::span<const std::uint8_t> padding) {
    volatile std::uint64_t work = number;
    for (int i = 0; i < kWork; ++i) work = work * 6364136223846793005U + padding.size();
    count_.fetch_add(1, std::memory_order_relaxed);  // statistics, read after wait()
    sum_.fetch_add(number, std::memory_order_relaxed);
  }
  /// `senders` sent the numbers below `count` each.
  void expect(std::uint64_t senders, std::uint64_t count) const {
    EXPECT_EQ(count_, senders * count);
    EXPECT_EQ(sum_, senders * (count * (count - 1) / 2));
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  static constexpr int kWork = 40;  // makes the receiver slower than the sender
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> sum_{0};
};

/// Sends the numbers below `count` with 0 to 56 bytes behind each.
template <class Message>
void send_flood(const Message& message, Rank to, std::uint64_t count) {
  static constexpr std::array<std::uint8_t, 56> padding{};
  for (std::uint64_t i = 0; i < count; ++i) {
    message.send(to, i, std::span(padding).first(i % 8 * 8));
  }
}

/// Looks now and then at what one rank has under way to another.
class WindowWatch {
 public:
  void look(World& world, Rank from, Rank to) {
    if (looks_.fetch_add(1, std::memory_order_relaxed) % 256 != 0) return;
    const std::size_t bytes =
        world.core().messenger().fabric().link(from, to, net::Lane::normal).in_flight_bytes();
    std::size_t most = most_.load(std::memory_order_relaxed);
    while (bytes > most && !most_.compare_exchange_weak(most, bytes)) {
    }
  }
  [[nodiscard]] std::size_t most_bytes() const { return most_; }

 private:
  std::atomic<std::uint64_t> looks_{0};
  std::atomic<std::size_t> most_{0};
};

/// Runs a world and says how fast it was; the heap may grow by `heap_limit_bytes` in it.
template <class F>
void run_flood(const std::string& what, int ranks, int workers, std::size_t heap_limit_bytes,
               const FloodTally& tally, F function) {
  HeapMeter::reset();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_world(ranks, workers, std::move(function), kFloodOptions), 0);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%s: %.2f million messages per second, heap grew by %zu KiB\n", what.c_str(),
              static_cast<double>(tally.count()) / time.count() / 1e6,
              HeapMeter::growth_bytes() / 1024);
  if (HeapMeter::counts) {
    EXPECT_LE(HeapMeter::growth_bytes(), heap_limit_bytes);
  }
}

}  // namespace shoal::testing

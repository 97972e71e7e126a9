#include "runtime/clock_barrier.hpp"

#include "runtime/exchange.hpp"
#include "trace/clocks.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shoal::runtime {

namespace {

constexpr double kFirstWindowNs = 1e6;
constexpr int kRoundsMax = 9;  // the last one 256 times as long

/// Processes from the one below the root down to `process`.
std::vector<std::size_t> path_to(std::size_t process, const std::vector<ComparedClock>& clocks) {
  std::vector<std::size_t> path;
  for (std::size_t at = process; at != 0; at = static_cast<std::size_t>(clocks[at].parent)) {
    path.push_back(at);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::uint64_t on_clock_of(std::size_t process, const std::vector<ComparedClock>& clocks,
                          std::uint64_t root_ticks) {
  std::uint64_t ticks = root_ticks;
  std::size_t parent = 0;
  for (const std::size_t child : path_to(process, clocks)) {
    const double ratio = clocks[child].ticks_per_ns / clocks[parent].ticks_per_ns;
    ticks = trace::WindowBarrier::local_deadline(clocks[child].point, ratio, ticks);
    parent = child;
  }
  return ticks;
}

}  // namespace

std::optional<std::uint64_t> leave_together(net::MpiTransport& transport, int process,
                                            const ComparedClock& mine, const net::ReadClock& read) {
  const std::vector<ComparedClock> clocks = exchange_all(transport, mine);
  trace::WindowBarrier barrier(
      static_cast<std::uint64_t>(kFirstWindowNs * clocks.front().ticks_per_ns));
  while (barrier.rounds() < kRoundsMax) {
    const std::uint64_t chosen = process == 0 ? barrier.choose(read()) : 0;
    const std::uint64_t deadline = on_clock_of(static_cast<std::size_t>(process), clocks,
                                               exchange_all(transport, chosen).front());
    const bool missed = trace::WindowBarrier::missed(read(), deadline);
    while (read() < deadline) {
    }
    const std::vector<int> late = exchange_all(transport, missed ? 1 : 0);
    if (barrier.end_round(std::accumulate(late.begin(), late.end(), 0))) return deadline;
  }
  return std::nullopt;
}

}  // namespace shoal::runtime

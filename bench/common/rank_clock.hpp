#pragma once
// One clock for the ranks of several hosts.

#include <shoal/shoal.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

namespace bench {

/// The clock of rank 0. The ranks of one host share it; others compare their clocks with it by
/// round trips.
class RankClock {
 public:
  /// Collective.
  explicit RankClock(shoal::World& world)
      : world_(world),
        question_(world.make_am([this](int rank, std::uint64_t sent_ns) {
          answer_.send(shoal::Rank(rank), sent_ns, world_.now_ns());
        })),
        answer_(world.make_am(
            [this](std::uint64_t sent_ns, std::uint64_t there_ns) { take(sent_ns, there_ns); })) {
    std::array<char, 256> name{};
    static_cast<void>(gethostname(name.data(), name.size() - 1));
    const std::size_t host = std::hash<std::string_view>()(name.data());
    const auto least = [](std::size_t a, std::size_t b) { return std::min(a, b); };
    const auto most = [](std::size_t a, std::size_t b) { return std::max(a, b); };
    several_hosts_ = world.allreduce(host, least) != world.allreduce(host, most);
  }
  RankClock(const RankClock&) = delete;
  RankClock& operator=(const RankClock&) = delete;

  /// Compares the clocks, which drift: before each measurement. Collective, as World::wait().
  void compare() {
    if (!several_hosts_) return;
    for (int rank = 1; rank < world_.size(); ++rank) {
      if (world_.rank() == rank) {
        shortest_ns_ = std::numeric_limits<std::uint64_t>::max();
        left_ = kRoundTrips;
        ask();
      }
      world_.wait();
    }
  }
  /// Time on the clock of rank 0.
  [[nodiscard]] std::int64_t now_ns() const {
    return static_cast<std::int64_t>(world_.now_ns()) - ahead_ns_;
  }
  /// Bound of this rank's error: half a round trip.
  [[nodiscard]] std::uint64_t error_ns() const { return shortest_ns_ / 2; }

 private:
  static constexpr int kRoundTrips = 16;

  void ask() { question_.send(shoal::Rank(0), world_.rank().value(), world_.now_ns()); }
  void take(std::uint64_t sent_ns, std::uint64_t there_ns) {
    const std::uint64_t now_ns = world_.now_ns();
    if (now_ns - sent_ns < shortest_ns_) {
      shortest_ns_ = now_ns - sent_ns;
      ahead_ns_ = static_cast<std::int64_t>(sent_ns + shortest_ns_ / 2) -
                  static_cast<std::int64_t>(there_ns);
    }
    if (--left_ > 0) ask();
  }

  shoal::World& world_;
  bool several_hosts_ = false;
  int left_ = 0;
  std::uint64_t shortest_ns_ = 0;
  std::int64_t ahead_ns_ = 0;
  const shoal::ActiveMessage<int, std::uint64_t> question_;
  const shoal::ActiveMessage<std::uint64_t, std::uint64_t> answer_;
};

}  // namespace bench

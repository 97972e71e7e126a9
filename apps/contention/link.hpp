#pragma once
// Messages between the machine under test and its peer.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "contention/host.hpp"
#include "contention/measurements.hpp"
#include "contention/team.hpp"

namespace contention {

/// The side under test of a connection to one peer.
class Link {
 public:
  Link() = default;
  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Exchanges messages as the point says, at least once, until `end`. Returns the seconds of each
  /// exchange. The calling thread is the one that communicates.
  [[nodiscard]] virtual std::vector<double> exchange(const Point& point, Clock::time_point end) = 0;
};

using UseLink = std::function<void(Link&)>;

/// Calls use() on rank 0 with a link to rank 1, over active messages and large messages of shoal.
/// Blocks: collective.
void with_shoal_link(shoal::World& world, const Host& host, std::uint64_t message_bytes_max,
                     const UseLink& use);

}  // namespace contention

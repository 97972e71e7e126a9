#pragma once
// Invocations that are counted outside the object's team.

#include <shoal/detail/object/invocation.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "team/messenger.hpp"

namespace shoal::object {

/// Returns the context on `to` of the invocations from context `parent`.
[[nodiscard]] std::uint64_t context_on(std::uint64_t parent, Rank to);

/// Wraps an invocation so that its end is acknowledged to the caller's team.
[[nodiscard]] std::unique_ptr<Invocation> acknowledged(std::unique_ptr<Invocation> inner,
                                                       Arrived&& outside,
                                                       const team::Messenger& messenger);

/// Text for reports: the method, the rank that invoked it, and the object.
[[nodiscard]] std::string describe(const Outside& outside);

/// Invocations that this rank has sent through rank 0 of teams that were not there. It may be a
/// member that had yet to make the team: then, its first message of its own must not overtake them.
/// So it keeps that way until all have arrived. The target tells of each, by a message of the team;
/// rank 0 of the team tells a rank that is no member. One for each rank, a service of the world's
/// core.
class Forwards {
 public:
  enum class Path : std::uint8_t {
    direct,   // the team is there now
    counted,  // its arrival is told
    plain,    // this rank is no member
  };

  /// Belongs to the rank of `core`.
  [[nodiscard]] static Forwards& of(const TeamCore& core);
  /// Called when the team of `core` exists: returns the number of its invocations in flight, and
  /// removes it.
  [[nodiscard]] static std::uint64_t take(const TeamCore& core);

  /// Counts an invocation, unless the team exists; returns its way. **Caller**: any thread.
  [[nodiscard]] Path begin(const team::Messenger& messenger, std::uint64_t team);
  /// Records that this rank is no member of the team.
  void set_outsider(std::uint64_t team);

 private:
  static constexpr std::size_t kOutsideMax = 1024;  // a team that is forgotten is asked for again

  sync::Mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> counts_ SHOAL_GUARDED_BY(mutex_);  // by team
  std::deque<std::uint64_t> outside_ SHOAL_GUARDED_BY(mutex_);  // teams without this rank
};

}  // namespace shoal::object

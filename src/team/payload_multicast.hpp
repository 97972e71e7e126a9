#pragma once
// Multicasts of large payloads: in segments, which recipients pass on while others arrive.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/detail/team/multicast.hpp>
#include <shoal/recipients.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace shoal::team {

/// Key of a multicast of a payload among those of a team.
struct PayloadKey {
  std::int32_t origin = 0;  // world rank
  std::uint64_t number = 0;
  bool at_root = false;  // the sender's state, which may be a recipient as well
  auto operator<=>(const PayloadKey&) const = default;
};

/// Place of a rank in the tree of a multicast; world ranks.
struct MulticastPlace {
  Rank parent{-1};
  bool below_root = false;  // the parent is the sender
  std::vector<Rank> children;
};

/// Payloads of one team that this rank sends, receives or passes on; a service of its core.
///
/// A recipient that has memory for the payload says so to its parent, which sends the segments that
/// it has, and each further one as it comes. So a payload takes no memory but that of its
/// recipients. Each step is caused by a message that counts: a payload is under way only while
/// something counts, unless the message that announces it waits for its handler.
class PayloadMulticasts {
 public:
  static constexpr std::size_t kSegmentBytes = 256UL << 10U;

  explicit PayloadMulticasts(TeamCore& core) : core_(core) {}
  ~PayloadMulticasts();
  PayloadMulticasts(const PayloadMulticasts&) = delete;
  PayloadMulticasts& operator=(const PayloadMulticasts&) = delete;

  /// The multicasts of the core's team on this rank.
  [[nodiscard]] static PayloadMulticasts& of(TeamCore& core);

  /// Begins a multicast of this rank, before it is announced to its children. `done` runs in a
  /// handler when the bytes may be reused; it does not run if the team fails. **Caller**: any
  /// thread.
  [[nodiscard]] PayloadKey begin(std::span<const std::byte> bytes, std::vector<Rank> children,
                                 Function<void()> done);
  /// Takes part in a multicast: receives the payload in `bytes`. The steps may run within the call.
  /// **Caller**: a handler.
  void join(const PayloadKey& key, MulticastPlace place, std::span<std::byte> bytes,
            MulticastSteps steps);

 private:
  struct Multicast;
  struct Handlers;
  using SharedMulticast = std::shared_ptr<Multicast>;

  /// Returns the multicast of this key; makes it if necessary.
  [[nodiscard]] SharedMulticast find(const PayloadKey& key);
  void on_ready(const PayloadKey& key, Rank child);
  void on_segment(const Message& message);
  void segment_arrived(const SharedMulticast& multicast, std::size_t index);
  void send_segment(const SharedMulticast& multicast, std::size_t index, Rank child);
  /// Runs the steps that are due.
  void advance(const SharedMulticast& multicast);

  TeamCore& core_;
  sync::Mutex mutex_;
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::map<PayloadKey, SharedMulticast> multicasts_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::team

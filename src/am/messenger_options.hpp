#pragma once
// Options of a rank's messenger, and what it calls.

#include <shoal/detail/base/function.hpp>
#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace shoal::messaging {

/// Teams of the rank, for the messenger: implemented by the term layer.
class TeamListener {
 public:
  /// Called now and then by workers that are busy, while the rank has teams beside the world.
  virtual bool on_busy() = 0;
  /// Messages of a team that does not exist here yet have come from `source`, the first ones or the
  /// first ones since Backlog::drop_early().
  virtual void on_unknown_team(std::uint64_t team, Rank source) = 0;
  /// `count` messages, which tasks or handlers of `team` on rank `sender` have sent to others, were
  /// handled here. Before they are counted as processed. Caller: a handler.
  virtual void acknowledge(Rank sender, std::uint64_t team, std::uint64_t count) = 0;

 protected:
  ~TeamListener() = default;
};

struct MessengerOptions {
  Rank rank;
  bool polls_transport = false;  // workers of this rank poll the transport
  int only_poller = -1;          // if >= 0: only this worker may, being the process's main thread
  bool check_payloads = false;   // sent by this rank to other processes, with a checksum
  bool carries_payloads = true;  // no: a dry run, in which the bytes of payloads do not travel
  bool may_linger = false;       // senders run on other CPUs: see RankProgress::wait_for_batch()
  Function<void(std::span<std::byte>)> place_buffer{};  // of a large transfer; may be empty
};

/// Payloads of at least this size from other processes are large transfers: from 64 KB on,
/// communication suffers beside a few cores that use the memory (thesis on interactions, section
/// 5.3.4).
inline constexpr std::size_t kLargeTransferBytes = 64UL << 10U;

/// Ends the process after an error that cannot be reported in an orderly way; does not return.
using FatalHandler = Function<void(const std::string& text)>;

}  // namespace shoal::messaging

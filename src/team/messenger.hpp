#pragma once
// Messages of one rank, of all its teams: the parts that send, receive and keep them.

#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/promise_table.hpp>
#include <shoal/detail/team/services.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shoal::team {

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

/// Cores of the teams of one rank; the first one that is added is that of the world. **Caller**:
/// any thread.
class CoreTable {
 public:
  /// Adds a core; returns false if this rank has a team with this id.
  [[nodiscard]] bool add(TeamCore& core);
  /// Removes a core, if it is in the table.
  void remove(const TeamCore& core);
  /// Returns the core of a team; nullptr if this rank has no such team, or not yet. With
  /// kAboutBit: returns the world's, once the rank has the team, or if it has had it.
  [[nodiscard]] TeamCore* find(std::uint64_t team) const;
  /// Returns the core of the innermost team around a team that has ended here; nullptr if `team`
  /// has not ended, or before kEndedMax others. Ids of teams are not used again.
  [[nodiscard]] TeamCore* around_ended(std::uint64_t team) const;
  [[nodiscard]] TeamCore& world() const { return *world_; }

 private:
  static constexpr std::size_t kEndedMax = 1U << 10U;

  struct Entry {
    TeamCore* core = nullptr;  // nullptr: the team has ended
    std::uint64_t around = 0;  // team around it
  };

  TeamCore* world_ = nullptr;  // set before the first step
  mutable sync::Mutex mutex_;
  mutable FlatMap<std::uint64_t, Entry> entries_ SHOAL_GUARDED_BY(mutex_);  // of all others
  // Ids of the teams that have ended last: a ring buffer, once it is full.
  std::vector<std::uint64_t> ended_ SHOAL_GUARDED_BY(mutex_);
  std::size_t oldest_ended_ SHOAL_GUARDED_BY(mutex_) = 0;
};

class ArrivalCounts;
class PacketReader;
class RankProgress;
class Receiver;
class UnexpectedMessages;

/// Messages of a rank; one per rank. Where nothing else is said, any thread may call, and calls do
/// not block.
class Messenger final {
 public:
  Messenger(net::Fabric& fabric, sched::Scheduler& scheduler, const MessengerOptions& options,
            FatalHandler fatal);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  [[nodiscard]] Rank rank() const { return options_.rank; }
  [[nodiscard]] int size() const { return fabric_.layout().world_size; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] net::Fabric& fabric() const { return fabric_; }
  [[nodiscard]] bool checks_payloads() const { return options_.check_payloads; }
  [[nodiscard]] bool carries_payloads() const { return options_.carries_payloads; }
  /// Called before a large transfer into `place` begins.
  void place_buffer(std::span<std::byte> place) const {
    if (options_.place_buffer) options_.place_buffer(place);
  }
  /// Ends the process with this text, after an error that cannot be reported in an orderly way.
  void end_at_once(const std::string& text) { fatal_(text); }

  // --- parts

  /// Objects of this rank that handlers find by their type.
  [[nodiscard]] Services& services() { return services_; }
  /// Promises of this rank that other ranks may fulfil.
  [[nodiscard]] PromiseTable& promises() { return promises_; }
  /// Messages that wait for their handler or team.
  [[nodiscard]] UnexpectedMessages& unexpected() const { return *unexpected_; }
  [[nodiscard]] Receiver& receiver() { return *receiver_; }
  /// The arrivals from each rank that has sent a message.
  [[nodiscard]] const ArrivalCounts& arrivals() const { return *arrivals_; }

  // --- teams

  /// The world's core; made before the first step.
  [[nodiscard]] TeamCore& world() const { return cores_.world(); }
  /// Returns the core of a team; nullptr if this rank has no such team, or not yet.
  [[nodiscard]] TeamCore* find_core(std::uint64_t team) const { return cores_.find(team); }
  /// Returns the core of the innermost team around one that has ended on this rank; see
  /// CoreTable.
  [[nodiscard]] TeamCore* around_ended(std::uint64_t team) const {
    return cores_.around_ended(team);
  }
  /// Returns whether the team has ended on this rank, for the last teams only.
  [[nodiscard]] bool has_ended(std::uint64_t team) const { return around_ended(team) != nullptr; }
  /// Messages that came for the core before it was there are handled after this. The first
  /// core is the world's, made before the first step. **Errors**: CheckError when the rank has a
  /// team with this id.
  void add(TeamCore& core);
  /// The team is complete on this rank.
  void remove(TeamCore& core);
  /// The rank has teams: their completion is looked for while their rank is busy with others.
  void set_has_teams(bool has_teams);
  /// Called when handlers were opened, or a team has failed: messages that wait are tried again, or
  /// dropped.
  void retry_unexpected();
  /// Ends a handler that was taken out of its table, once it is not in use.
  void reclaim(const std::shared_ptr<Handler>& handler);
  /// Returns when no handler runs that was given to reclaim() before. Blocks; not in a handler.
  void await_reclaimed();

  // --- sending

  net::Link& link_to(Rank target, net::Lane lane) {
    const sync::Quiet quiet;
    return fabric_.link(options_.rank, target, lane);
  }
  /// Hands the messages sent so far to the transport, unless another worker is just doing that.
  void flush();
  /// Index of the worker whose handlers' messages the transport looks for next; else negative.
  [[nodiscard]] const std::atomic<int>& polls_next() const;
  /// An uncounted message on the control lane, to a static handler. At its target it waits until
  /// `team` exists there, and is handled as well if that has ended. Never blocks.
  void send_control(const StaticHandler& handler, Rank target, std::span<const std::byte> bytes,
                    std::uint64_t team = 0) {
    if (team != 0) team |= kAboutBit;
    const std::uint32_t number = handler.index() | (team != 0 ? net::kTeamBit : 0);
    link_to(target, net::Lane::control)
        .append({number, handler.signature(), bytes.size(), team}, 0,
                [bytes](std::span<std::byte> place) {
                  if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
                });
  }
  /// Counts payload bytes that travel beside messages.
  void note_payload(std::size_t bytes) {
    // relaxed: a statistic
    payload_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t payload_bytes() const {
    return payload_bytes_.load(std::memory_order_relaxed);
  }

  // --- reports; more in message_report.hpp

  /// Returns whether a worker is handling arrivals.
  [[nodiscard]] bool is_handling() const;
  /// Returns whether no worker handles arrivals; see RankProgress.
  [[nodiscard]] bool rests();
  /// Returns whether messages have arrived that no worker is handling.
  [[nodiscard]] bool looks_busy() const;

 private:
  net::Fabric& fabric_;
  sched::Scheduler& scheduler_;
  const MessengerOptions options_;
  const FatalHandler fatal_;
  const std::unique_ptr<PacketReader> reader_;
  CoreTable cores_;
  Services services_;
  PromiseTable promises_;
  const std::unique_ptr<ArrivalCounts> arrivals_;
  const std::unique_ptr<UnexpectedMessages> unexpected_;
  const std::unique_ptr<Receiver> receiver_;
  const std::unique_ptr<RankProgress> progress_;
  std::atomic<std::uint64_t> payload_bytes_{0};  // that travelled beside messages
};

}  // namespace shoal::team

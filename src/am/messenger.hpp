#pragma once
// Messages of one rank, of all its teams: a facade for the parts that send, receive and keep them.

#include <shoal/detail/am/channel.hpp>
#include <shoal/detail/am/promise_table.hpp>
#include <shoal/detail/am/services.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "am/channel_host.hpp"
#include "am/channel_table.hpp"
#include "am/messenger_options.hpp"

namespace shoal::messaging {

class ArrivalCounts;
class Backlog;
class PacketReader;
class RankProgress;
class Receiver;

/// One per rank. Where nothing else is said, any thread may call, and calls do not block.
class Messenger final {
 public:
  Messenger(net::Fabric& fabric, sched::Scheduler& scheduler, const MessengerOptions& options,
            FatalHandler fatal);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// Before the first step.
  void set_team_listener(TeamListener& listener);

  [[nodiscard]] Rank rank() const { return options_.rank; }
  [[nodiscard]] int size() const { return fabric_.layout().world_size; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] net::Fabric& fabric() const { return fabric_; }
  [[nodiscard]] bool checks_payloads() const { return options_.check_payloads; }
  [[nodiscard]] bool carries_payloads() const { return options_.carries_payloads; }
  /// A large transfer into `place` is about to begin.
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
  [[nodiscard]] Backlog& backlog() const { return *backlog_; }
  [[nodiscard]] Receiver& receiver() { return *receiver_; }
  /// The arrivals from each rank that has sent a message.
  [[nodiscard]] const ArrivalCounts& arrivals() const { return *arrivals_; }
  /// Services for the channels of this rank.
  [[nodiscard]] ChannelHost& channel_host() const { return *channel_host_; }

  // --- teams

  /// Channel of the world; made before the first step.
  [[nodiscard]] Channel& world() const { return channels_.world(); }
  /// nullptr: this rank has no such team (yet).
  [[nodiscard]] Channel* find_channel(std::uint64_t team) const { return channels_.find(team); }
  /// The rank has teams: their completion is looked for while their rank is busy with others.
  void set_has_teams(bool has_teams);
  /// A scope has failed: lets progress drop what is held back for it.
  void drop_held();

  // --- sending

  net::Link& link_to(Rank target, net::Lane lane) {
    const sync::Quiet quiet;
    return fabric_.link(options_.rank, target, lane);
  }
  /// Hands what was sent so far to the transport, unless another worker is just doing that.
  void flush();
  /// An uncounted message on the control lane, to a static handler. Never blocks.
  void send_control(const StaticHandler& handler, Rank target, std::span<const std::byte> bytes) {
    link_to(target, net::Lane::control)
        .append({handler.index(), handler.signature(), bytes.size()}, 0,
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

  /// Some worker is in the middle of what arrived.
  [[nodiscard]] bool is_handling() const;
  /// Something has arrived that no worker is handling.
  [[nodiscard]] bool looks_busy() const;

 private:
  class Host;

  net::Fabric& fabric_;
  sched::Scheduler& scheduler_;
  const MessengerOptions options_;
  const FatalHandler fatal_;
  const std::unique_ptr<PacketReader> reader_;
  ChannelTable channels_;
  Services services_;
  PromiseTable promises_;
  const std::unique_ptr<ArrivalCounts> arrivals_;
  const std::unique_ptr<Backlog> backlog_;
  const std::unique_ptr<Receiver> receiver_;
  const std::unique_ptr<RankProgress> progress_;
  const std::unique_ptr<ChannelHost> channel_host_;
  std::atomic<std::uint64_t> payload_bytes_{0};  // that travelled beside messages
};

}  // namespace shoal::messaging

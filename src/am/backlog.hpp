#pragma once
// Messages that came before their handler or their team, on one rank.

#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "am/channel_table.hpp"
#include "am/early_messages.hpp"
#include "am/messenger_options.hpp"
#include "am/packet_reader.hpp"

namespace shoal::messaging {

/// Keeps messages that a task of its rank is to run, and with them the windows of their senders.
class WaitingSenderListener {
 public:
  /// A sender of this rank begins to wait for room, or ends that (false). On its stack.
  virtual void sender_waits(bool begins) = 0;

 protected:
  ~WaitingSenderListener() = default;
};

/// Decides which messages wait, for how long, and which are dropped. Messages of a stream keep
/// their order: the first one that waits holds back those behind it.
class Backlog {
 public:
  Backlog(const ChannelTable& channels, const PacketReader& reader)
      : channels_(channels), reader_(reader) {}
  void set_listener(TeamListener& listener) { listener_ = &listener; }
  [[nodiscard]] TeamListener& listener() const { return *listener_; }

  // --- the progress context's

  /// Messages of the stream wait: later ones of it go behind them.
  [[nodiscard]] bool has(const Stream& stream) const { return early_.has(stream); }
  /// They are multicasts and have left for the ranks below: later ones are to leave too.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const {
    return early_.are_passed_on(stream);
  }
  /// Keeps messages of one stream, the first of which cannot be handled yet, or comes behind others
  /// that wait. `passed_on`: those of a multicast have left for the ranks below.
  void hold(PacketPart part, bool passed_on);
  /// Takes out all messages that wait, to be tried again in the order of their arrival.
  [[nodiscard]] PacketParts take_all();
  /// The team has failed on `source`, and if it does not exist here by now, its messages from there
  /// are dropped. Returns how many. Caller: a handler.
  [[nodiscard]] std::uint64_t drop_early(std::uint64_t team, Rank source);

  // --- any thread

  /// Messages that wait are to be tried again.
  void request_retry() { retry_.store(true, std::memory_order_seq_cst); }
  [[nodiscard]] bool wants_retry() const { return retry_.load(std::memory_order_seq_cst); }
  /// Messages that wait because their instance handler is not open here yet, or their team does
  /// not exist here yet; large ones count twice. For detection they count as processed and as
  /// unsatisfied.
  [[nodiscard]] std::uint64_t count() const { return early_.count(); }
  /// The same, of one team.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const { return early_.count_of(team); }
  [[nodiscard]] bool empty() const { return early_.empty(); }
  /// A sender of this rank begins to wait for room, or ends that (false). Meanwhile the windows of
  /// those whose messages wait here are open: they may be who that room depends on.
  void sender_waits(bool begins);
  /// Called in sender_waits(); nullptr: none.
  void set_sender_listener(WaitingSenderListener* listener) {
    sender_listener_.store(listener, std::memory_order_release);
  }
  /// Called before a snapshot of counts. False: messages that wait are about to be tried again
  /// (they are then neither processed nor stuck), or the names of the handlers that they wait for
  /// have yet to come from their senders, which are asked. The senders' windows open: nothing here
  /// will take the messages soon, and a sender that waited for room would keep the world from
  /// noticing that it is stuck. Caller: the rank is idle.
  [[nodiscard]] bool rests();
  /// The answer of a sender: the name of its handler `index`, made for a team.
  void name_handler(std::uint64_t team, Rank sender, std::uint32_t index, std::string name);
  /// Lines about messages of a team that wait, one for each source. Messages of teams that do not
  /// exist here count for the world.
  [[nodiscard]] std::vector<std::string> describe(std::uint64_t team) const;

 private:
  /// A handler that a sender has made, and this rank has not: for a team, by a rank of the world.
  struct Absent {
    std::uint64_t team = 0;
    std::int32_t sender = 0;
    std::uint32_t index = 0;
    auto operator<=>(const Absent&) const = default;
  };
  /// The one that messages of a stream wait for, or nothing: their team does not exist.
  [[nodiscard]] std::optional<Absent> absent_handler(const Stream& stream,
                                                     const PacketPart& first) const;
  /// True: the names of all of them are known. Asks for those that are not.
  bool ask_names();
  [[nodiscard]] bool can_handle(const net::Run& run) const;
  std::uint64_t drop(const PacketPart& part);

  const ChannelTable& channels_;
  const PacketReader& reader_;
  TeamListener* listener_ = nullptr;
  // release of its maker, acquire of senders
  std::atomic<WaitingSenderListener*> sender_listener_{nullptr};
  EarlyMessages early_;
  mutable sync::Mutex names_mutex_;  // taken before that of early_
  std::map<Absent, std::string> names_ SHOAL_GUARDED_BY(names_mutex_);  // "": asked for
  std::atomic<bool> retry_{false};  // handlers were opened since messages were last tried again
};

}  // namespace shoal::messaging

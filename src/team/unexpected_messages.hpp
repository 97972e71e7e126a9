#pragma once
// Unexpected messages: those that come before their handler or their team, on one rank.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "team/messenger.hpp"

namespace shoal::messaging {

/// Stream of messages that keep their order: of one team, from one rank, in one lane, and with one
/// kind of handler.
///
/// Multicasts are streams of their own, by their first sender, recipients and tree. The rank that
/// passes one on may not have its handler either, so nothing else that this rank sends waits for
/// it. And along other trees earlier multicasts of that sender may come later.
struct Stream {
  static constexpr std::int32_t kDirect = -1;
  static constexpr std::uint32_t kShared = 0;    // handlers of the program keep one order
  static constexpr std::uint32_t kStatic = 1;    // the static ones of models another one; then:
  static constexpr std::uint32_t kInstance = 2;  // + the index of a handler of its own order

  std::uint64_t team = 0;
  std::int32_t source = 0;
  std::uint32_t lane = 0;
  std::uint32_t order = kShared;
  std::int32_t origin = kDirect;  // of multicasts
  std::uint32_t path = 0;         // of multicasts: MulticastHeader::path
  auto operator<=>(const Stream&) const = default;
};

/// Messages of a packet from `offset` on, where a run begins.
struct PacketPart {
  net::PacketHolder packet;
  std::size_t offset = 0;
};
using PacketParts = std::deque<PacketPart>;

/// Reads packets; a damaged packet ends the process.
class PacketReader {
 public:
  explicit PacketReader(const FatalHandler& fatal) : fatal_(fatal) {}

  /// Reads the run at `offset`, which becomes the offset of its first message.
  void read_run(const net::Packet& packet, std::size_t& offset, net::Run& run) const {
    if (net::read_run(packet.messages(), offset, run)) [[likely]]
      return;
    refuse(packet, run);
  }
  /// Returns the number of messages before `offset`.
  [[nodiscard]] std::uint64_t count_before(const net::Packet& packet, std::size_t offset) const;
  /// Returns the number of messages that are queued and not processed. A large message counts
  /// twice: its release at the sender must not run before its header is handled on this rank.
  [[nodiscard]] std::uint64_t unprocessed(const PacketPart& part) const;
  /// Returns the stream of the first message of the part.
  [[nodiscard]] Stream stream_of(const PacketPart& part) const;
  /// Splits a part into parts with the same messages in the same order, each of one stream that
  /// waits, or of streams that do not wait. If it needs no splitting, returns the part itself;
  /// copies do not count in the sender's window.
  [[nodiscard]] PacketParts split(PacketPart part, FunctionRef<bool(const Stream&)> waits) const;

 private:
  /// Consecutive messages of a packet.
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t count = 0;
  };

  [[gnu::cold]] void refuse(const net::Packet& packet, const net::Run& run) const;
  /// Calls f(run, offset) for each message.
  template <class F>
  void for_each_message(const PacketPart& part, F f) const;
  [[nodiscard]] std::vector<Stretch> stretches_of(const PacketPart& part,
                                                  FunctionRef<bool(const Stream&)> waits) const;

  const FatalHandler& fatal_;
};

/// Messages of one stream that wait, in packets.
struct Early {
  struct Kept {
    PacketPart part;
    std::uint64_t number = 0;  // in the order of arrival on this rank
  };
  std::deque<Kept> packets;
  std::uint64_t count = 0;   // of unprocessed messages; large ones twice
  bool passed_on = false;    // multicasts: so are those that come behind
  std::size_t disowned = 0;  // packets, the first ones

  void disown_all();
};

/// Messages of all streams that wait on this rank. **Caller**: any thread.
class EarlyMessages {
 public:
  EarlyMessages() = default;
  /// Destroys the messages; their senders may not exist any more.
  ~EarlyMessages();
  EarlyMessages(const EarlyMessages&) = delete;
  EarlyMessages& operator=(const EarlyMessages&) = delete;

  /// Returns the number of messages of all streams. acquire pairs with the release of the adders.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const;
  [[nodiscard]] bool empty() const;

  /// Returns whether messages of the stream wait.
  [[nodiscard]] bool has(const Stream& stream) const;
  /// Returns whether messages of the stream wait that were forwarded.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const;
  /// Keeps messages of the stream, after those that wait. If there are none, returns true: the
  /// stream begins as `passed_on`, and `then` runs before the messages can be removed again.
  bool add(const Stream& stream, PacketPart part, std::uint64_t messages, bool passed_on,
           FunctionRef<void()> then);
  /// Removes the streams of a team from one rank, unless `unless`, which is called under the lock,
  /// returns true.
  [[nodiscard]] PacketParts take(std::uint64_t team, std::int32_t source,
                                 FunctionRef<bool()> unless);
  /// Removes all messages, in the order of arrival; `then` runs before another one is added.
  [[nodiscard]] PacketParts take_all(FunctionRef<void()> then);
  /// While the sum of `change` is above 0, the windows of all senders are open.
  void open_windows(int change);
  /// Opens the windows of all senders, unless `unless`, which is called under the lock, returns
  /// true.
  [[nodiscard]] bool disown_all(FunctionRef<bool()> unless);
  /// Calls a function for each stream, with the part of a packet that waits first.
  void for_each(FunctionRef<void(const Stream&, const PacketPart& first)> visit) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<Stream, Early> streams_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
  int open_windows_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> count_{0};
};

/// Decides which messages wait, for how long, and which are dropped. Messages of a stream keep
/// their order: the first one that waits holds back those behind it.
class Backlog {
 public:
  Backlog(const ChannelTable& channels, const PacketReader& reader)
      : channels_(channels), reader_(reader) {}

  // --- the progress context's

  /// Returns whether messages of the stream wait: later ones of it then wait behind them.
  [[nodiscard]] bool has(const Stream& stream) const { return early_.has(stream); }
  /// Returns whether the messages of the stream that wait are multicasts which this rank has
  /// forwarded: later ones are to be forwarded, too.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const {
    return early_.are_passed_on(stream);
  }
  /// Keeps messages of one stream that wait: the first one cannot be handled yet, or others of the
  /// stream wait already. `passed_on`: they are multicasts which this rank has forwarded.
  void hold(PacketPart part, bool passed_on);
  /// Removes all messages that wait, for another attempt in the order of their arrival.
  [[nodiscard]] PacketParts take_all();
  /// Drops the messages of a team from `source`, where it has failed, if the team does not exist on
  /// this rank; returns their number. Caller: a handler.
  [[nodiscard]] std::uint64_t drop_early(std::uint64_t team, Rank source);

  // --- any thread

  /// Requests another attempt to handle the messages that wait.
  void request_retry() { retry_.store(true, std::memory_order_seq_cst); }
  [[nodiscard]] bool wants_retry() const { return retry_.load(std::memory_order_seq_cst); }
  /// Returns the number of messages that wait because their instance handler is not open on this
  /// rank yet, or their team does not exist here yet; large ones count twice. Completion detection
  /// counts them as processed and as unsatisfied.
  [[nodiscard]] std::uint64_t count() const { return early_.count(); }
  /// Returns the number of messages of one team that wait.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const { return early_.count_of(team); }
  [[nodiscard]] bool empty() const { return early_.empty(); }
  /// A sender of this rank begins to wait for room, or ends that (false). Meanwhile the windows of
  /// those whose messages wait here are open: they may be who that room depends on.
  void sender_waits(bool begins) { early_.open_windows(begins ? 1 : -1); }
  /// Called before a snapshot of counts. False: messages that wait are about to be tried again
  /// (they are then neither processed nor stuck), or the names of the handlers that they wait for
  /// have yet to come from their senders, which are asked. The senders' windows open: nothing here
  /// will take the messages soon, and a sender that waited for room would keep the world from
  /// noticing that it is stuck. Caller: the rank is idle.
  [[nodiscard]] bool rests();
  /// Records the answer of a sender: the name of its handler `index` of a team.
  void name_handler(std::uint64_t team, Rank sender, std::uint32_t index, std::string name);
  /// Returns lines about messages of a team that wait, one for each source. Messages of teams that
  /// do not exist on this rank count for the world.
  [[nodiscard]] std::vector<std::string> describe(std::uint64_t team) const;

 private:
  /// Handler of a team that a rank of the world has made, and this rank has not.
  struct Absent {
    std::uint64_t team = 0;
    std::int32_t sender = 0;
    std::uint32_t index = 0;
    auto operator<=>(const Absent&) const = default;
  };
  /// Returns the handler that messages of a stream wait for; nothing if they wait for their team.
  [[nodiscard]] std::optional<Absent> absent_handler(const Stream& stream,
                                                     const PacketPart& first) const;
  /// Asks for the names of handlers that are not known; returns whether all are known.
  bool ask_names();
  [[nodiscard]] bool can_handle(const net::Run& run) const;
  std::uint64_t drop(const PacketPart& part);

  const ChannelTable& channels_;
  const PacketReader& reader_;
  EarlyMessages early_;
  mutable sync::Mutex names_mutex_;  // taken before that of early_
  std::map<Absent, std::string> names_ SHOAL_GUARDED_BY(names_mutex_);  // "": asked for
  std::atomic<bool> retry_{false};  // handlers were opened since messages were last tried again
};

}  // namespace shoal::messaging

#pragma once
// Reading of packets, run by run.

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

#include "am/messenger.hpp"

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

/// The messages of a packet from `offset` on, where a run begins.
struct PacketPart {
  net::PacketHolder packet;
  std::size_t offset = 0;
};
using PacketParts = std::deque<PacketPart>;

/// A packet that is damaged ends the process.
class PacketReader {
 public:
  explicit PacketReader(const FatalHandler& fatal) : fatal_(fatal) {}

  /// The run at `offset`, which becomes that of its first message.
  void read_run(const net::Packet& packet, std::size_t& offset, net::Run& run) const {
    if (net::read_run(packet.messages(), offset, run)) [[likely]]
      return;
    refuse(packet, run);
  }
  /// Number of messages before `offset`.
  [[nodiscard]] std::uint64_t count_before(const net::Packet& packet, std::size_t offset) const;
  /// Number of messages that are queued and not processed. A large message counts twice: its
  /// release at the sender is not due before its header is handled here.
  [[nodiscard]] std::uint64_t unprocessed(const PacketPart& part) const;
  /// The stream of its first message.
  [[nodiscard]] Stream stream_of(const PacketPart& part) const;
  /// Parts with the same messages in the same order: each is of one stream that waits, or of those
  /// that do not. The part itself if it is so already; copies do not count towards the sender's
  /// window.
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

// Messages whose handler or team does not exist on this rank yet.

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

/// Any thread.
class EarlyMessages {
 public:
  EarlyMessages() = default;
  /// The senders may be gone.
  ~EarlyMessages();
  EarlyMessages(const EarlyMessages&) = delete;
  EarlyMessages& operator=(const EarlyMessages&) = delete;

  /// Messages of all streams. acquire pairs with the release of the adders.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const;
  [[nodiscard]] bool empty() const;

  /// Messages of the stream wait.
  [[nodiscard]] bool has(const Stream& stream) const;
  /// And were passed on.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const;
  /// Keeps messages of the stream, behind those that wait. True: there are none; the stream begins
  /// as `passed_on`, and `then` runs before they can be taken out again.
  bool add(const Stream& stream, PacketPart part, std::uint64_t messages, bool passed_on,
           FunctionRef<void()> then);
  /// Takes out the streams of a team from one rank, unless `unless` says not to: under the lock.
  [[nodiscard]] PacketParts take(std::uint64_t team, std::int32_t source,
                                 FunctionRef<bool()> unless);
  /// Takes all out, in the order of arrival; `then` runs before another one is added.
  [[nodiscard]] PacketParts take_all(FunctionRef<void()> then);
  /// While the sum of `change` is above 0, the windows of all senders are open.
  void open_windows(int change);
  /// Opens the windows of all senders, unless `unless` says not to: under the lock.
  [[nodiscard]] bool disown_all(FunctionRef<bool()> unless);
  /// With the part of a packet that waits first.
  void for_each(FunctionRef<void(const Stream&, const PacketPart& first)> visit) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<Stream, Early> streams_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
  int open_windows_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> count_{0};
};

// Messages that came before their handler or their team, on one rank.

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

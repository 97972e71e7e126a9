#pragma once
// Unexpected messages of a rank: those that arrive before their receiver, a handler or a team.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "team/messenger.hpp"

namespace shoal::team {

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

  [[nodiscard]] bool is_multicast() const { return origin != kDirect; }
  /// Returns whether these are about a team, and not its own: they wait for the team alone.
  [[nodiscard]] bool is_about_team() const { return (team & kAboutBit) != 0; }
  /// Returns the rank that has made the messages, in the world.
  [[nodiscard]] Rank sender() const { return Rank(is_multicast() ? origin : source); }
};

/// Messages of a packet from `offset` on, where a run begins. The part owns their arguments that
/// are objects. Code that handles messages, or gives them to another part, moves `offset` on.
struct PacketPart {
  net::PacketHolder packet;
  std::size_t offset = 0;

  explicit PacketPart(net::PacketHolder messages, std::size_t begin = 0)
      : packet(std::move(messages)), offset(begin) {}
  PacketPart(PacketPart&& other) noexcept = default;
  PacketPart& operator=(PacketPart&& other) noexcept {
    std::swap(packet, other.packet);
    std::swap(offset, other.offset);
    return *this;
  }
  ~PacketPart();

  [[nodiscard]] bool empty() const {
    return packet == nullptr || offset == packet->messages().size();
  }
};

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
  /// Returns the offset of the first run of the part with a message of such a stream; else the end
  /// of the packet.
  [[nodiscard]] std::size_t find_run(const PacketPart& part,
                                     FunctionRef<bool(const Stream&)> is_such) const;
  /// Takes the first messages out of the part: parts of one stream each. That is the whole part if
  /// it is of one stream; else they are copies of its first run, in no sender's window.
  [[nodiscard]] std::vector<PacketPart> take_first(PacketPart& part) const;

 private:
  [[gnu::cold]] void refuse(const net::Packet& packet, const net::Run& run) const;

  const FatalHandler& fatal_;
};

/// Table of the messages of a rank whose receivers are not there yet. Those of a stream keep their
/// order: the first one that waits holds back those behind it.
///
/// They are in the windows of their senders while the main function of the rank runs, which may be
/// about to make or open their receivers. When it has paused, they leave the windows: what it
/// pauses for may be behind them. They also leave while a sender of this rank waits for room, which
/// may depend on their senders.
class UnexpectedMessages {
 public:
  UnexpectedMessages(const CoreTable& cores, const PacketReader& reader)
      : cores_(cores), reader_(reader) {}
  /// Destroys the messages; their senders may not exist any more.
  ~UnexpectedMessages();
  UnexpectedMessages(const UnexpectedMessages&) = delete;
  UnexpectedMessages& operator=(const UnexpectedMessages&) = delete;

  // --- the progress context's

  /// Returns whether messages of the lane of a packet wait. Those of other lanes have an order of
  /// their own: control messages about a team that is never made hold nothing else up.
  [[nodiscard]] bool any(const net::Packet& packet) const {
    return ((lanes_ >> packet.header().lane) & 1U) != 0;
  }
  /// Returns whether messages of the stream wait: later ones of it then wait behind them.
  [[nodiscard]] bool has(const Stream& stream) const;
  /// Returns whether the messages of the stream that wait are multicasts which this rank has
  /// forwarded: later ones are to be forwarded, too.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const;
  /// Keeps messages of one stream behind those that wait. `passed_on`: they are multicasts which
  /// this rank has forwarded.
  void keep(const Stream& stream, PacketPart part, bool passed_on);
  /// Removes all messages, for another attempt in the order of their arrival.
  [[nodiscard]] std::vector<PacketPart> take_all();
  /// Drops the messages of a team from `source`, where it has failed, if the team does not exist on
  /// this rank; returns their number. Caller: a handler.
  [[nodiscard]] std::uint64_t drop(std::uint64_t team, Rank source);
  /// Takes all messages out of the windows of their senders.
  void leave_windows();

  // --- any thread

  /// Returns whether messages have come since leave_windows(). seq_cst: a worker that is about to
  /// sleep looks, and so does one that may wake it.
  [[nodiscard]] bool are_in_windows() const { return in_windows_.load(std::memory_order_seq_cst); }
  /// A sender of this rank begins to wait for room, or ends that (false).
  void sender_waits(bool begins);
  /// Requests another attempt to handle the messages that wait.
  void request_retry() { retry_.store(true, std::memory_order_seq_cst); }
  [[nodiscard]] bool wants_retry() const { return retry_.load(std::memory_order_seq_cst); }
  /// Returns the number of messages that wait, but for control messages; large ones count twice.
  /// Completion detection counts them as processed and as unsatisfied. acquire pairs with the
  /// release of the adders.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  /// Returns the number of messages of one team that wait.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const;
  /// Returns whether no messages wait, after all that was kept or opened before.
  [[nodiscard]] bool empty() const;
  /// Called before a snapshot of counts. False: messages that wait are about to be tried again
  /// (they are then neither processed nor stuck), or the names of the handlers that they wait for
  /// have yet to come from their senders, which are asked. Caller: the rank is idle.
  [[nodiscard]] bool rests();
  /// Records the answer of a sender: the name of its handler `index` of a team.
  void name_handler(std::uint64_t team, Rank sender, std::uint32_t index, std::string name);
  /// Returns lines about messages of a team that wait, one for each sender and handler. Messages of
  /// teams that do not exist on this rank count for the world.
  [[nodiscard]] std::vector<std::string> describe(std::uint64_t team) const;

 private:
  /// Messages of one stream.
  struct Entry {
    std::vector<std::pair<std::uint64_t, PacketPart>> parts;  // by number of arrival
    std::size_t left = 0;       // parts that have left the window, the first ones
    std::uint64_t count = 0;    // of messages that are not processed; large ones twice, control
                                // messages not at all
    std::uint64_t bytes = 0;    // of all
    std::uint32_t handler = 0;  // of the first one
    bool passed_on = false;     // multicasts: so are those that come behind
  };
  /// Handler of a team that a rank of the world has made, and this rank has not.
  struct Absent {
    std::uint64_t team = 0;
    Rank sender;
    std::uint32_t index = 0;
    auto operator<=>(const Absent&) const = default;
  };
  /// Returns the handler that a stream waits for; nothing if it waits for its team.
  [[nodiscard]] std::optional<Absent> absent_handler(const Stream& stream,
                                                     const Entry& entry) const;
  /// Asks for the names of handlers that are not known; returns whether all are known.
  bool ask_names();
  /// Text about the first message of a part, for reports.
  [[nodiscard]] std::string text_of(const PacketPart& part) const;
  [[nodiscard]] bool can_handle(const net::Run& run) const;
  std::uint64_t drop(const PacketPart& part) const;
  void leave(Entry& entry) SHOAL_REQUIRES(mutex_);

  const CoreTable& cores_;
  const PacketReader& reader_;
  mutable sync::Mutex mutex_;
  std::map<Stream, Entry> entries_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t arrival_count_ SHOAL_GUARDED_BY(mutex_) = 0;
  int waiting_senders_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::map<Absent, std::string> names_ SHOAL_GUARDED_BY(mutex_);  // "": asked for
  std::atomic<std::uint64_t> count_{0};
  std::uint64_t lanes_ = 0;  // a bit for each one that messages wait of; the progress context's
  std::atomic<bool> in_windows_{false};
  std::atomic<bool> retry_{false};  // handlers were opened since messages were last tried again
};

}  // namespace shoal::team

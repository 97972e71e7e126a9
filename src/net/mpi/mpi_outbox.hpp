#pragma once
// Sends packets: those of the links, as their windows allow, and the engine's own.

#include <shoal/detail/net/link.hpp>
#include <shoal/detail/net/transport.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_wire.hpp"

namespace shoal::net {

class MpiEngine;
class MpiOutbox;

/// Packets stay in the link, where messages share them, until the outbox may send one.
class MpiLink final : public Link {
 public:
  /// Where it belongs; both outlive it.
  struct Context {
    MpiOutbox& outbox;
    MpiEngine& engine;
  };

  MpiLink(Rank source, Rank target, Lane lane, const LinkOptions& options, const Context& context);
  ~MpiLink() override;

  [[nodiscard]] std::size_t index() const { return index_; }  // in the outbox
  [[nodiscard]] int peer() const { return peer_; }            // process of the target

  // For the outbox, under the engine's lock.

  /// Returns whether the receiver has consumed enough of the sent bytes. If no sent byte is
  /// unacknowledged, a packet of any size may be sent. Packets of other lanes are never held back,
  /// and never acknowledged.
  [[nodiscard]] bool window_is_open() const {
    return lane() != Lane::normal || unacknowledged_bytes_ == 0 ||
           unacknowledged_bytes_ < options().window_bytes;
  }
  [[nodiscard]] bool has_packets() const { return announced_ || !backlog_.empty(); }
  /// Removes the next packet to send, with its sequence number, and returns it; nullptr if there is
  /// none. Notifies nobody.
  Packet* next_packet() {
    if (backlog_.empty() && std::exchange(announced_, false)) backlog_ = take();
    Packet* const packet = backlog_.pop_front();
    if (packet == nullptr) return nullptr;
    packet->owner = nullptr;
    packet->header().sequence = next_sequence_++;
    if (lane() == Lane::normal) unacknowledged_bytes_ += packet->window_bytes();
    return packet;
  }
  /// Records acknowledged bytes; returns false if they are more than were sent.
  [[nodiscard]] bool acknowledge(std::size_t bytes) {
    if (bytes > unacknowledged_bytes_) return false;
    unacknowledged_bytes_ -= bytes;
    return true;
  }
  void set_announced() { announced_ = true; }
  /// Sets whether the link is in the outbox's list of links to serve; returns the value before.
  bool set_listed(bool listed) { return std::exchange(listed_, listed); }

 protected:
  void announce(bool polls_next) override;

 private:
  class Announcement final : public MpiSubmission {
   public:
    Announcement(MpiLink& link, MpiOutbox& outbox) : link_(link), outbox_(outbox) {}
    void start() override;

   private:
    MpiLink& link_;
    MpiOutbox& outbox_;
  };

  const std::size_t index_;
  const int peer_;
  MpiEngine& engine_;
  Announcement announcement_;

  // Guarded by the engine's lock.
  PacketList backlog_;      // taken and not sent
  bool announced_ = false;  // packets wait in the base class
  bool listed_ = false;
  std::uint64_t next_sequence_ = 0;
  std::size_t unacknowledged_bytes_ = 0;  // of messages, as PacketHeader::size_bytes counts them
};

/// Consumed bytes to report to a link once the engine's lock is released.
struct MpiCredit {
  MpiLink* link;
  std::size_t bytes;
};

/// Guarded by the engine's lock.
///
/// Invariant: a link that has packets and whose window is open is listed.
class MpiOutbox {
 public:
  MpiOutbox(const Layout& layout, MpiTransfers& transfers, MpiNodeMemory& node,
            std::size_t packet_bytes);

  void enroll(MpiLink& link);
  void forget(MpiLink& link);
  /// Index of a link among the links of this process.
  [[nodiscard]] std::size_t index_of(Rank source, Rank target, Lane lane) const;
  [[nodiscard]] int process_of(Rank rank) const { return layout_.process_of(rank); }

  /// Called when packets wait in `link`.
  void announced(MpiLink& link);
  /// Called when `bytes` that `source` sent to `target` were consumed there. Throws TransportError
  /// when they were never sent from this process to `process`.
  void acknowledged(const MpiAcknowledgement& what, int process);
  /// Sends packets as far as windows allow; returns whether it has sent any.
  bool send_ready() {
    const bool waited = !crowded_.empty() && send_waiting();
    return (has_listed() && send_listed()) || waited;
  }
  /// Sends a message of the engine itself, at once.
  void send_own(int process, MpiMessage kind, std::span<const std::byte> bytes);

  /// Returns whether no packet waits that may be sent, or waits for room, and MPI reads no packet
  /// any more.
  [[nodiscard]] bool is_quiet() const { return !has_listed() && under_way_ == 0; }
  /// How many messages on kPacketTag, or records of the node's memory, went to each process.
  [[nodiscard]] const std::vector<std::uint64_t>& sent_counts() const { return sent_counts_; }
  /// Returns the credits that the caller gives to links after it has released the engine's lock:
  /// senders that a link wakes may send.
  std::vector<MpiCredit> take_credits() {
    return credits_.empty() ? std::vector<MpiCredit>() : std::exchange(credits_, {});
  }
  /// Returns the arguments that have been sent: their destructors are code of the program, which
  /// runs without the engine's lock.
  [[nodiscard]] std::vector<std::shared_ptr<Pieces>> take_sent_pieces() {
    return sent_pieces_.empty() ? std::vector<std::shared_ptr<Pieces>>()
                                : std::exchange(sent_pieces_, {});
  }

 private:
  class Sending;
  class SendingPieces;
  struct Waiting {
    PacketHolder packet;
    std::size_t link_index;
    std::size_t credit_bytes;
  };
  struct Peer {
    int packets_under_way = 0;
    std::uint64_t next_own_sequence = 0;
    std::deque<Waiting> waiting;  // for room in the node's memory; not empty: it is in crowded_
  };
  // More than a few packets at once towards one process do not make them faster, and those that
  // wait in their links are filled up meanwhile.
  static constexpr int kUnderWayMax = 16;
  static constexpr int kTurn = 8;  // packets of one link before the next link's turn

  [[nodiscard]] Peer& peer(int process) { return peers_[static_cast<std::size_t>(process)]; }
  /// The messages of a packet that is not announced.
  [[nodiscard]] std::size_t largest_bytes(int process) const {
    return node_.is_near(process) ? MpiNodeMemory::kMessagesMaxBytes : receive_bytes_;
  }
  [[nodiscard]] bool may_take(int process) {
    const Peer& to = peer(process);
    return to.packets_under_way < kUnderWayMax && to.waiting.empty();
  }
  [[nodiscard]] bool has_listed() const {
    return !(listed_[0].empty() && listed_[1].empty() && listed_[2].empty());
  }
  bool send_listed();
  bool send_waiting();
  void list(MpiLink& link);
  bool serve(MpiLink& link, bool& sent);
  void send(MpiLink& link, Packet* packet);
  void send_pieces(PacketHolder packet, MpiLink& link, std::size_t credit_bytes);
  void start(Packet* packet, int process, int tag, std::size_t link_index,
             std::size_t credit_bytes);
  void hand_over(Waiting one, int process);
  void ended(int process, std::size_t link_index, std::size_t credit_bytes);
  void add_credit(std::size_t link_index, std::size_t credit_bytes);

  const Layout layout_;
  MpiTransfers& transfers_;
  MpiNodeMemory& node_;
  const std::size_t receive_bytes_;
  std::vector<MpiLink*> links_;  // by index_of(); nullptr: not made, or gone
  std::vector<Peer> peers_;
  std::vector<int> crowded_;  // processes that packets wait for
  std::array<std::vector<MpiLink*>, kLaneCount> listed_;
  std::vector<MpiCredit> credits_;
  std::vector<std::shared_ptr<Pieces>> sent_pieces_;
  std::vector<std::uint64_t> sent_counts_;
  std::size_t under_way_ = 0;
};

}  // namespace shoal::net

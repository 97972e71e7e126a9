#pragma once
// A link to a rank of another process.

#include <shoal/detail/net/link.hpp>

#include "net/mpi/mpi_submission.hpp"

#include <cstddef>
#include <utility>

namespace shoal::net {

class MpiOutbox;

/// Packets stay in the link, where messages share them, until the outbox may send one.
class MpiLink final : public Link {
 public:
  /// Where it belongs; both outlive it.
  struct Context {
    MpiOutbox& outbox;
    MpiSubmissions& submissions;
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
  void announce(bool polls_next) override {
    if (polls_next) {
      submissions_.submit_quietly(announcement_);
    } else {
      submissions_.submit(announcement_);
    }
  }

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
  MpiSubmissions& submissions_;
  Announcement announcement_;

  // Guarded by the engine's lock.
  PacketList backlog_;      // taken and not sent
  bool announced_ = false;  // packets wait in the base class
  bool listed_ = false;
  std::uint64_t next_sequence_ = 0;
  std::size_t unacknowledged_bytes_ = 0;  // of messages, as PacketHeader::size_bytes counts them
};

}  // namespace shoal::net

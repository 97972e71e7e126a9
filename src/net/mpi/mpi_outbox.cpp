#include "net/mpi/mpi_outbox.hpp"

#include <shoal/detail/net/pieces.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "net/mpi/mpi_engine.hpp"

namespace shoal::net {

MpiLink::MpiLink(Rank source, Rank target, Lane lane, const LinkOptions& options,
                 const Context& context)
    : Link(source, target, lane, options),
      index_(context.outbox.index_of(source, target, lane)),
      peer_(context.outbox.process_of(target)),
      engine_(context.engine),
      announcement_(*this, context.outbox) {}

MpiLink::~MpiLink() {
  engine_.withdraw(*this);
  backlog_.discard();
}

void MpiLink::announce(bool polls_next) {
  if (polls_next) {
    engine_.submit_quietly(announcement_);
  } else {
    engine_.submit(announcement_);
  }
}

void MpiLink::Announcement::start() { outbox_.announced(link_); }

namespace {
constexpr auto kNoLink = static_cast<std::size_t>(-1);
}

/// A packet that MPI reads.
class MpiOutbox::Sending final : public MpiTransfer {
 public:
  Sending(MpiOutbox& outbox, Packet* packet, int process, std::size_t link_index,
          std::size_t credit_bytes)
      : outbox_(outbox),
        packet_(packet),
        process_(process),
        link_index_(link_index),
        credit_bytes_(credit_bytes) {}
  ~Sending() override { packet_->release(); }
  void done() override { outbox_.ended(process_, link_index_, credit_bytes_); }

 private:
  MpiOutbox& outbox_;
  Packet* const packet_;
  const int process_;
  const std::size_t link_index_;
  const std::size_t credit_bytes_;
};

/// A packet whose pieces MPI reads. Its last transfer ends it.
class MpiOutbox::SendingPieces {
 public:
  SendingPieces(MpiOutbox& outbox, std::shared_ptr<Pieces> pieces, const MpiLink& link,
                std::size_t credit_bytes)
      : outbox_(outbox),
        pieces_(std::move(pieces)),
        process_(link.peer()),
        link_index_(link.index()),
        credit_bytes_(credit_bytes) {
    ++outbox_.peer(process_).packets_under_way;
    ++outbox_.under_way_;
  }
  ~SendingPieces() {
    outbox_.sent_pieces_.push_back(std::move(pieces_));
    outbox_.ended(process_, link_index_, credit_bytes_);
  }
  SendingPieces(const SendingPieces&) = delete;
  SendingPieces& operator=(const SendingPieces&) = delete;

  class Transfer final : public MpiTransfer {
   public:
    explicit Transfer(std::shared_ptr<SendingPieces> all) : all_(std::move(all)) {}
    void done() override {}

   private:
    std::shared_ptr<SendingPieces> all_;
  };

  Bytes body;  // if it travels on its own

 private:
  MpiOutbox& outbox_;
  std::shared_ptr<Pieces> pieces_;
  const int process_;
  const std::size_t link_index_;
  const std::size_t credit_bytes_;
};

MpiOutbox::MpiOutbox(const Layout& layout, MpiTransfers& transfers, MpiNodeMemory& node,
                     std::size_t packet_bytes)
    : layout_(layout),
      transfers_(transfers),
      node_(node),
      receive_bytes_(receive_bytes(packet_bytes)),
      links_(static_cast<std::size_t>(layout.ranks_per_process) *
             static_cast<std::size_t>(layout.world_size) * kLaneCount),
      peers_(static_cast<std::size_t>(layout.process_count())),
      sent_counts_(peers_.size()) {}

std::size_t MpiOutbox::index_of(Rank source, Rank target, Lane lane) const {
  const auto row = static_cast<std::size_t>(source - layout_.first_local());
  return (row * static_cast<std::size_t>(layout_.world_size) + static_cast<std::size_t>(target)) *
             kLaneCount +
         static_cast<std::size_t>(lane);
}

void MpiOutbox::enroll(MpiLink& link) { links_[link.index()] = &link; }

void MpiOutbox::forget(MpiLink& link) {
  links_[link.index()] = nullptr;
  std::erase(listed_[static_cast<std::size_t>(link.lane())], &link);
  std::erase_if(credits_, [&](const MpiCredit& credit) { return credit.link == &link; });
}

void MpiOutbox::announced(MpiLink& link) {
  link.set_announced();
  list(link);
}

void MpiOutbox::list(MpiLink& link) {
  if (!link.has_packets() || !link.window_is_open() || link.set_listed(true)) return;
  listed_[static_cast<std::size_t>(link.lane())].push_back(&link);
}

void MpiOutbox::acknowledged(const MpiAcknowledgement& what, int process) {
  const Rank source(what.source);
  const Rank target(what.target);
  const bool is_ours = source >= 0 && source < layout_.world_size && layout_.is_local(source) &&
                       target >= 0 && target < layout_.world_size &&
                       layout_.process_of(target) == process;
  MpiLink* const link = is_ours ? links_[index_of(source, target, Lane::normal)] : nullptr;
  if (is_ours && link == nullptr) return;  // the link has ended: no sender waits for it
  if (link == nullptr || !link->acknowledge(what.bytes)) {
    throw TransportError(
        fmt::format("process {} acknowledges {} bytes from rank {} to rank {} that were not sent; "
                    "two different "
                    "builds of the program run together",
                    process, what.bytes, what.source, what.target));
  }
  credits_.push_back({link, what.bytes});
  list(*link);
}

bool MpiOutbox::send_listed() {
  bool sent = false;
  for (const Lane lane : {Lane::control, Lane::urgent, Lane::normal}) {
    auto& listed = listed_[static_cast<std::size_t>(lane)];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < listed.size(); ++i) {  // serve() lists no link
      MpiLink* const link = listed[i];
      if (serve(*link, sent)) {
        listed[kept++] = link;
      } else {
        link->set_listed(false);
      }
    }
    listed.resize(kept);
    if (kept > 1) std::rotate(listed.begin(), listed.begin() + 1, listed.end());
  }
  return sent;
}

// Returns whether the link is to stay listed.
bool MpiOutbox::serve(MpiLink& link, bool& sent) {
  for (int i = 0; i < kTurn; ++i) {
    if (!link.window_is_open()) return false;  // acknowledged() lists it again
    const bool may_wait = link.lane() == Lane::normal;
    if (may_wait && !may_take(link.peer())) return true;
    Packet* const packet = link.next_packet();
    if (packet == nullptr) return false;  // announced() lists it again
    send(link, packet);
    sent = true;
  }
  return true;
}

void MpiOutbox::send(MpiLink& link, Packet* packet) {
  const PacketHeader& header = packet->header();
  // The peer acknowledges the bytes of the messages. The rest of the accounted bytes is memory of
  // this process, which is free once the packet has left. Other lanes are not acknowledged.
  const std::size_t acknowledged_later = link.lane() == Lane::normal ? packet->window_bytes() : 0;
  const std::size_t credit_bytes = packet->accounted_bytes - acknowledged_later;
  if (packet->pieces() != nullptr) return send_pieces(PacketHolder(packet), link, credit_bytes);
  int tag = kPacketTag;
  if (header.size_bytes > largest_bytes(link.peer())) {
    const MpiAnnouncement announcement{header.source, header.target, header.lane,
                                       header.size_bytes};
    send_own(link.peer(), MpiMessage::announce, std::as_bytes(std::span(&announcement, 1)));
    tag = kLargePacketTag;
  }
  start(packet, link.peer(), tag, link.index(), credit_bytes);
}

void MpiOutbox::send_pieces(PacketHolder packet, MpiLink& link, std::size_t credit_bytes) {
  const PacketHeader& header = packet->header();
  const int process = link.peer();
  const std::shared_ptr<Pieces> pieces = std::move(packet->out_of_band->pieces);
  packet->seal(header.sequence);
  std::vector<std::uint64_t> sizes;
  std::size_t body_bytes = packet->wire().size();
  for (const Piece& piece : pieces->list) {
    sizes.push_back(piece.bytes.size() | (piece.is_block ? kBlockBit : 0));
    if (!piece.is_separate()) body_bytes = body_place(body_bytes, piece) + piece.bytes.size();
  }
  Bytes body = make_bytes(body_bytes);
  const std::span<const std::byte> wire = packet->wire();
  std::memcpy(body.get(), wire.data(), wire.size());
  std::size_t at = wire.size();
  for (const Piece& piece : pieces->list) {
    if (piece.is_separate()) continue;
    const std::size_t place = body_place(at, piece);
    std::memset(body.get() + at, 0, place - at);
    std::memcpy(body.get() + place, piece.bytes.data(), piece.bytes.size());
    at = place + piece.bytes.size();
  }
  const MpiPieces announcement{header.source,
                               header.target,
                               header.lane,
                               header.size_bytes,
                               packet->out_of_band->slot,
                               body_bytes,
                               pieces->checksum,
                               pieces->checked,
                               static_cast<std::uint32_t>(sizes.size())};
  const std::size_t table_bytes = align_up(sizeof announcement + sizes.size() * sizeof sizes[0]);
  std::vector<std::byte> message(table_bytes);
  std::memcpy(message.data(), &announcement, sizeof announcement);
  std::ranges::copy(std::as_bytes(std::span(sizes)), message.begin() + sizeof announcement);
  const bool is_here = table_bytes + body_bytes + sizeof(RunHeader) <= kEnginePacketBytes;
  if (is_here) message.insert(message.end(), body.get(), body.get() + body_bytes);
  send_own(process, MpiMessage::pieces, message);
  const auto all = std::make_shared<SendingPieces>(*this, pieces, link, credit_bytes);
  const auto transfer = [&](std::span<const std::byte> bytes) {
    transfers_.send(std::make_unique<SendingPieces::Transfer>(all), bytes, process,
                    kLargePacketTag);
  };
  if (!is_here) {
    all->body = std::move(body);
    transfer({all->body.get(), body_bytes});
  }
  for (const Piece& piece : pieces->list) {
    if (piece.is_separate()) transfer(piece.bytes);
  }
}

void MpiOutbox::send_own(int process, MpiMessage kind, std::span<const std::byte> bytes) {
  Packet* const packet = Packet::create(Packet::bytes_at_most({0, 0, bytes.size()}));
  PacketHeader& header = packet->header();
  header.lane = kEngineLane;
  header.source = layout_.first_local();
  header.target = process * layout_.ranks_per_process;
  const MessageHeader message{static_cast<std::uint32_t>(kind), 0, bytes.size()};
  std::memcpy(packet->add_message(message).data(), bytes.data(), bytes.size());
  header.sequence = peer(process).next_own_sequence++;
  start(packet, process, kPacketTag, kNoLink, 0);
}

void MpiOutbox::start(Packet* packet, int process, int tag, std::size_t link_index,
                      std::size_t credit_bytes) {
  MpiRequest request = transfers_.no_request();
  if (tag == kPacketTag) {
    ++sent_counts_[static_cast<std::size_t>(process)];
    if (node_.is_near(process)) {
      hand_over({PacketHolder(packet), link_index, credit_bytes}, process);
      return;
    }
  }
  packet->seal(packet->header().sequence);
  if (tag == kPacketTag) {
    if (transfers_.send_packet(packet->wire(), process, request)) {
      packet->release();
      add_credit(link_index, credit_bytes);
      return;
    }
  }
  ++peer(process).packets_under_way;
  ++under_way_;
  auto sending = std::make_unique<Sending>(*this, packet, process, link_index, credit_bytes);
  if (tag == kPacketTag) {
    transfers_.keep(std::move(sending), request, process);
  } else {
    transfers_.send(std::move(sending), packet->wire(), process, tag);
  }
}

// Packets that wait are older and go first.
void MpiOutbox::hand_over(Waiting one, int process) {
  Peer& to = peer(process);
  if (to.waiting.empty() && node_.try_send(process, *one.packet)) {
    add_credit(one.link_index, one.credit_bytes);
    return;
  }
  if (to.waiting.empty()) crowded_.push_back(process);
  to.waiting.push_back(std::move(one));
  ++under_way_;
}

bool MpiOutbox::send_waiting() {
  bool sent = false;
  std::erase_if(crowded_, [&](int process) {
    auto& waiting = peer(process).waiting;
    while (!waiting.empty() && node_.try_send(process, *waiting.front().packet)) {
      add_credit(waiting.front().link_index, waiting.front().credit_bytes);
      waiting.pop_front();
      --under_way_;
      sent = true;
    }
    return waiting.empty();
  });
  return sent;
}

void MpiOutbox::ended(int process, std::size_t link_index, std::size_t credit_bytes) {
  --peer(process).packets_under_way;
  --under_way_;
  add_credit(link_index, credit_bytes);
}

void MpiOutbox::add_credit(std::size_t link_index, std::size_t credit_bytes) {
  if (link_index == kNoLink || credit_bytes == 0) return;
  if (MpiLink* const link = links_[link_index]; link != nullptr) {
    credits_.push_back({link, credit_bytes});
  }
}

}  // namespace shoal::net

#include "net/mpi/mpi_engine.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/net/pieces.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "net/mpi/mpi_check.hpp"

namespace shoal::net {

MpiInlet::MpiInlet(const Identity& identity, std::size_t report_bytes, Port& port, MpiInbox& inbox,
                   MpiEngine& engine)
    : PortItem(identity.lane == Lane::urgent),
      identity_(identity),
      report_bytes_(report_bytes),
      port_(port),
      engine_(engine),
      report_(*this, inbox) {}

// Packets that were never taken need no acknowledgement any more. MPI may still write into
// incomplete ones, so they are not freed.
MpiInlet::~MpiInlet() {
  const sync::Lock lock(mutex_);
  for (const Held& held : held_) {
    if (held.complete) arrived_.push_back(held.packet);
  }
  arrived_.discard();
}

void MpiInlet::Report::start() { inbox_.report_later(inlet_); }

void MpiInlet::add(Packet* packet, DirectArrivals* direct) {
  if (held_.empty()) {
    hand_over(packet, direct);
  } else {
    held_.push_back({packet, true});
  }
}

void MpiInlet::complete(Packet* packet) {
  for (Held& held : held_) {
    if (held.packet == packet) held.complete = true;
  }
  while (!held_.empty() && held_.front().complete) {
    hand_over(held_.front().packet, nullptr);
    held_.pop_front();
  }
}

// Packets in the port are older. If this is the port of the caller, only the caller takes packets
// from there. relaxed: both writers of posted_, the caller and the engine, are this thread.
void MpiInlet::hand_over(Packet* packet, DirectArrivals* direct) {
  if (identity_.lane == Lane::normal) {
    packet->owner = this;
    packet->accounted_bytes = packet->window_bytes();
  }
  if (direct != nullptr && direct->port == &port_ && !posted_.load(std::memory_order_relaxed)) {
    direct->packets.push_back(packet);
    return;
  }
  bool post = false;
  {
    const sync::Lock lock(mutex_);
    arrived_.push_back(packet);
    post = !posted_.exchange(true, std::memory_order_relaxed);
  }
  if (post) port_.post(this);
}

PacketList MpiInlet::take_arrivals() {
  const sync::Lock lock(mutex_);
  posted_.store(false, std::memory_order_relaxed);
  return std::move(arrived_);
}

void MpiInlet::consumed(std::size_t bytes) {
  if (bytes == 0) return;
  // acq_rel: see take_unreported().
  const std::size_t before = unreported_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  if (before == 0) engine_.submit_quietly(report_);
  if (before >= report_bytes_ || before + bytes < report_bytes_) return;
  engine_.report_soon();
  engine_.nudge();
}

namespace {

std::byte* wire_begin(Packet& packet) { return reinterpret_cast<std::byte*>(&packet.header()); }

}  // namespace

/// A packet that was announced. It is already in its inlet.
class MpiInbox::LargeReceive final : public MpiTransfer {
 public:
  LargeReceive(MpiInbox& inbox, MpiInlet& inlet, Packet* packet, std::size_t received_bytes)
      : inbox_(inbox),
        inlet_(inlet),
        packet_(packet),
        received_bytes_(received_bytes),
        sequence_(inlet.take_sequence()) {}

  void done() override {
    --inbox_.large_under_way_;
    packet_->verify(received_bytes_, sequence_);
    inlet_.complete(packet_);
  }

 private:
  MpiInbox& inbox_;
  MpiInlet& inlet_;
  Packet* const packet_;
  const std::size_t received_bytes_;
  const std::uint64_t sequence_;
};

/// A packet whose pieces arrive. It is already in its inlet.
class MpiInbox::PiecesReceive {
 public:
  PiecesReceive(MpiInbox& inbox, MpiInlet& inlet, const MpiPieces& what)
      : inbox_(inbox),
        inlet_(inlet),
        packet_(Packet::create(what.size_bytes)),
        sequence_(inlet.take_sequence()),
        body_bytes_(what.body_bytes) {
    packet_->out_of_band = std::make_unique<PacketPieces>(PacketPieces{{}, 0, what.slot});
    pieces_->checked = what.checked;
    pieces_->checksum = what.checksum;
    pieces_->body = make_bytes(body_bytes_);
    inlet_.add_incomplete(packet_);
  }
  PiecesReceive(const PiecesReceive&) = delete;
  PiecesReceive& operator=(const PiecesReceive&) = delete;

  class Transfer final : public MpiTransfer {
   public:
    explicit Transfer(std::shared_ptr<PiecesReceive> all) : all_(std::move(all)) {
      ++all_->under_way_;
    }
    void done() override {
      if (--all_->under_way_ == 0) all_->end();
    }

   private:
    std::shared_ptr<PiecesReceive> all_;
  };

  [[nodiscard]] std::span<std::byte> body() { return {pieces_->body.get(), body_bytes_}; }
  /// Adds the next piece; returns where it is to be received, if it travels on its own.
  std::span<std::byte> add(std::uint64_t size) {
    Piece& piece = pieces_->list.emplace_back();
    piece.begin = pieces_->size_bytes;
    piece.is_block = (size & kBlockBit) != 0;
    const std::size_t size_bytes = size & ~kBlockBit;
    pieces_->size_bytes += size_bytes;
    if (size_bytes >= kPieceBytes) return make_place(piece, size_bytes);
    body_at_ = body_place(body_at_, piece);
    piece.bytes = body().subspan(body_at_, size_bytes);
    body_at_ += size_bytes;
    return {};
  }

 private:
  void end() {
    --inbox_.large_under_way_;
    std::memcpy(wire_begin(*packet_), body().data(), sizeof(PacketHeader));
    const std::size_t wire_bytes = sizeof(PacketHeader) + packet_->header().size_bytes;
    if (packet_->header().size_bytes > packet_->capacity_bytes() || wire_bytes > body_bytes_) {
      inbox_.reject(inlet_.identity().process, "a packet of another size than announced");
    }
    std::memcpy(packet_->body(), body().data() + sizeof(PacketHeader),
                packet_->header().size_bytes);
    packet_->verify(wire_bytes, sequence_);
    open_pieces(*packet_, std::move(pieces_));
    inlet_.complete(packet_);
  }

  MpiInbox& inbox_;
  MpiInlet& inlet_;
  Packet* const packet_;
  const std::uint64_t sequence_;
  const std::size_t body_bytes_;
  std::size_t body_at_ = 0;  // behind the last short piece
  int under_way_ = 0;
  std::shared_ptr<Pieces> pieces_ = std::make_shared<Pieces>();

  friend class MpiInbox;
};

MpiInbox::MpiInbox(const MpiSession& session, const LinkOptions& options, const Parts& parts)
    : session_(session),
      mpi_(session.mpi()),
      layout_(session.layout()),
      options_(options),
      receive_bytes_(receive_bytes(options.packet_bytes)),
      transfers_(parts.transfers),
      node_(parts.node),
      outbox_(parts.outbox),
      engine_(parts.engine),
      inlets_(static_cast<std::size_t>(layout_.ranks_per_process) *
              static_cast<std::size_t>(layout_.world_size) * kLaneCount),
      next_own_sequence_(static_cast<std::size_t>(layout_.process_count())),
      received_counts_(next_own_sequence_.size()),
      reports_(next_own_sequence_.size()) {}

MpiInbox::~MpiInbox() {
  for (const Slot& slot : ring_) {
    if (is_same(slot.request, mpi_.request_null) && slot.packet != nullptr) slot.packet->release();
  }
}

void MpiInbox::open(Fabric& fabric) {
  fabric_ = &fabric;
  if (layout_.process_count() == 1 || node_.all_are_near()) return;
  ring_.resize(kSlots, Slot{nullptr, mpi_.request_null});
  for (Slot& slot : ring_) post(slot);
}

void MpiInbox::post(Slot& slot) {
  if (slot.packet == nullptr) slot.packet = Packet::create(receive_bytes_);
  mpi_check(
      mpi_,
      mpi_.irecv(wire_begin(*slot.packet), static_cast<int>(sizeof(PacketHeader) + receive_bytes_),
                 mpi_.any_source, kPacketTag, session_.communicator(), &slot.request),
      {"MPI_Irecv", session_.process(), MpiCall::kAnyPeer, kPacketTag});
}

bool MpiInbox::receive(DirectArrivals* direct) {
  const bool worked = receive_near(direct);
  if (ring_.empty()) {
    let_mpi_progress(worked);
    return worked;
  }
  const bool comes_back = direct != nullptr && direct->looks > 1;
  if (worked && comes_back && ++near_only_ < kNearOnlyMax) return true;
  near_only_ = 0;
  return receive_over_mpi(direct) || worked;
}

// Lets MPI progress, which it does only while it is called. It must also progress operations that
// have ended for the caller: the receiver of a payload may still owe its sender an acknowledgement.
// Without posted receives for packets, nothing else would call MPI.
void MpiInbox::let_mpi_progress(bool worked) {
  constexpr unsigned kCallsPerLook = 16;
  if (layout_.process_count() == 1) return;
  const bool may_owe = !worked && transfers_.was_used();
  if (++calls_ % kCallsPerLook != 0 && !may_owe) return;
  int arrived = 0;
  mpi_check(mpi_, mpi_.iprobe(mpi_.any_source, kPacketTag, session_.communicator(), &arrived),
            {"MPI_Iprobe", session_.process(), MpiCall::kAnyPeer, kPacketTag});
}

bool MpiInbox::receive_near(DirectArrivals* direct) {
  int looks = direct != nullptr ? direct->looks : 1;
  const bool comes_back = looks > 1;
  for (int handled = 0; handled < kBatch; ++handled) {
    int process = 0;
    PacketHolder packet(node_.try_receive(std::exchange(looks, 1), process));
    if (packet == nullptr) return handled > 0;
    ++received_counts_[static_cast<std::size_t>(process)];
    const PacketHeader& header = packet->header();
    const bool is_small = header.size_bytes < receive_bytes_ / 2;
    if (header.lane == kEngineLane) {
      handle_own(packet.get(), process);
    } else {
      MpiInlet* const where = inlet(process, header.source, header.target, header.lane);
      if (where == nullptr) reject(process, "a packet between other ranks");
      static_cast<void>(where->take_sequence());
      where->add(packet.release(), direct);
    }
    if (comes_back && is_small) return true;  // a task may wait for it
  }
  return true;
}

bool MpiInbox::receive_over_mpi(DirectArrivals* direct) {
  post_taken();
  // MPI moves payloads in each look for a packet, and the look takes as long as there is something
  // to move. So the ends of payloads are tested between looks.
  const int batch = transfers_.payload_bytes() > 0 ? 1 : kBatch;
  const bool comes_back = direct != nullptr && direct->looks > 1;
  int looks = direct != nullptr ? direct->looks : 1;
  for (int handled = 0; handled < batch; ++handled) {
    if (taken_ == kTakenMax) post_taken();
    Slot& slot = ring_[first_];
    MpiStatus status;
    bool arrived = has_arrived(slot, status);
    for (int look = 1; look < looks && !arrived; ++look) arrived = has_arrived(slot, status);
    if (!arrived) return handled > 0;
    looks = 1;
    first_ = (first_ + 1) % kSlots;
    ++taken_;
    ++received_counts_[static_cast<std::size_t>(status.source)];
    const std::uint64_t size = slot.packet->header().size_bytes;
    handle(take_packet(slot, status), status, direct);
    if (comes_back && size < receive_bytes_ / 2) return true;  // a task may wait for it
  }
  return true;
}

bool MpiInbox::has_arrived(Slot& slot, MpiStatus& status) const {
  int arrived = 0;
  mpi_check(mpi_, mpi_.test(&slot.request, &arrived, &status),
            {"MPI_Irecv", session_.process(), MpiCall::kAnyPeer, kPacketTag});
  return arrived != 0;
}

// Handling the packets comes first, since other ranks may wait for the answers: a few receives are
// posted again only in the next round, in the order in which MPI fills them.
void MpiInbox::post_taken() {
  for (; taken_ > 0; --taken_) post(ring_[(first_ + kSlots - taken_) % kSlots]);
}

std::size_t MpiInbox::received_bytes(const MpiStatus& status) const {
  int bytes = 0;
  mpi_check(mpi_, mpi_.get_count(&status, &bytes), {"MPI_Get_count", session_.process()});
  return static_cast<std::size_t>(bytes);
}

// A packet that is mostly empty is copied, so that one small message does not hold a full buffer
// for as long as it waits.
Packet* MpiInbox::take_packet(Slot& slot, const MpiStatus& status) const {
  const PacketHeader& header = slot.packet->header();
  const std::uint64_t size = header.size_bytes;
  if (header.magic != kPacketMagic || size > receive_bytes_) [[unlikely]] {
    const std::size_t bytes = received_bytes(status);
    if (bytes < sizeof header) reject(status.source, "less than a packet header");
    slot.packet->verify(bytes, header.sequence);
  }
  if (size >= receive_bytes_ / 2) return std::exchange(slot.packet, nullptr);
  Packet* const copy = Packet::create(size);
  std::memcpy(wire_begin(*copy), wire_begin(*slot.packet), sizeof(PacketHeader) + size);
  return copy;
}

// Verifies the packet; throws TransportError naming the mismatch.
void MpiInbox::verify(const Packet& packet, const MpiStatus& status,
                      std::uint64_t expected_sequence) const {
  if (packet.is_intact(expected_sequence)) [[likely]]
    return;
  packet.verify(received_bytes(status), expected_sequence);
}

void MpiInbox::handle(Packet* raw, const MpiStatus& status, DirectArrivals* direct) {
  PacketHolder packet(raw);
  const int process = status.source;
  const PacketHeader& header = packet->header();
  if (header.lane == kEngineLane) {
    verify(*packet, status, next_own_sequence_[static_cast<std::size_t>(process)]++);
    handle_own(raw, process);
    return;
  }
  MpiInlet* const where = inlet(process, header.source, header.target, header.lane);
  if (where == nullptr) {
    verify(*packet, status, header.sequence);  // damaged, or else:
    reject(process, "a packet between other ranks");
  }
  verify(*packet, status, where->take_sequence());
  where->add(packet.release(), direct);
}

void MpiInbox::handle_own(Packet* packet, int process) {
  Run message;
  std::size_t begin = 0;
  if (!read_run(packet->messages(), begin, message) || message.count != 1) {
    reject(process, "a truncated message of the engine");
  }
  const std::span<std::byte> bytes = packet->messages().subspan(begin, message.size_bytes);
  if (message.handler == static_cast<std::uint32_t>(MpiMessage::announce) &&
      message.size_bytes == sizeof(MpiAnnouncement)) {
    MpiAnnouncement announcement{};
    std::memcpy(&announcement, bytes.data(), sizeof announcement);
    handle_announcement(announcement, process);
  } else if (message.handler == static_cast<std::uint32_t>(MpiMessage::pieces)) {
    handle_pieces(bytes, process);
  } else if (message.handler == static_cast<std::uint32_t>(MpiMessage::acknowledge)) {
    MpiAcknowledgement entry{};
    for (std::size_t at = 0; at + sizeof entry <= message.size_bytes; at += sizeof entry) {
      std::memcpy(&entry, bytes.data() + at, sizeof entry);
      outbox_.acknowledged(entry, process);
    }
  } else {
    reject(process, "an unknown message of the engine");
  }
}

void MpiInbox::handle_announcement(const MpiAnnouncement& what, int process) {
  MpiInlet* const where = inlet(process, what.source, what.target, what.lane);
  if (where == nullptr) reject(process, "an announcement of a packet between other ranks");
  const std::size_t size = sizeof(PacketHeader) + what.size_bytes;
  Packet* const packet = Packet::create(what.size_bytes);
  where->add_incomplete(packet);
  ++large_under_way_;
  transfers_.receive(std::make_unique<LargeReceive>(*this, *where, packet, size),
                     {wire_begin(*packet), size}, process, kLargePacketTag);
}

void MpiInbox::handle_pieces(std::span<const std::byte> message, int process) {
  MpiPieces what{};
  if (message.size() < sizeof what) reject(process, "a truncated message of the engine");
  std::memcpy(&what, message.data(), sizeof what);
  const std::size_t table_bytes = align_up(sizeof what + what.count * sizeof(std::uint64_t));
  MpiInlet* const where = inlet(process, what.source, what.target, what.lane);
  const bool is_here = message.size() == table_bytes + what.body_bytes;
  if (where == nullptr || (!is_here && message.size() != table_bytes) || what.count == 0) {
    reject(process, "an announcement of pieces between other ranks, or of another size");
  }
  const auto all = std::make_shared<PiecesReceive>(*this, *where, what);
  ++large_under_way_;
  const auto transfer = [&](std::span<std::byte> place) {
    transfers_.receive(std::make_unique<PiecesReceive::Transfer>(all), place, process,
                       kLargePacketTag);
  };
  if (is_here) {
    std::memcpy(all->body().data(), message.data() + table_bytes, what.body_bytes);
  } else {
    transfer(all->body());
  }
  all->body_at_ = sizeof(PacketHeader) + what.size_bytes;
  const std::byte* size_at = message.data() + sizeof what;
  for (std::uint32_t i = 0; i < what.count; ++i, size_at += sizeof(std::uint64_t)) {
    std::uint64_t size = 0;
    std::memcpy(&size, size_at, sizeof size);
    if (const std::span<std::byte> place = all->add(size); !place.empty()) transfer(place);
  }
}

void MpiInbox::reject(int process, const char* what) const {
  throw TransportError(fmt::format(
      "process {} sent {} to process {}; the network or its driver damages data, or two "
      "different builds of the program run together",
      process, what, session_.process()));
}

MpiInlet* MpiInbox::inlet(int process, std::int32_t source, std::int32_t target,
                          std::uint64_t lane) {
  const Rank from(source);
  const Rank to(target);
  const bool exists = from >= 0 && from < layout_.world_size &&
                      layout_.process_of(from) == process && to >= 0 && to < layout_.world_size &&
                      layout_.is_local(to) && lane < static_cast<std::uint64_t>(kLaneCount);
  if (!exists) return nullptr;
  const auto row = static_cast<std::size_t>(to - layout_.first_local());
  const std::size_t index =
      (row * static_cast<std::size_t>(layout_.world_size) + static_cast<std::size_t>(from)) *
          kLaneCount +
      static_cast<std::size_t>(lane);
  std::unique_ptr<MpiInlet>& made = inlets_[index];
  if (made == nullptr) {
    const MpiInlet::Identity identity{from, to, static_cast<Lane>(lane), process};
    const std::size_t report_bytes = std::max<std::size_t>(1, options_.window_bytes / 4);
    made = std::make_unique<MpiInlet>(identity, report_bytes, fabric_->port(to), *this, engine_);
  }
  return made.get();
}

void MpiInbox::report_later(MpiInlet& inlet) {
  unreported_.push_back(&inlet);
  if (inlet.wants_report()) engine_.report_soon();  // who said so may have come too early
}

bool MpiInbox::report(bool all) {
  std::size_t kept = 0;
  for (MpiInlet* inlet : unreported_) {
    if (!all && !inlet->wants_report()) {
      unreported_[kept++] = inlet;
      continue;
    }
    const MpiInlet::Identity& who = inlet->identity();
    auto& entries = reports_[static_cast<std::size_t>(who.process)];
    if (entries.empty()) reported_to_.push_back(who.process);
    entries.push_back({who.source, who.target, inlet->take_unreported()});
  }
  if (kept == unreported_.size()) return false;
  unreported_.resize(kept);
  for (const int process : reported_to_) {
    auto& gathered = reports_[static_cast<std::size_t>(process)];
    std::span<const MpiAcknowledgement> entries = gathered;
    while (!entries.empty()) {
      const auto some = entries.first(std::min(entries.size(), kAcknowledgementsMax));
      outbox_.send_own(process, MpiMessage::acknowledge, std::as_bytes(some));
      entries = entries.subspan(some.size());
    }
    gathered.clear();
  }
  reported_to_.clear();
  return true;
}

// A receive that is cancelled before anything matched it ends at once; any other one is left to
// MPI, with its packet.
void MpiInbox::close() {
  for (Slot& slot : ring_) {
    if (is_same(slot.request, mpi_.request_null)) continue;
    int ended = 0;
    if (mpi_.cancel(&slot.request) != 0 || mpi_.test(&slot.request, &ended, nullptr) != 0 ||
        ended == 0) {
      slot.packet = nullptr;
    }
  }
}

}  // namespace shoal::net

#include <shoal/detail/net/link.hpp>
#include <shoal/detail/net/pieces.hpp>

#include <algorithm>

namespace shoal::net {

// Notifies no sender: after an error, senders that waited here may be gone already.
Link::~Link() { take().discard(); }

std::span<std::byte> Link::reserve_slowly(MessageHeader message, std::size_t extra_bytes,
                                          const RunPrefix* prefix, Reserved& reserved) {
  settle();
  bool continues = open_ != nullptr && open_->continues(message, prefix);
  std::size_t needed = open_ == nullptr ? 0 : open_->bytes_for(message, continues, prefix);
  if (open_ == nullptr || open_->room_bytes() < needed) {
    reserved.closed = open_packet(Packet::bytes_at_most(message, prefix));
    continues = false;
    needed = open_->bytes_for(message, continues, prefix);
  }
  reserved.announces = !std::exchange(announced_, true);
  open_->accounted_bytes += needed + extra_bytes;
  unaccounted_bytes_ += needed + extra_bytes;
  if (unaccounted_bytes_ > account_after_bytes_) account();
  // relaxed: written under the lock
  count_end_.store(count_end_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  last_handler_ = message.handler;
  const std::span<std::byte> place = open_->add_message(message, continues, prefix);
  let_join(message);
  return place;
}

void Link::let_join(const MessageHeader& message) {
  if (!has_room()) return;
  const std::size_t step = message_step(message.size_bytes);
  const std::uint64_t count = count_end_.load(std::memory_order_relaxed);
  const std::size_t until_look = (kSendsPerLook - count % kSendsPerLook) % kSendsPerLook;
  const std::size_t to_account = (account_after_bytes_ - unaccounted_bytes_) / step;
  const std::size_t joinable = std::min({until_look, to_account, open_->joinable()});
  if (joinable == 0) return;
  run_kind_ = RunHeader::kind_of(message.handler, message.signature);
  run_size_bytes_ = message.size_bytes;
  next_place_ = open_->messages().data() + open_->messages().size();
  may_join_ = static_cast<std::uint32_t>(joinable);
  // relaxed: written under the lock
  left_.store(may_join_, std::memory_order_relaxed);
  count_end_.store(count + joinable, std::memory_order_relaxed);
}

void Link::settle() {
  if (run_kind_ == kNoRun) return;
  // relaxed: written under the lock
  const std::uint32_t left = left_.load(std::memory_order_relaxed);
  left_.store(0, std::memory_order_relaxed);
  count_end_.store(count_end_.load(std::memory_order_relaxed) - left, std::memory_order_relaxed);
  const std::size_t bytes = open_->join(may_join_ - left) + std::exchange(extra_bytes_, 0);
  may_join_ = 0;
  run_kind_ = kNoRun;
  open_->accounted_bytes += bytes;
  unaccounted_bytes_ += bytes;
  if (unaccounted_bytes_ > account_after_bytes_) account();
}

bool Link::open_packet(std::size_t needed_bytes) {
  // First, as it may throw.
  Packet* const packet = Packet::create(std::max(options_.packet_bytes, needed_bytes));
  packet->owner = this;
  PacketHeader& header = packet->header();
  header.lane = static_cast<std::uint32_t>(lane_);
  header.source = source_.value();
  header.target = target_.value();
  header.first_message = static_cast<std::uint32_t>(message_count()) + 1;
  const bool closes = open_ != nullptr;
  if (closes) {
    account();
    closed_.push_back(open_);
    has_full_.store(true, std::memory_order_relaxed);
  }
  open_ = packet;
  return closes;
}

void Link::close_open() {
  settle();
  if (open_ == nullptr) return;
  account();
  closed_.push_back(std::exchange(open_, nullptr));
  has_full_.store(true, std::memory_order_relaxed);
}

void Link::append_pieces(MessageHeader message, std::span<const std::byte> head,
                         std::shared_ptr<Pieces> pieces, const RunPrefix* prefix, bool polls_next) {
  message.handler |= kObjectBit;
  message.size_bytes = head.size() + sizeof(std::uintptr_t);
  const std::size_t size_bytes = pieces->size_bytes;
  auto out_of_band = std::make_unique<PacketPieces>(PacketPieces{std::move(pieces), size_bytes});
  Reserved reserved;
  const sync::Quiet quiet;
  {
    const sync::StoreReleaseLock lock(mutex_);
    close_open();
    const std::span<std::byte> place = reserve_slowly(message, size_bytes, prefix, reserved);
    std::ranges::copy(head, place.begin());
    std::ranges::fill(place.subspan(head.size()), std::byte{0});
    out_of_band->slot = static_cast<std::size_t>(place.data() - open_->body()) + head.size();
    open_->out_of_band = std::move(out_of_band);
    if (trace::on<trace::Category::message>()) [[unlikely]]
      note_sent(message.size_bytes + size_bytes);
    sync::publish(open_);
    close_open();
  }
  if (reserved.announces) announce(polls_next);
}

void Link::note_sent(std::uint64_t size_bytes) const {
  if (lane_ == Lane::control) return;
  const auto number = static_cast<std::uint32_t>(message_count());
  trace::message_sent(trace_id(source_, target_, lane_, number),
                      static_cast<std::uint32_t>(target_.value()), size_bytes, 0);
}

std::size_t Link::in_flight_bytes() const {
  const sync::StoreReleaseLock lock(mutex_);
  return in_flight_bytes_.load(std::memory_order_relaxed) + unaccounted_bytes();
}

LinkState Link::state() const {
  LinkState state;
  state.target = target_;
  state.in_flight_bytes = in_flight_bytes();
  state.window_bytes = options_.window_bytes;
  state.message_count = message_count();
  const sync::StoreReleaseLock lock(mutex_);
  state.byte_count = byte_count_ + unaccounted_bytes();
  state.last_handler = last_handler_;
  state.untaken = announced_;
  for (const sync::Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->link.next) {
    ++state.waiting_senders;
  }
  return state;
}

PacketList Link::take() {
  const sync::StoreReleaseLock lock(mutex_);
  settle();
  account();
  PacketList taken = std::move(closed_);
  if (open_ != nullptr) taken.push_back(std::exchange(open_, nullptr));
  announced_ = false;
  has_full_.store(false, std::memory_order_relaxed);
  return taken;
}

// No wake-up is lost: enlist() raises has_waiters_ and then reads in_flight_bytes_; consumed()
// lowers in_flight_bytes_ and then reads has_waiters_; all four seq_cst, so at least one of the
// two sees the other. If bytes are above low water here, they are still to be consumed, and the
// call that brings them to low water finds the flag.
bool Link::enlist(sync::Waiter& waiter) {
  const sync::Quiet quiet;
  const sync::StoreReleaseLock lock(mutex_);
  settle();
  account();
  has_waiters_.store(true, std::memory_order_seq_cst);
  if (below_low_water(in_flight_bytes_.load(std::memory_order_seq_cst))) {
    if (waiters_ == nullptr) has_waiters_.store(false, std::memory_order_relaxed);
    return false;
  }
  waiter.link.next = waiters_;
  waiters_ = &waiter;
  return true;
}

void Link::consumed(std::size_t accounted_bytes) {
  const sync::Quiet quiet;
  const std::size_t before = in_flight_bytes_.fetch_sub(accounted_bytes, std::memory_order_seq_cst);
  if (below_low_water(before - accounted_bytes) && has_waiters_.load(std::memory_order_seq_cst)) {
    wake_all();
  }
}

void Link::wake_all() {
  sync::Waiter* list = nullptr;
  {
    const sync::StoreReleaseLock lock(mutex_);
    list = std::exchange(waiters_, nullptr);
    has_waiters_.store(false, std::memory_order_relaxed);  // written under the lock only
  }
  while (list != nullptr) {
    sync::Waiter* const next = list->link.next;  // read first: the waiter may be gone once woken
    list->wake();
    list = next;
  }
}

}  // namespace shoal::net

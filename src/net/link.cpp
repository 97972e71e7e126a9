#include <shoal/net/link.hpp>

#include <algorithm>

namespace shoal::net {

// Notifies no sender: after an error, senders that waited here may be gone already.
Link::~Link() { take().discard(); }

bool Link::open_packet(std::size_t needed_bytes) {
  // First, as it may throw.
  Packet* const packet = Packet::create(std::max(options_.packet_bytes, needed_bytes));
  packet->owner = this;
  PacketHeader& header = packet->header();
  header.lane = static_cast<std::uint32_t>(lane_);
  header.source = source_.value();
  header.target = target_.value();
  // relaxed: under the lock
  header.first_message =
      static_cast<std::uint32_t>(message_count_.load(std::memory_order_relaxed)) + 1;
  const bool closes = open_ != nullptr;
  if (closes) {
    account();
    closed_.push_back(open_);
    has_full_.store(true, std::memory_order_relaxed);
  }
  open_ = packet;
  return closes;
}

void Link::note_sent(std::uint64_t size_bytes) const {
  if (lane_ == Lane::control) return;
  const auto number = static_cast<std::uint32_t>(message_count_.load(std::memory_order_relaxed));
  trace::message_sent(trace_id(source_, target_, lane_, number),
                      static_cast<std::uint32_t>(target_.value()), size_bytes, 0);
}

std::size_t Link::in_flight_bytes() const {
  const sync::StoreReleaseLock lock(mutex_);
  return in_flight_bytes_.load(std::memory_order_relaxed) + unaccounted_bytes_;
}

LinkState Link::state() const {
  LinkState state;
  state.target = target_;
  state.in_flight_bytes = in_flight_bytes();
  state.window_bytes = options_.window_bytes;
  state.message_count = message_count();
  const sync::StoreReleaseLock lock(mutex_);
  state.byte_count = byte_count_ + unaccounted_bytes_;
  state.last_handler = last_handler_;
  state.untaken = announced_;
  for (const sync::Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->link.next) {
    ++state.waiting_senders;
  }
  return state;
}

PacketList Link::take() {
  const sync::StoreReleaseLock lock(mutex_);
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

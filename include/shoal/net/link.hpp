#pragma once
// The sending end of one lane between two ranks: aggregation and flow control.

#include <shoal/net/port.hpp>
#include <shoal/sync/mutex.hpp>
#include <shoal/sync/waiter.hpp>

#include <atomic>
#include <utility>

namespace shoal::net {

struct LinkOptions {
  std::size_t packet_bytes = 8UL << 10U;  // a packet that is as full as this is closed
  std::size_t window_bytes = 1UL << 20U;  // bytes appended and not consumed before senders wait
};

/// A link as reports see it.
struct LinkState {
  Rank target;
  std::uint64_t message_count = 0;  // appended so far
  std::uint32_t last_handler = 0;   // of the last one, as MessageHeader::handler
  std::size_t in_flight_bytes = 0;  // appended, and the receiver is not done with them
  std::size_t window_bytes = 0;
  int waiting_senders = 0;
  bool untaken = false;  // messages wait for the carrier
};

/// Messages are appended by any thread of the source rank and taken, packet by packet, by whoever
/// carries them on. A link announces itself once when it stops being empty; what is appended until
/// the carrier comes shares a packet. So a lone message waits for nobody, and a busy carrier finds
/// full packets, without any timer.
///
/// Invariant (under mutex_): announced_ == (packets wait and the carrier has not taken them yet).
class Link : public PortItem, public PacketOwner {
 public:
  Link(Rank source, Rank target, Lane lane, const LinkOptions& options)
      : source_(source), target_(target), lane_(lane), options_(options) {}
  /// Frees what was not taken.
  virtual ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] Rank source() const { return source_; }
  [[nodiscard]] Rank target() const { return target_; }
  [[nodiscard]] Lane lane() const { return lane_; }

  /// Appends one message; `write(std::span<std::byte>)` fills its arguments and must not throw,
  /// block or send. `extra_bytes` counts towards the window beside the message itself (memory the
  /// message refers to). Never blocks. Any thread.
  template <class Write>
  void append(const MessageHeader& message, std::size_t extra_bytes, Write&& write) {
    bool announce_now = false;
    {
      const sync::Lock lock(mutex_);
      std::forward<Write>(write)(reserve(message, extra_bytes));
      announce_now = !std::exchange(announced_, true);
    }
    if (announce_now) announce();
  }

  /// Any thread; may be out of date at once.
  [[nodiscard]] bool has_room() const {
    // relaxed: a hint; enlist() decides.
    return in_flight_bytes_.load(std::memory_order_relaxed) < options_.window_bytes;
  }
  [[nodiscard]] std::size_t in_flight_bytes() const {
    return in_flight_bytes_.load(std::memory_order_relaxed);  // for reports
  }

  /// Any thread.
  [[nodiscard]] LinkState state() const;

  /// Registers `waiter` to be woken when there is room again. False: there is room now, and the
  /// waiter was not registered.
  [[nodiscard]] bool enlist(sync::Waiter& waiter);

  /// The receiver is done with `accounted_bytes`. Any thread.
  void consumed(std::size_t accounted_bytes) final;

 protected:
  /// Tells the carrier that packets wait. Called outside the lock, once per announcement.
  virtual void announce() = 0;
  /// The carrier takes all packets; the next append() announces again.
  PacketList take();
  [[nodiscard]] const LinkOptions& options() const { return options_; }

 private:
  std::span<std::byte> reserve(const MessageHeader& message, std::size_t extra_bytes)
      SHOAL_REQUIRES(mutex_);
  void wake_all();
  [[nodiscard]] bool below_low_water(std::size_t bytes) const {
    return bytes <= options_.window_bytes / 2;
  }

  const Rank source_;
  const Rank target_;
  const Lane lane_;
  const LinkOptions options_;

  mutable sync::Mutex mutex_;
  PacketList closed_ SHOAL_GUARDED_BY(mutex_);
  Packet* open_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // the last one, still being filled
  bool announced_ SHOAL_GUARDED_BY(mutex_) = false;
  sync::Waiter* waiters_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t message_count_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::uint32_t last_handler_ SHOAL_GUARDED_BY(mutex_) = 0;

  // Senders add, consumers subtract; with has_waiters_ a store-load pair: see enlist().
  std::atomic<std::size_t> in_flight_bytes_{0};
  std::atomic<bool> has_waiters_{false};
};

}  // namespace shoal::net

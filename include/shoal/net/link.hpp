#pragma once
// The sending end of one lane between two ranks: aggregation and flow control.

#include <shoal/base/inline.hpp>
#include <shoal/net/message_id.hpp>
#include <shoal/net/port.hpp>
#include <shoal/sync/store_release_mutex.hpp>
#include <shoal/sync/strand.hpp>
#include <shoal/sync/waiter.hpp>
#include <shoal/trace/probes.hpp>

#include <atomic>
#include <utility>

namespace shoal::net {

struct LinkOptions {
  std::size_t packet_bytes = 8UL << 10U;  // a packet that is as full as this is closed
  std::size_t window_bytes = 1UL << 20U;  // bytes appended and not consumed before senders wait

  /// Bytes that are appended before they are added to the window, which may be exceeded by as many.
  [[nodiscard]] std::size_t told_late_bytes() const {
    return (packet_bytes < window_bytes ? packet_bytes : window_bytes) / 16;
  }
};

/// A link as reports see it.
struct LinkState {
  Rank target;
  std::uint64_t message_count = 0;  // appended so far
  std::uint64_t byte_count = 0;     // of them: headers, arguments, padding and extra bytes
  std::uint32_t last_handler = 0;   // of the last one, as MessageHeader::handler
  std::size_t in_flight_bytes = 0;  // appended, and the receiver is not done with them
  std::size_t window_bytes = 0;
  int waiting_senders = 0;
  bool untaken = false;  // messages wait for the carrier
};

/// Messages are appended by any thread of the source rank and taken, packet by packet, by the
/// carrier. A link announces itself once when it stops being empty; messages that are appended
/// until the carrier comes share a packet. So a lone message leaves at once, and a busy carrier
/// finds full packets, without any timer.
///
/// Invariant (under mutex_): announced_ == (packets wait and the carrier has not taken them yet);
/// in_flight_bytes_ + unaccounted_bytes_ == bytes appended and not consumed, and unaccounted bytes
/// are in open_. Several messages are added to the window at once, which saves an atomic operation
/// per message.
class Link : public PacketOwner {
 public:
  Link(Rank source, Rank target, Lane lane, const LinkOptions& options)
      : source_(source),
        target_(target),
        lane_(lane),
        options_(options),
        account_after_bytes_(options.told_late_bytes()) {}
  /// Frees what was not taken.
  virtual ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] Rank source() const { return source_; }
  [[nodiscard]] Rank target() const { return target_; }
  [[nodiscard]] Lane lane() const { return lane_; }

  /// The caller of append() does not let the transport look for messages next.
  struct NoPoll {
    bool operator()() const { return false; }
  };
  /// Appends one message; `write(std::span<std::byte>)` fills its arguments and must not throw,
  /// block or send. `extra_bytes` counts towards the window beside the message itself (memory the
  /// message refers to). `prefix`: with kPrefixBit. `polls_next()`: the caller lets the transport
  /// look for messages next. Never blocks. True: a packet is full now, which could leave. Any
  /// thread.
  template <class Write, class PollsNext = NoPoll>
  SHOAL_ALWAYS_INLINE bool append(const MessageHeader& message, std::size_t extra_bytes,
                                  Write&& write, const PollsNext& polls_next = {},
                                  const RunPrefix* prefix = nullptr) {
    bool announce_now = false;
    bool closed = false;
    const sync::Quiet quiet;
    {
      const sync::StoreReleaseLock lock(mutex_);
      const std::span<std::byte> place = reserve(message, extra_bytes, prefix, closed);
      {
        const sync::Aloud aloud;
        std::forward<Write>(write)(place);
      }
      if (trace::on<trace::Category::message>()) [[unlikely]]
        note_sent(message.size_bytes + extra_bytes);
      sync::publish(open_);
      announce_now = !std::exchange(announced_, true);
    }
    if (announce_now) announce(polls_next());
    return closed;
  }

  /// Any thread; may be out of date at once, and leaves out the last few messages.
  [[nodiscard]] bool has_room() const {
    // relaxed: a hint; enlist() decides.
    return in_flight_bytes_.load(std::memory_order_relaxed) < options_.window_bytes;
  }
  /// For reports.
  [[nodiscard]] std::size_t in_flight_bytes() const;
  /// Appended so far; may be out of date at once.
  [[nodiscard]] std::uint64_t message_count() const {
    return message_count_.load(std::memory_order_relaxed);
  }

  /// A full packet waits for the carrier; a hint.
  [[nodiscard]] bool has_full_packet() const { return has_full_.load(std::memory_order_relaxed); }

  /// Any thread.
  [[nodiscard]] LinkState state() const;

  /// Registers `waiter` to be woken when there is room again. False: there is room now, and the
  /// waiter was not registered.
  [[nodiscard]] bool enlist(sync::Waiter& waiter);

  /// The receiver is done with `accounted_bytes`. Any thread.
  void consumed(std::size_t accounted_bytes) final;

 protected:
  /// Tells the carrier that packets wait. Called outside the lock, once per announcement.
  virtual void announce(bool polls_next) = 0;
  /// The carrier takes all packets; the next append() announces again.
  PacketList take();
  [[nodiscard]] const LinkOptions& options() const { return options_; }

 private:
  // Inlined at every level of optimization but none: the cost of a message is this code.
  SHOAL_ALWAYS_INLINE std::span<std::byte> reserve(const MessageHeader& message,
                                                   std::size_t extra_bytes, const RunPrefix* prefix,
                                                   bool& closed) SHOAL_REQUIRES(mutex_) {
    bool continues = open_ != nullptr && open_->continues(message, prefix);
    std::size_t needed = open_ == nullptr ? 0 : open_->bytes_for(message, continues, prefix);
    if (open_ == nullptr || open_->room_bytes() < needed) [[unlikely]] {
      closed = open_packet(Packet::bytes_at_most(message, prefix));
      continues = false;
      needed = open_->bytes_for(message, continues, prefix);
    }
    open_->accounted_bytes += needed + extra_bytes;
    unaccounted_bytes_ += needed + extra_bytes;
    if (unaccounted_bytes_ > account_after_bytes_) account();
    // relaxed: written under the lock
    message_count_.store(message_count_.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    last_handler_ = message.handler;
    return open_->add_message(message, continues, prefix);
  }
  /// True: the one before is full now.
  bool open_packet(std::size_t needed_bytes) SHOAL_REQUIRES(mutex_);
  [[gnu::noinline]] void note_sent(std::uint64_t size_bytes) const SHOAL_REQUIRES(mutex_);
  void account() SHOAL_REQUIRES(mutex_) {
    if (unaccounted_bytes_ == 0) return;
    byte_count_ += unaccounted_bytes_;
    // relaxed: the counter only steers senders; the messages are published by the lock.
    in_flight_bytes_.fetch_add(std::exchange(unaccounted_bytes_, 0), std::memory_order_relaxed);
  }
  void wake_all();
  [[nodiscard]] bool below_low_water(std::size_t bytes) const {
    return bytes <= options_.window_bytes / 2;
  }

  const Rank source_;
  const Rank target_;
  const Lane lane_;
  const LinkOptions options_;
  const std::size_t account_after_bytes_;

  // Senders write the first line, receivers the second one.
  alignas(64) mutable sync::StoreReleaseMutex mutex_;
  PacketList closed_ SHOAL_GUARDED_BY(mutex_);
  Packet* open_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // the last one, still being filled
  bool announced_ SHOAL_GUARDED_BY(mutex_) = false;
  sync::Waiter* waiters_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  std::size_t unaccounted_bytes_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::uint64_t byte_count_ SHOAL_GUARDED_BY(mutex_) = 0;  // accounted so far
  std::uint32_t last_handler_ SHOAL_GUARDED_BY(mutex_) = 0;

  std::atomic<std::uint64_t> message_count_{0};  // written under mutex_
  std::atomic<bool> has_full_{false};            // likewise
  // Senders add, consumers subtract; with has_waiters_ a store-load pair: see enlist().
  alignas(64) std::atomic<std::size_t> in_flight_bytes_{0};
  std::atomic<bool> has_waiters_{false};
};

}  // namespace shoal::net

#pragma once
// The sending end of one lane between two ranks: aggregation and flow control.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/net/port.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/detail/trace/probes.hpp>

#include <atomic>
#include <utility>

namespace shoal::net {

struct LinkOptions {
  std::size_t packet_bytes = 8UL << 10U;  // a packet that is as full as this is closed
  std::size_t window_bytes = 1UL << 20U;  // bytes appended and not consumed before senders wait

  /// Bytes that are appended before they are added to the window, which may be exceeded by as many.
  [[nodiscard]] std::size_t uncounted_bytes_max() const {
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
/// in_flight_bytes_ + unaccounted_bytes() == bytes appended and not consumed, and unaccounted bytes
/// are in open_; run_kind_ is that of a run only while open_ has it, so announced_ is true then.
/// Several messages are added to the window at once, which saves an atomic operation per message.
class Link : public PacketOwner {
 public:
  Link(Rank source, Rank target, Lane lane, const LinkOptions& options)
      : source_(source),
        target_(target),
        lane_(lane),
        options_(options),
        account_after_bytes_(options.uncounted_bytes_max()) {}
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
    Reserved reserved;
    const sync::Quiet quiet;
    {
      const sync::StoreReleaseLock lock(mutex_);
      const std::span<std::byte> place = reserve(message, extra_bytes, prefix, reserved);
      {
        const sync::Aloud aloud;
        std::forward<Write>(write)(place);
      }
      if (trace::on<trace::Category::message>()) [[unlikely]]
        note_sent(message.size_bytes + extra_bytes);
      sync::publish(open_);
    }
    if (reserved.announces) [[unlikely]]
      announce(polls_next());
    return reserved.closed;
  }

  /// Appends one message whose arguments are `pieces`, behind `head`, as append(). It has a packet
  /// of its own, and its handler kObjectBit.
  void append_pieces(MessageHeader message, std::span<const std::byte> head,
                     std::shared_ptr<Pieces> pieces, const RunPrefix* prefix, bool polls_next);

  /// Returns whether the window has room; the answer may be out of date at once, and leaves out the
  /// last few messages. **Caller**: any thread.
  [[nodiscard]] bool has_room() const {
    // relaxed: a hint; enlist() decides.
    return in_flight_bytes_.load(std::memory_order_relaxed) < options_.window_bytes;
  }
  /// Returns the bytes in flight, for reports.
  [[nodiscard]] std::size_t in_flight_bytes() const;
  /// Appended so far; may be out of date at once.
  [[nodiscard]] std::uint64_t message_count() const {
    // relaxed: written under the lock
    return count_end_.load(std::memory_order_relaxed) - left_.load(std::memory_order_relaxed);
  }
  /// A sender looks at its own arrivals when it has sent this many messages.
  static constexpr std::uint64_t kSendsPerLook = 64;
  /// There is room, and it is not time for a look. Like has_room().
  [[nodiscard]] bool may_go_on() const {
    // relaxed: a hint
    return left_.load(std::memory_order_relaxed) != 0 ||
           (has_room() && message_count() % kSendsPerLook != 0);
  }

  /// A full packet waits for the carrier; a hint.
  [[nodiscard]] bool has_full_packet() const { return has_full_.load(std::memory_order_relaxed); }

  /// Returns the state of the link, for reports. **Caller**: any thread.
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
  /// Effects of an appended message on which its sender acts.
  struct Reserved {
    bool closed = false;     // a packet is full now
    bool announces = false;  // packets wait, and the carrier does not know it
  };
  // Inlined at every level of optimization but none: the cost of a message is this code.
  SHOAL_ALWAYS_INLINE std::span<std::byte> reserve(const MessageHeader& message,
                                                   std::size_t extra_bytes, const RunPrefix* prefix,
                                                   Reserved& reserved) SHOAL_REQUIRES(mutex_) {
    if (RunHeader::kind_of(message.handler, message.signature) != run_kind_ ||
        message.size_bytes != run_size_bytes_ || !open_->has_tags(message, prefix)) [[unlikely]] {
      return reserve_slowly(message, extra_bytes, prefix, reserved);
    }
    std::byte* const place = next_place_;
    next_place_ = place + message_step(message.size_bytes);
    sync::prefetch_to_write(place + kPrefetchBytes);
    extra_bytes_ += extra_bytes;
    // relaxed: written under the lock
    const std::uint32_t left = left_.load(std::memory_order_relaxed) - 1;
    left_.store(left, std::memory_order_relaxed);
    if (left == 0 || (extra_bytes != 0 && extra_bytes_ > account_after_bytes_)) [[unlikely]]
      settle();
    return {place, message.size_bytes};
  }
  // By value: so the header of a message that joins a run stays in registers.
  std::span<std::byte> reserve_slowly(MessageHeader message, std::size_t extra_bytes,
                                      const RunPrefix* prefix, Reserved& reserved)
      SHOAL_REQUIRES(mutex_);
  /// Lets messages that are like the last one join its run without a look at the rest.
  void let_join(const MessageHeader& message) SHOAL_REQUIRES(mutex_);
  /// Counts the messages that have joined the run. No more do.
  [[gnu::noinline]] void settle() SHOAL_REQUIRES(mutex_);
  /// Bytes that are not in in_flight_bytes_ yet.
  [[nodiscard]] std::size_t unaccounted_bytes() const SHOAL_REQUIRES(mutex_) {
    const std::size_t joined = may_join_ - left_.load(std::memory_order_relaxed);
    return unaccounted_bytes_ + extra_bytes_ + joined * message_step(run_size_bytes_);
  }
  /// Opens a new packet; returns whether the one before is full.
  bool open_packet(std::size_t needed_bytes) SHOAL_REQUIRES(mutex_);
  [[gnu::noinline]] void note_sent(std::uint64_t size_bytes) const SHOAL_REQUIRES(mutex_);
  void close_open() SHOAL_REQUIRES(mutex_);
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

  static constexpr std::uint64_t kNoRun = ~std::uint64_t{0};  // no handler has this number

  const Rank source_;
  const Rank target_;
  const Lane lane_;
  const LinkOptions options_;
  const std::size_t account_after_bytes_;

  // Senders write the first line, receivers the second one.
  alignas(64) mutable sync::StoreReleaseMutex mutex_;
  Packet* open_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // the last one, still being filled
  // The last run of open_, while messages may join it: room, window and counts were looked at for
  // all of them at once.
  std::uint64_t run_kind_ SHOAL_GUARDED_BY(mutex_) = kNoRun;
  std::size_t run_size_bytes_ SHOAL_GUARDED_BY(mutex_) = 0;   // of the arguments of each
  std::byte* next_place_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // of the next one
  std::size_t extra_bytes_ SHOAL_GUARDED_BY(mutex_) = 0;      // of those that have joined
  std::uint32_t may_join_ SHOAL_GUARDED_BY(mutex_) = 0;       // how many might at first
  std::atomic<std::uint32_t> left_{0};       // and how many still; written under mutex_
  std::atomic<std::uint64_t> count_end_{0};  // messages when they all have; written under mutex_

  PacketList closed_ SHOAL_GUARDED_BY(mutex_);
  bool announced_ SHOAL_GUARDED_BY(mutex_) = false;
  sync::Waiter* waiters_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  std::size_t unaccounted_bytes_ SHOAL_GUARDED_BY(mutex_) = 0;  // of settled messages
  std::uint64_t byte_count_ SHOAL_GUARDED_BY(mutex_) = 0;       // accounted so far
  std::uint32_t last_handler_ SHOAL_GUARDED_BY(mutex_) = 0;

  std::atomic<bool> has_full_{false};  // written under mutex_
  // Senders add, consumers subtract; with has_waiters_ a store-load pair: see enlist().
  alignas(64) std::atomic<std::size_t> in_flight_bytes_{0};
  std::atomic<bool> has_waiters_{false};
};

}  // namespace shoal::net

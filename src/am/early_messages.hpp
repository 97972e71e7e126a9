#pragma once
// Messages whose handler or team does not exist on this rank yet.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "am/packet_reader.hpp"

namespace shoal::messaging {

/// Messages of one stream that wait, in packets.
struct Early {
  struct Kept {
    PacketPart part;
    std::uint64_t number = 0;  // in the order of arrival on this rank
  };
  std::deque<Kept> packets;
  std::uint64_t count = 0;   // of unprocessed messages; large ones twice
  bool passed_on = false;    // multicasts: so are those that come behind
  std::size_t disowned = 0;  // packets, the first ones

  void disown_all();
};

/// Any thread.
class EarlyMessages {
 public:
  EarlyMessages() = default;
  /// The senders may be gone.
  ~EarlyMessages();
  EarlyMessages(const EarlyMessages&) = delete;
  EarlyMessages& operator=(const EarlyMessages&) = delete;

  /// Messages of all streams. acquire pairs with the release of the adders.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const;
  [[nodiscard]] bool empty() const;

  /// Messages of the stream wait.
  [[nodiscard]] bool has(const Stream& stream) const;
  /// And were passed on.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const;
  /// Keeps messages of the stream, behind those that wait. True: there are none; the stream begins
  /// as `passed_on`, and `then` runs before they can be taken out again.
  bool add(const Stream& stream, PacketPart part, std::uint64_t messages, bool passed_on,
           FunctionRef<void()> then);
  /// Takes out the streams of a team from one rank, unless `unless` says not to: under the lock.
  [[nodiscard]] PacketParts take(std::uint64_t team, std::int32_t source,
                                 FunctionRef<bool()> unless);
  /// Takes all out, in the order of arrival; `then` runs before another one is added.
  [[nodiscard]] PacketParts take_all(FunctionRef<void()> then);
  /// While the sum of `change` is above 0, the windows of all senders are open.
  void open_windows(int change);
  /// Opens the windows of all senders, unless `unless` says not to: under the lock.
  [[nodiscard]] bool disown_all(FunctionRef<bool()> unless);
  /// With the part of a packet that waits first.
  void for_each(FunctionRef<void(const Stream&, const PacketPart& first)> visit) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<Stream, Early> streams_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
  int open_windows_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace shoal::messaging

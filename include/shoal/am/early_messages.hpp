#pragma once
// Messages whose handler or team does not exist on this rank yet.

#include <shoal/am/packet_reader.hpp>
#include <shoal/base/function.hpp>
#include <shoal/net/packet.hpp>
#include <shoal/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace shoal::messaging {

/// Packets of one stream, from the first message on that cannot be handled. Each holds messages of
/// that stream only behind its offset.
struct Early {
  net::PacketList packets;
  std::size_t offset = 0;                // into the first packet
  std::uint64_t count = 0;               // of unprocessed messages; large ones twice
  bool passed_on = false;                // multicasts: so are those that come behind
  net::Packet* last_disowned = nullptr;  // it and those before it

  void disown_all();
};

/// Any thread.
class EarlyMessages {
 public:
  using Streams = std::map<Stream, Early>;

  /// Messages of all streams. acquire pairs with the release of the adders.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t count_of(std::uint64_t team) const;
  [[nodiscard]] bool empty() const;

  /// Keeps a packet behind those that wait in its stream. False: there are none.
  bool add_behind(const Stream& stream, net::Packet* packet, std::uint64_t messages);
  /// Keeps a packet behind those of its stream that wait, or as `begin` says, with a count in both
  /// cases; `then` runs before it can be taken out again. True: it is the first one of its stream.
  bool add(const Stream& stream, net::Packet* packet, Early begin, FunctionRef<void()> then);
  /// Messages of the stream wait, and were passed on.
  [[nodiscard]] bool are_passed_on(const Stream& stream) const;
  /// Takes out the streams of a team from one rank, unless `unless` says not to: under the lock.
  [[nodiscard]] Streams take(std::uint64_t team, std::int32_t source, FunctionRef<bool()> unless);
  /// Takes all out; `then` runs before another one is added.
  [[nodiscard]] Streams take_all(FunctionRef<void()> then);
  /// Opens the windows of all senders, unless `unless` says not to: under the lock.
  [[nodiscard]] bool disown_all(FunctionRef<bool()> unless);
  void for_each(FunctionRef<void(const Stream&)> visit) const;

 private:
  mutable sync::Mutex mutex_;
  Streams streams_ SHOAL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace shoal::messaging

#pragma once
// Services of a rank that its channels use.

#include <atomic>
#include <memory>

namespace shoal::messaging {

class Channel;
struct Handler;

/// Implemented by the Messenger. Any thread; calls do not block,
/// except for await_reclaimed().
class ChannelHost {
 public:
  virtual ~ChannelHost() = default;
  /// Messages that came for the channel before it was there are handled after this. The first
  /// channel is the world's, made before the first step. **Errors**: CheckError when the rank has a
  /// team with this id.
  virtual void add(Channel& channel) = 0;
  /// The team is complete on this rank.
  virtual void remove(Channel& channel) = 0;
  /// Handlers were opened: messages that wait are tried again.
  virtual void retry_if_early() = 0;
  /// Ends a handler that was taken out of its table, once it is not in use.
  virtual void reclaim(const std::shared_ptr<Handler>& handler) = 0;
  /// Returns when no handler runs that was given to reclaim() before. Not in a handler.
  virtual void await_reclaimed() = 0;
  /// See Messenger::flush().
  virtual void flush() = 0;
  /// Something has arrived that no worker is handling.
  [[nodiscard]] virtual bool looks_busy() const = 0;
  /// Index of the worker whose handlers' messages the transport looks for next; else negative.
  [[nodiscard]] virtual const std::atomic<int>& polls_next() const = 0;
};

}  // namespace shoal::messaging

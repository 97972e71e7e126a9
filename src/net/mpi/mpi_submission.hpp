#pragma once
// What any thread may hand to the engine.

#include <shoal/sync/mpsc_queue.hpp>

namespace shoal::net {

class MpiLink;

/// Work for whoever holds the engine next. In at most one queue at a time.
class MpiSubmission : public sync::MpscNode {
 public:
  /// Under the engine's lock, out of the queue: may be submitted again. Throws TransportError.
  virtual void start() = 0;
  /// The engine ends without having started this.
  virtual void drop() {}

 protected:
  ~MpiSubmission() = default;
};

/// The way into the engine.
class MpiSubmissions {
 public:
  /// Any thread. Never blocks, never throws. Makes sure that somebody will see to it.
  virtual void submit(MpiSubmission& submission) = 0;
  /// As submit(), for what can wait until somebody polls anyway.
  virtual void submit_quietly(MpiSubmission& submission) = 0;
  /// Somewhere so much was consumed that the next round tells its sender. Any thread.
  virtual void report_soon() = 0;
  /// Makes sure that somebody polls soon. Any thread.
  virtual void nudge() = 0;
  /// The link ends: afterwards the engine does not know it any more. Nobody appends to it
  /// meanwhile.
  virtual void withdraw(MpiLink& link) = 0;

 protected:
  ~MpiSubmissions() = default;
};

}  // namespace shoal::net

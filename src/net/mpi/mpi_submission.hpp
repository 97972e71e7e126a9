#pragma once
// Work that any thread may hand to the engine.

#include <shoal/detail/sync/mpsc_queue.hpp>

namespace shoal::net {

class MpiLink;

/// Work for the next holder of the engine. In at most one queue at a time.
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
  /// Any thread. Never blocks, never throws. Makes sure that a thread will serve it.
  virtual void submit(MpiSubmission& submission) = 0;
  /// As submit(), if it can wait for the next poll.
  virtual void submit_quietly(MpiSubmission& submission) = 0;
  /// Makes the next round tell a sender how much was consumed. Any thread.
  virtual void report_soon() = 0;
  /// Makes sure that a thread polls soon. Any thread.
  virtual void nudge() = 0;
  /// Forgets a link that ends. **Precondition**: no thread appends to it.
  virtual void withdraw(MpiLink& link) = 0;

 protected:
  ~MpiSubmissions() = default;
};

}  // namespace shoal::net

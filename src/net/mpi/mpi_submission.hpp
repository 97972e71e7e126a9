#pragma once
// Work that any thread may hand to the engine.

#include <shoal/detail/sync/mpsc_queue.hpp>

namespace shoal::net {

class MpiLink;

/// Work for the next holder of the engine. In at most one queue at a time.
class MpiSubmission : public sync::MpscNode {
 public:
  /// Starts the work, under the engine's lock; it is not in the queue any more and may be submitted
  /// again. Throws TransportError.
  virtual void start() = 0;
  /// Called when the engine ends without having started the work.
  virtual void drop() {}

 protected:
  ~MpiSubmission() = default;
};

/// Interface by which other threads give work to the engine.
class MpiSubmissions {
 public:
  /// Submits work, and makes sure that a thread will start it. Throws nothing. **Caller**: any
  /// thread. **Blocks**: never.
  virtual void submit(MpiSubmission& submission) = 0;
  /// Submits work that can wait for the next poll, see submit().
  virtual void submit_quietly(MpiSubmission& submission) = 0;
  /// Makes the next round tell a sender how much was consumed. Any thread.
  virtual void report_soon() = 0;
  /// Makes sure that a thread polls soon. Any thread.
  virtual void nudge() = 0;
  /// Removes a link that ends. **Precondition**: no thread appends to it.
  virtual void withdraw(MpiLink& link) = 0;

 protected:
  ~MpiSubmissions() = default;
};

}  // namespace shoal::net

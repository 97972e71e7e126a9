#pragma once
// The receiving end of a rank: where links and transports say that something has arrived.

#include <shoal/net/packet.hpp>
#include <shoal/sync/mpsc_queue.hpp>
#include <shoal/sync/strand.hpp>

namespace shoal::net {

class Link;

/// Runs what has arrived; the am layer implements it.
class Receiver {
 public:
  /// Takes over the reference to `packet`. Packets of one lane from one source come in order.
  virtual void on_packet(Packet* packet) = 0;
  /// Called before the packets of a link in memory are taken: may wait a moment, for more.
  virtual void before_take(const Link& /*link*/) {}

 protected:
  ~Receiver() = default;
};

/// Something that a rank's progress has to look at: a link with packets, or an event.
class PortItem : public sync::MpscNode {
 public:
  /// Progress context of the target rank. The item may be posted again from within.
  virtual void deliver(Receiver& receiver) = 0;

 protected:
  ~PortItem() = default;
};

/// A single happening (a payload has arrived, a buffer may be reused): runs `action` once.
class Event : public PortItem {
 public:
  virtual ~Event() = default;
  virtual void run() = 0;
  void deliver(Receiver&) final { run(); }
};

/// Wakes a worker of a rank when something was posted.
class PortWaker {
 public:
  virtual void wake_for_progress() = 0;

 protected:
  ~PortWaker() = default;
};

/// Where items for one rank wait for its progress.
class Port {
 public:
  void set_waker(PortWaker* waker) { waker_ = waker; }

  /// Any thread. Each item stands in the port at most once at a time.
  void post(PortItem* item) {
    const sync::Quiet quiet;
    queue_.push(item);
    if (waker_ != nullptr) waker_->wake_for_progress();
  }

  /// One thread at a time. nullptr: nothing to see now.
  PortItem* try_take() { return static_cast<PortItem*>(queue_.try_pop()); }
  [[nodiscard]] bool looks_empty() const { return queue_.looks_empty(); }

 private:
  sync::MpscQueue queue_;
  PortWaker* waker_ = nullptr;  // set before the first post
};

}  // namespace shoal::net

#pragma once
// The receiving end of a rank: where links and transports say that something has arrived.

#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sync/mpsc_queue.hpp>
#include <shoal/detail/sync/strand.hpp>

namespace shoal::net {

class Link;

/// Item that a rank's progress handles: a link in memory, an inlet of a transport, or a completion.
class PortItem : public sync::MpscNode {
 public:
  /// Urgent items are drained before others.
  explicit PortItem(bool urgent = false) : urgent_(urgent) {}
  [[nodiscard]] bool is_urgent() const { return urgent_; }
  /// The link in memory that waits to be drained; nullptr for all others.
  [[nodiscard]] virtual const Link* link() const { return nullptr; }
  /// Packets that have arrived, those of a lane from one source in order. A completion runs, and
  /// brings none. Progress context of the target rank. The item may be posted again from within.
  virtual PacketList take_arrivals() = 0;

 protected:
  ~PortItem() = default;

 private:
  const bool urgent_;
};

/// The end of one operation (a payload has arrived, a buffer may be reused): run() is called once.
class Completion : public PortItem {
 public:
  virtual ~Completion() = default;
  virtual void run() = 0;
  PacketList take_arrivals() final {
    run();
    return {};
  }
};

/// Wakes a worker of a rank when something was posted.
class PortWaker {
 public:
  virtual void wake_for_progress() = 0;

 protected:
  ~PortWaker() = default;
};

/// Queue of the items that wait for the progress of one rank.
class Port {
 public:
  void set_waker(PortWaker* waker) { waker_ = waker; }

  /// Adds an item, which is in the port at most once at a time. **Caller**: any thread.
  void post(PortItem* item) {
    const sync::Quiet quiet;
    (item->is_urgent() ? urgent_ : queue_).push(item);
    if (waker_ != nullptr) waker_->wake_for_progress();
  }

  /// Removes the first item and returns it; nullptr if there is none now. **Caller**: one thread at
  /// a time.
  PortItem* try_take() {
    sync::MpscNode* const item = urgent_.try_pop();
    return static_cast<PortItem*>(item != nullptr ? item : queue_.try_pop());
  }
  [[nodiscard]] bool looks_empty() const { return queue_.looks_empty() && urgent_.looks_empty(); }

 private:
  sync::MpscQueue queue_;
  sync::MpscQueue urgent_;
  PortWaker* waker_ = nullptr;  // set before the first post
};

}  // namespace shoal::net

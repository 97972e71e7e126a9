#pragma once
// A task that waits for events.

#include "event/core.hpp"

#include <shoal/detail/sched/park.hpp>

namespace shoal::event {

class EventWait;

/// Body of a wait, in place of the function of a task. Guarded by the lock of the core.
class WaitBody final : public TaskBody {
 public:
  explicit WaitBody(EventWait& of) : wait(&of) { is_wait = true; }
  void run(EventList& /*events*/) override {}

  EventWait* const wait;           // gone once it was given its events
  sync::Waiter* waiter = nullptr;  // to be woken
};

/// One wait() of a task. Its fields are guarded by the lock of the core.
class EventWait final : public sched::Waitable {
 public:
  /// For all of the dependencies, or any of them.
  EventWait(Core& core, const std::vector<Dependency>& dependencies, bool any)
      : Waitable(core.scope_.scheduler()), core_(core), dependencies_(dependencies), any_(any) {}

  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;

  /// Waits for the events and returns them. **Errors**: as sched::wait_for(); then its events are
  /// matched with other consumers, and nothing refers to this object any more.
  std::vector<Payload> wait();

 private:
  friend class Core;
  /// Submits the wait; returns whether it is ready already.
  bool submit();
  void leave() SHOAL_REQUIRES(core_.mutex_);
  void give_back();
  std::vector<Payload> take();

  Core& core_;
  const std::vector<Dependency>& dependencies_;
  const bool any_;
  ConsumerId id_ = 0;
  sync::Waiter* waiter_ = nullptr;
  std::shared_ptr<Instance> instance_;  // once it is ready
  Ready others_;                        // made ready by what this gave back
};

}  // namespace shoal::event

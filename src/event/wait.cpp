#include "event/wait.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace shoal::event {

bool EventWait::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(core_.mutex_);
  if (instance_ != nullptr) return false;
  waiter_ = &waiter;
  return true;
}

bool EventWait::withdraw(sync::Waiter& /*waiter*/) {
  const sync::Lock lock(core_.mutex_);
  if (std::exchange(waiter_, nullptr) == nullptr) return false;
  leave();
  return true;
}

// Once: if it has left, or is ready, the matcher does not know it any more.
void EventWait::leave() {
  if (core_.matcher_.withdraw(id_, others_)) core_.enqueue(others_);
}

std::string EventWait::describe() const {
  constexpr std::size_t kNamesMax = 8;
  std::vector<std::string> names;
  for (const Dependency& one : dependencies_) {
    if (names.size() == kNamesMax) {
      names.emplace_back("...");
      break;
    }
    names.push_back(one.source == kAnySource
                        ? fmt::format("\"{}\" from any rank", one.name)
                        : fmt::format("\"{}\" from rank {}", one.name, one.source));
  }
  return fmt::format("wait() of events '{}' for {}", core_.name(), fmt::join(names, ", "));
}

void EventWait::wait() {
  try {
    wait_here();
  } catch (...) {
    {
      // Nobody has taken it out if it could not stand still at all, say in a world that has failed.
      const sync::Lock lock(core_.mutex_);
      leave();
    }
    core_.submit_runners(others_);
    throw;
  }
}

EventList Core::wait(const std::vector<EventDependency>& dependencies) {
  const std::vector<Dependency> expanded =
      expand(dependencies, [this] { return fmt::format("events '{}': wait()", name_); });
  EventWait wait(*this, expanded);
  const auto body = std::make_shared<WaitBody>(wait);
  body->name = fmt::format("wait() in '{}'", sched::current_activity());
  Ready ready;
  bool is_ready = false;
  {
    const sync::Lock lock(mutex_);
    wait.id_ = matcher_.add_consumer({ConsumerKind::wait, "", expanded, body}, ready);
    enqueue(ready);
    is_ready = wait.instance_ != nullptr;
  }
  submit_runners(ready);
  if (!is_ready) locks_.wait_without([&wait] { wait.wait(); });
  ready.clear();
  std::vector<Payload> payloads;
  {
    const sync::Lock lock(mutex_);
    payloads = matcher_.begin_run(*wait.instance_, ready);
    enqueue(ready);
  }
  submit_runners(ready);
  return to_events(payloads);
}

}  // namespace shoal::event

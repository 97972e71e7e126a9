#include "event/wait.hpp"

#include <shoal/detail/base/check.hpp>

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
  return fmt::format("{} of events '{}' for {}", any_ ? "wait_any()" : "wait()", core_.name(),
                     fmt::join(names, any_ ? " or " : ", "));
}

std::vector<Payload> EventWait::wait() {
  check_may_wait();
  const bool is_ready = submit();
  try {
    if (!is_ready) core_.locks_.wait_without([this] { wait_here(); });
  } catch (...) {
    give_back();
    throw;
  }
  return take();
}

bool EventWait::submit() {
  const auto body = std::make_shared<WaitBody>(*this);
  body->name = fmt::format("{} in '{}'", any_ ? "wait_any()" : "wait()", sched::current_activity());
  Ready ready;
  bool is_ready = false;
  {
    const sync::Lock lock(core_.mutex_);
    id_ = core_.matcher_.add_consumer({ConsumerKind::wait, "", dependencies_, body, any_}, ready);
    core_.enqueue(ready);
    is_ready = instance_ != nullptr;
  }
  core_.submit_runners(ready);
  return is_ready;
}

// It may have thrown before it was parked, when it was taken out, or with its events in hand.
void EventWait::give_back() {
  {
    const sync::Lock lock(core_.mutex_);
    if (instance_ == nullptr) {
      leave();
    } else {
      core_.matcher_.give_back(*instance_, others_);
      core_.enqueue(others_);
    }
  }
  core_.submit_runners(others_);
}

std::vector<Payload> EventWait::take() {
  Ready ready;
  std::vector<Payload> payloads;
  {
    const sync::Lock lock(core_.mutex_);
    payloads = core_.matcher_.begin_run(*instance_, ready);
    core_.enqueue(ready);
  }
  core_.submit_runners(ready);
  return payloads;
}

EventList Core::wait(const std::vector<EventDependency>& dependencies) {
  check_runs();
  const std::vector<Dependency> expanded =
      expand(dependencies, [this] { return fmt::format("events '{}': wait()", name_); });
  return to_events(EventWait(*this, expanded, false).wait());
}

EventList Core::wait_any(const std::vector<EventDependency>& dependencies) {
  check_runs();
  const std::vector<Dependency> expanded =
      expand(dependencies, [this] { return fmt::format("events '{}': wait_any()", name_); });
  SHOAL_CHECK(!expanded.empty(),
              "events '{}': wait_any() without events would wait for ever: name at least one",
              name_);
  return to_events(EventWait(*this, expanded, true).wait());
}

}  // namespace shoal::event

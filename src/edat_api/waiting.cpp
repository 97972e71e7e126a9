#include "edat_api/waiting.hpp"

#include "edat_api/process.hpp"

#include <shoal/detail/sched/park.hpp>

#include <memory>
#include <optional>

namespace shoal::edat_api {

namespace {

EDAT_Event* hand_over(const Program& program, const EventList& events) {
  if (events.empty()) return nullptr;
  auto& kept = belongings().shown;
  kept.push_back(std::make_unique<Shown>(events, program.addresses()));
  return kept.back()->events();
}

/// A thread of the program in a call that may wait. The thread of main() counts as a task there, so
/// that a wait without end is found.
class WaitingThread {
 public:
  explicit WaitingThread(Program& program) : program_(program) {
    if (!program.is_main_thread()) return;
    held_.emplace(program.world().core(), "main()");
    program.leave_worker_to_tasks();
  }
  ~WaitingThread() {
    if (held_.has_value()) program_.take_worker();
  }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

 private:
  Program& program_;
  std::optional<sched::HeldThread> held_;
};

/// Waits with the caller's named locks released. Events::wait() does so for a task; for a thread of
/// the program it is done here. An error ends the process.
EventList wait_without_locks(Program& program, const std::vector<EventDependency>& dependencies) {
  Events& events = program.events();
  if (program.has_locked_communication(belongings())) {
    throw CheckError("no event arrives before edatUnlockComms: call that first");
  }
  if (sched::current_task() != nullptr) return events.wait(dependencies);
  const WaitingThread waiting(program);
  const auto& held = belongings().locks;
  for (const std::string& lock : held) events.unlock(lock);
  EventList got = events.wait(dependencies);
  for (const std::string& lock : held) events.lock(lock);  // in the order that all keep: by name
  return got;
}

}  // namespace

EDAT_Event* wait(Program& program, int* number, const std::vector<EventDependency>& dependencies) {
  const EventList got = wait_without_locks(program, dependencies);
  if (number != nullptr) *number = static_cast<int>(got.size());
  return hand_over(program, got);
}

EDAT_Event* retrieve_any(Program& program, int* number,
                         const std::vector<EventDependency>& dependencies) {
  int& count = given(number, "the place for the number of events");
  const EventList got = program.events().retrieve_any(dependencies);
  count = static_cast<int>(got.size());
  // A task may poll in a loop: the event arrives only when its worker looks for messages.
  const bool may_yield =
      sched::current_task() != nullptr && !program.has_locked_communication(belongings());
  if (got.empty() && may_yield) sched::yield();
  return hand_over(program, got);
}

void lock(Program& program, const std::string& name) {
  if (sched::current_task() != nullptr) return program.events().lock(name);
  const WaitingThread waiting(program);
  program.events().lock(name);
}

}  // namespace shoal::edat_api

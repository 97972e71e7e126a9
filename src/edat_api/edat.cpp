// The functions of edat.h.

#include <shoal/edat/edat.h>

#include "edat_api/calls.hpp"
#include "edat_api/process.hpp"

#include <shoal/sched/park.hpp>

#include <fmt/format.h>

#include <cstdarg>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::edat_api {

namespace {

using TaskFunction = void (*)(EDAT_Event*, int);

/// `count` pairs of a source and an identifier.
std::vector<EventDependency> read_pairs(Program& program, int count, va_list pairs) {
  check_dependency_count(count);
  std::vector<EventDependency> dependencies;
  dependencies.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int source = va_arg(pairs, int);
    const char* const name = va_arg(pairs, const char*);
    dependencies.push_back(to_dependency(program, source, name));
  }
  return dependencies;
}

void submit(const char* call, TaskFunction task, const EventTaskOptions& options, int count,
            va_list pairs) {
  guarded(call, [&](Program& program) {
    submit_task(program, task, options, read_pairs(program, count, pairs));
  });
}

// The name is checked before it is put into options.
std::string name_of_task(const char* call, const char* name) {
  if (name == nullptr) refuse(call, "the task's name is NULL");
  return name;
}

// --- events

struct Fired {
  const char* call;
  const void* data;
  int type;
  int count;
};

void fire(const Fired& what, int target, const char* name, bool persistent) {
  guarded(what.call, [&](Program& program) {
    const std::string event = text_of(name, "the event identifier");
    const EventPeer to = to_target(program, target, event);
    const RawPayload payload = to_payload(program, event, what.type, what.count, &what.data);
    program.events().fire_raw(to, event, payload, persistent);
  });
}

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
    held_.emplace(program.world().scope(), "main()");
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

void lock(Program& program, const std::string& name) {
  if (sched::current_task() != nullptr) return program.events().lock(name);
  const WaitingThread waiting(program);
  program.events().lock(name);
}

}  // namespace

}  // namespace shoal::edat_api

using namespace shoal::edat_api;

// NOLINTBEGIN(readability-identifier-naming): the names of EDAT

// --- start and end

void edatInit(...) { start("edatInit", {}, nullptr); }  // NOLINT(cert-dcl50-cpp): see edat.h

void edatInitWithConfiguration(int count, char** keys, char** values) {
  constexpr const char* kCall = "edatInitWithConfiguration";
  std::vector<std::pair<std::string, std::string>> pairs;
  if (count < 0) refuse(kCall, fmt::format("the number of options is {}", count));
  for (int i = 0; i < count; ++i) {
    if (keys == nullptr || values == nullptr || keys[i] == nullptr || values[i] == nullptr) {
      refuse(kCall, fmt::format("key or value {} of {} is NULL", i, count));
    }
    pairs.emplace_back(keys[i], values[i]);
  }
  start(kCall, pairs, nullptr);
}

void edatFinalise(void) {
  constexpr const char* kCall = "edatFinalise";
  Program& program = running(kCall);
  if (shoal::sched::current_task() != nullptr) refuse(kCall, "call it in main(), not in a task");
  if (program.has_locked_communication(belongings())) refuse(kCall, "call edatUnlockComms first");
  finish();
}

int edatGetRank(void) {
  if (process().rank < 0) running("edatGetRank");
  return process().rank;
}

int edatGetNumRanks(void) {
  if (process().size < 0) running("edatGetNumRanks");
  return process().size;
}

// --- tasks

void edatSubmitTask(void (*task)(EDAT_Event*, int), int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  submit("edatSubmitTask", task, {}, count, pairs);
  va_end(pairs);
}

void edatSubmitNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count, ...) {
  constexpr const char* kCall = "edatSubmitNamedTask";
  va_list pairs;
  va_start(pairs, count);
  submit(kCall, task, {.name = name_of_task(kCall, name)}, count, pairs);
  va_end(pairs);
}

void edatSubmitPersistentTask(void (*task)(EDAT_Event*, int), int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  submit("edatSubmitPersistentTask", task, {.persistent = true}, count, pairs);
  va_end(pairs);
}

void edatSubmitPersistentGreedyTask(void (*task)(EDAT_Event*, int), int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  submit("edatSubmitPersistentGreedyTask", task, {.persistent = true, .greedy = true}, count,
         pairs);
  va_end(pairs);
}

void edatSubmitPersistentNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count,
                                   ...) {
  constexpr const char* kCall = "edatSubmitPersistentNamedTask";
  va_list pairs;
  va_start(pairs, count);
  submit(kCall, task, {.name = name_of_task(kCall, name), .persistent = true}, count, pairs);
  va_end(pairs);
}

void edatSubmitPersistentNamedGreedyTask(void (*task)(EDAT_Event*, int), const char* name,
                                         int count, ...) {
  constexpr const char* kCall = "edatSubmitPersistentNamedGreedyTask";
  va_list pairs;
  va_start(pairs, count);
  submit(kCall, task, {.name = name_of_task(kCall, name), .persistent = true, .greedy = true},
         count, pairs);
  va_end(pairs);
}

int edatIsTaskSubmitted(const char* name) {
  return guarded("edatIsTaskSubmitted", [&](Program& program) {
    return program.events().is_submitted(text_of(name, "the task's name")) ? 1 : 0;
  });
}

int edatRemoveTask(const char* name) {
  return guarded("edatRemoveTask", [&](Program& program) {
    return program.events().remove(text_of(name, "the task's name")) ? 1 : 0;
  });
}

// --- events

void edatFireEvent(void* data, int data_type, int number_elements, int target,
                   const char* event_id) {
  fire({"edatFireEvent", data, data_type, number_elements}, target, event_id, false);
}

void edatFirePersistentEvent(void* data, int data_type, int number_elements, int target,
                             const char* event_id) {
  fire({"edatFirePersistentEvent", data, data_type, number_elements}, target, event_id, true);
}

int edatFindEvent(EDAT_Event* events, int count, int source, const char* event_id) {
  return guarded("edatFindEvent", [&](Program& program) {
    const std::string wanted = text_of(event_id, "the event identifier");
    const int rank = source == EDAT_SELF ? program.world().rank().value() : source;
    for (int i = 0; i < count; ++i) {
      const EDAT_Metadata& event = (&given(events, "the array of events"))[i].metadata;
      const std::string name = text_of(event.event_id, "the identifier of an event");
      if (wanted == name && (rank == EDAT_ANY || rank == event.source)) return i;
    }
    return -1;
  });
}

int edatDefineContext(size_t size_bytes) {
  return guarded("edatDefineContext",
                 [&](Program& program) { return program.contexts().define(size_bytes); });
}

void* edatCreateContext(int context_type) {
  return guarded("edatCreateContext",
                 [&](Program& program) { return create_context(program, context_type); });
}

EDAT_Event* edatWait(int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  EDAT_Event* const events = guarded("edatWait", [&](Program& program) {
    return hand_over(program, wait_without_locks(program, read_pairs(program, count, pairs)));
  });
  va_end(pairs);
  return events;
}

EDAT_Event* edatRetrieveAny(int* number_retrieved, int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  EDAT_Event* const events = guarded("edatRetrieveAny", [&](Program& program) {
    int& number = given(number_retrieved, "the place for the number of events");
    const shoal::EventList got = program.events().retrieve_any(read_pairs(program, count, pairs));
    number = static_cast<int>(got.size());
    // A task may poll in a loop: the event arrives only when its worker looks for messages.
    const bool may_yield =
        shoal::sched::current_task() != nullptr && !program.has_locked_communication(belongings());
    if (got.empty() && may_yield) shoal::sched::yield();
    return hand_over(program, got);
  });
  va_end(pairs);
  return events;
}

// --- locks

void edatLock(char* name) {
  guarded("edatLock", [&](Program& program) {
    const std::string wanted = text_of(name, "the lock's name");
    if (belongings().locks.contains(wanted)) return;  // once more is as good as once
    lock(program, wanted);
    belongings().locks.insert(wanted);
  });
}

void edatUnlock(char* name) {
  guarded("edatUnlock", [&](Program& program) {
    const std::string lock = text_of(name, "the lock's name");
    if (belongings().locks.erase(lock) == 0) {
      throw shoal::CheckError(fmt::format("the caller does not have the lock \"{}\"", lock));
    }
    program.events().unlock(lock);
  });
}

int edatTestLock(char* name) {
  return guarded("edatTestLock", [&](Program&) {
    return belongings().locks.contains(text_of(name, "the lock's name")) ? 1 : 0;
  });
}
// NOLINTEND(readability-identifier-naming)

// The functions of edat.h.

#include <shoal/edat/edat.h>

#include "edat_api/calls.hpp"
#include "edat_api/process.hpp"
#include "edat_api/waiting.hpp"

#include <fmt/format.h>

#include <cstdarg>
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
  const auto fire_it = [&](Program& program) {
    const std::string event = text_of(name, "the event identifier");
    const EventPeer to = to_target(program, target, event);
    const RawPayload payload = to_payload(program, event, what.type, what.count, &what.data);
    program.events().fire_raw(to, event, payload, persistent);
  };
  // To other ranks it may wait for room, which the task's worker makes.
  const bool may_wait = target != EDAT_SELF && target != process().rank;
  may_wait ? guarded_in_task(what.call, fire_it) : guarded(what.call, fire_it);
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
  check_may_finish("edatFinalise");
  exit_after_error(finish());
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
                 [&](Program&) { return process().contexts.define(size_bytes); });
}

void* edatCreateContext(int context_type) {
  return guarded("edatCreateContext", [&](Program&) { return create_context(context_type); });
}

EDAT_Event* edatWait(int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  EDAT_Event* const events = guarded_in_task("edatWait", [&](Program& program) {
    return wait(program, nullptr, read_pairs(program, count, pairs));
  });
  va_end(pairs);
  return events;
}

EDAT_Event* edatRetrieveAny(int* number_retrieved, int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  EDAT_Event* const events = guarded_in_task("edatRetrieveAny", [&](Program& program) {
    return retrieve_any(program, number_retrieved, read_pairs(program, count, pairs));
  });
  va_end(pairs);
  return events;
}

// --- locks

void edatLock(char* name) {
  guarded_in_task("edatLock", [&](Program& program) {
    const std::string wanted = text_of(name, "the lock's name");
    if (belongings().locks.contains(wanted)) return;  // once more is as good as once
    lock(program, wanted);
    belongings().locks.insert(wanted);
  });
}

void edatUnlock(char* name) {
  guarded_in_task("edatUnlock", [&](Program& program) {
    const std::string lock = text_of(name, "the lock's name");
    if (belongings().locks.erase(lock) == 0) {
      throw shoal::CheckError(fmt::format("the caller does not have the lock \"{}\"", lock));
    }
    program.events().unlock(lock);
  });
}

int edatTestLock(char* name) {
  return guarded_in_task("edatTestLock", [&](Program&) {
    return belongings().locks.contains(text_of(name, "the lock's name")) ? 1 : 0;
  });
}
// NOLINTEND(readability-identifier-naming)

// The functions of edat.h.

#include <shoal/edat/edat.h>

#include "edat_api/program.hpp"
#include "env/host.hpp"

#include <shoal/base/check.hpp>
#include <shoal/sched/park.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::edat_api {

namespace {

/// What edat.h has no handle for. Written by the thread that calls edatInit and edatFinalise, while
/// no other is in a call.
struct Process {
  std::unique_ptr<Program> program;
  int rank = -1;  // kept for calls after edatFinalise, which the original answers too
  int size = -1;
};

Process& process() {
  // Never destroyed: tasks may still run when a program ends without edatFinalise.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see Process
  static auto* const process = new Process;
  return *process;
}

/// The interface has no errors to return. _Exit: other threads are at work, and the launcher of
/// an MPI ends the other processes.
[[noreturn]] void refuse(const char* call, const std::string& text) {
  std::fflush(nullptr);
  env::write_to_standard_error(fmt::format("edat: error: {}: {}\n", call, text));
  std::_Exit(EXIT_FAILURE);
}

Program& running(const char* call) {
  Program* const program = process().program.get();
  if (program == nullptr) {
    refuse(call, process().rank < 0 ? "call edatInit first" : "called after edatFinalise");
  }
  return *program;
}

/// What a task that waited was told is that the world has failed; this is why.
std::string reason_of_failure(const Program& program, const std::exception& error) {
  const auto failure = program.world().scope().failure();
  return failure.has_value() ? failure->what() : error.what();
}

/// Calls `body(program)`; no exception gets into code that may be C.
template <class Body>
auto guarded(const char* call, const Body& body) noexcept {
  Program& program = running(call);
  try {
    return body(program);
  } catch (const CancelledError& error) {
    refuse(call, reason_of_failure(program, error));
  } catch (const std::exception& error) {
    refuse(call, error.what());
  }
}

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw CheckError(fmt::format("{} is NULL", what));
  return *pointer;
}

std::string text_of(const char* text, const char* what) { return &given(text, what); }

// --- tasks

using TaskFunction = void (*)(EDAT_Event*, int);

/// `count` pairs of a source and an identifier.
std::vector<EventDependency> read_pairs(int count, va_list pairs) {
  if (count < 0) throw CheckError(fmt::format("the number of dependencies is {}", count));
  std::vector<EventDependency> dependencies;
  dependencies.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int source = va_arg(pairs, int);
    const char* const name = va_arg(pairs, const char*);
    dependencies.push_back({c_api::to_peer(source), text_of(name, "an event identifier")});
  }
  return dependencies;
}

void submit(const char* call, TaskFunction task, const EventTaskOptions& options, int count,
            va_list pairs) {
  guarded(call, [&](Program& program) {
    given(task, "the task's function");
    program.events().submit(
        read_pairs(count, pairs),
        [task](EventList& events) {
          Shown shown(events);
          task(shown.events(), shown.count());
        },
        options);
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
    if (what.count < 0) {
      throw CheckError(fmt::format("the number of elements of \"{}\" is {}", event, what.count));
    }
    const c_api::Outgoing outgoing(program.contexts(),
                                   {what.type, static_cast<std::size_t>(what.count), what.data});
    program.events().fire_raw(c_api::to_peer(target), event, outgoing.raw(), persistent);
  });
}

EDAT_Event* hand_over(const EventList& events) {
  if (events.empty()) return nullptr;
  auto& kept = belongings().shown;
  kept.push_back(std::make_unique<Shown>(events));
  return kept.back()->events();
}

/// Of tasks Events::wait() knows the locks; of a thread we do. An error ends the process.
EventList wait_without_locks(Events& events, const std::vector<EventDependency>& dependencies) {
  if (shoal::sched::current_task() != nullptr) return events.wait(dependencies);
  const auto& held = belongings().locks;
  for (const std::string& lock : held) events.unlock(lock);
  EventList got = events.wait(dependencies);
  for (const std::string& lock : held) events.lock(lock);  // in the order that all keep: by name
  return got;
}

void start(const char* call, std::vector<std::pair<std::string, std::string>> pairs) {
  Process& all = process();
  if (all.program != nullptr) refuse(call, "edatInit was called before");
  Configuration configuration;
  try {
    configuration = read_configuration(pairs, [](const std::string& variable) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours runs yet
      const char* const value = std::getenv(variable.c_str());
      return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    });
  } catch (const std::exception& error) {
    refuse(call, error.what());
  }
  for (const std::string& note : configuration.notes) {
    env::write_to_standard_error(fmt::format("edat: note: {}: {}\n", call, note));
  }
  try {
    all.program = std::make_unique<Program>(std::move(configuration));
    if (all.program->start()) {
      all.rank = all.program->world().rank().value();
      all.size = all.program->world().size();
      return;
    }
  } catch (const std::exception& error) {
    refuse(call, error.what());
  }
  std::fflush(nullptr);
  std::_Exit(all.program->finish());  // run() has said why
}

}  // namespace

}  // namespace shoal::edat_api

using namespace shoal::edat_api;

// NOLINTBEGIN(readability-identifier-naming): the names of EDAT

// --- start and end

void edatInit(void) { start("edatInit", {}); }

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
  start(kCall, std::move(pairs));
}

void edatFinalise(void) {
  Program& program = running("edatFinalise");
  if (shoal::sched::current_task() != nullptr) {
    refuse("edatFinalise", "call it in main(), not in a task");
  }
  const int exit_code = program.finish();
  process().program.reset();
  belongings().shown.clear();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the threads of the world have ended
  if (exit_code != 0) std::exit(exit_code);  // run() has said why
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
                 [&](Program& program) { return program.contexts().create(context_type); });
}

EDAT_Event* edatWait(int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  EDAT_Event* const events = guarded("edatWait", [&](Program& program) {
    return hand_over(wait_without_locks(program.events(), read_pairs(count, pairs)));
  });
  va_end(pairs);
  return events;
}

EDAT_Event* edatRetrieveAny(int* number_retrieved, int count, ...) {
  va_list pairs;
  va_start(pairs, count);
  EDAT_Event* const events = guarded("edatRetrieveAny", [&](Program& program) {
    int& number = given(number_retrieved, "the place for the number of events");
    const shoal::EventList got = program.events().retrieve_any(read_pairs(count, pairs));
    number = static_cast<int>(got.size());
    // A task may ask again and again: what it asks for comes when its worker looks for messages.
    if (got.empty() && shoal::sched::current_task() != nullptr) shoal::sched::yield();
    return hand_over(got);
  });
  va_end(pairs);
  return events;
}

// --- locks

void edatLock(char* name) {
  guarded("edatLock", [&](Program& program) {
    const std::string lock = text_of(name, "the lock's name");
    auto& held = belongings().locks;
    if (held.contains(lock)) return;  // once more is as good as once
    program.events().lock(lock);
    held.insert(lock);
  });
}

void edatUnlock(char* name) {
  guarded("edatUnlock", [&](Program& program) {
    const std::string lock = text_of(name, "the lock's name");
    program.events().unlock(lock);
    belongings().locks.erase(lock);
  });
}

int edatTestLock(char* name) {
  return guarded("edatTestLock", [&](Program&) {
    return belongings().locks.contains(text_of(name, "the lock's name")) ? 1 : 0;
  });
}
// NOLINTEND(readability-identifier-naming)

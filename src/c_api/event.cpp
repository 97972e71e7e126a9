// The C interface: each call is one of C++, with its exceptions turned into codes.

#include <shoal/c_api/event.h>
#include <shoal/detail/sched/park.hpp>
#include <shoal/error.hpp>
#include <shoal/event/events.hpp>
#include <shoal/run.hpp>

#include <fmt/format.h>

#include "base/per_thread.hpp"
#include "c_api/payload.hpp"
#include "runtime/end_report.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): the names of C
struct shoal_events {
  shoal_events(shoal::World& a_world, std::string name)
      : world(a_world), events(a_world, std::move(name)) {}
  shoal::World& world;
  shoal::Events events;
  shoal::c_api::Contexts contexts;
  shoal_world* owner = nullptr;
};
struct shoal_world {
  shoal::World& world;
  // Result of the last shoal_wait(), and whether it reported a failure.
  int last_wait = SHOAL_OK;
  bool failure_reported = false;
  std::vector<std::unique_ptr<shoal_events>> events{};  // the main function's
};
// NOLINTEND(readability-identifier-naming)

namespace shoal::c_api {

/// The caller's last error, or nullptr. With `is_new`, a place for its text is made if need be.
std::string* error_text(bool is_new);
/// Keeps the text of an error, and returns its code.
int fail(int code, const char* call, const char* text) noexcept;
/// Inside a catch block: the code of the exception.
int fail_with_current(const char* call) noexcept;

/// Calls `body`; returns the code of its exception.
template <class Body>
int guarded(const char* call, const Body& body) noexcept {
  try {
    body();
    return SHOAL_OK;
  } catch (...) {
    return fail_with_current(call);
  }
}

/// Calls `body`, which returns a number; an error that it throws is recorded and returned as a
/// negative number.
template <class Body>
int guarded_number(const char* call, const Body& body) noexcept {
  try {
    return static_cast<int>(body());
  } catch (...) {
    return -fail_with_current(call);
  }
}

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw CheckError(fmt::format("{} is NULL", what));
  return *pointer;
}

namespace {

/// Error text of a task, which may continue on another thread.
struct TaskErrorText final : sched::TaskLocal {
  std::string text;
};

/// Error text of a thread that runs no task: the caller provides no place for it.
struct ThreadErrorText {
  std::string text;
};

}  // namespace

std::string* error_text(bool is_new) {
  sched::Task* const task = sched::current_task();
  if (task == nullptr) return &of_this_thread<ThreadErrorText>().text;
  auto* found = task->find_local<TaskErrorText>();
  if (found == nullptr && is_new) {
    task->add_local(std::make_unique<TaskErrorText>());
    found = task->find_local<TaskErrorText>();
  }
  return found != nullptr ? &found->text : nullptr;
}

int fail(int code, const char* call, const char* text) noexcept {
  try {
    *error_text(true) = fmt::format("{}: {}", call, text);
  } catch (...) {  // no memory for the text: the code must do
  }
  return code;
}

int fail_with_current(const char* call) noexcept {
  try {
    throw;
  } catch (const TaskError& error) {
    return fail(SHOAL_ERROR_TASK, call, error.what());
  } catch (const StuckError& error) {
    return fail(SHOAL_ERROR_STUCK, call, error.what());
  } catch (const CancelledError& error) {
    return fail(SHOAL_ERROR_CANCELLED, call, error.what());
  } catch (const CheckError& error) {
    return fail(SHOAL_ERROR_USE, call, error.what());
  } catch (const std::exception& error) {
    return fail(SHOAL_ERROR_OTHER, call, error.what());
  } catch (...) {
    return fail(SHOAL_ERROR_OTHER, call, "an exception not derived from std::exception");
  }
}

namespace {

// --- from C

std::string text_of(const char* text, const char* what) { return &given(text, what); }

std::vector<EventDependency> dependencies_of(const shoal_dependency* dependencies,
                                             std::size_t count) {
  std::vector<EventDependency> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const shoal_dependency& one = (&given(dependencies, "the array of dependencies"))[i];
    result.push_back({to_peer(one.source), text_of(one.name, "the name of a dependency")});
  }
  return result;
}

std::string event_name(const char* name) { return text_of(name, "the name of the event"); }

/// `body` gives the number of an event to come.
template <class Body>
int watch(const char* call, unsigned long long* number, const Body& body) noexcept {
  return guarded(call, [&] {
    const auto given_number = body();
    if (number != nullptr) *number = given_number;
  });
}

/// Converts the arguments of C, calls `send(target, name, payload)`, and returns its result.
template <class Send>
auto with_payload(shoal_events& to, int target, const char* name, const shoal_payload* payload,
                  const Send& send) {
  const std::string event = event_name(name);
  const EventPeer peer = to_peer(target);
  const Outgoing outgoing(to.contexts,
                          payload != nullptr ? *payload : shoal_payload{SHOAL_NONE, 0, nullptr});
  if (outgoing.is_address() && peer != self && peer != EventPeer(to.world.rank())) {
    throw CheckError(
        fmt::format("\"{}\" cannot be fired to {} with an address: it means nothing on other ranks",
                    event, target));
  }
  return send(peer, event, outgoing.raw());
}

void fire(shoal_events& to, int target, const char* name, const shoal_payload* payload,
          bool persistent) {
  with_payload(to, target, name, payload, [&](EventPeer peer, const auto& event, const auto& raw) {
    to.events.fire_raw(peer, event, raw, persistent);
  });
}

// --- to C

std::vector<shoal_event> all_to_c(const EventList& events) {
  std::vector<shoal_event> result;
  result.reserve(events.size());
  for (const Event& event : events) result.push_back(to_c(event));
  return result;
}

struct OwnedList {
  EventList events;
  std::vector<shoal_event> shown;
};

void hand_over(EventList events, shoal_event_list& list) {
  auto owned = std::make_unique<OwnedList>();
  owned->events = std::move(events);
  owned->shown = all_to_c(owned->events);
  list = {owned->shown.size(), owned->shown.data(), nullptr};
  list.owner = owned.release();  // shoal_event_list_release() ends it
}

int run_main(World& world, int (*main_function)(shoal_world*, void*), void* user) {
  shoal_world handle{world};
  const int code = main_function(&handle, user);
  // Its Events end with `handle`, so all that they do must have ended.
  try {
    world.wait();
  } catch (const TaskError&) {
    if (!handle.failure_reported) throw;
  } catch (const StuckError&) {
    if (handle.last_wait != SHOAL_ERROR_STUCK) throw;
  }
  return code;
}

}  // namespace

}  // namespace shoal::c_api
using namespace shoal::c_api;
// --- the world
int shoal_run(int argc, char** argv, int (*main_function)(shoal_world*, void*), void* user) {
  if (main_function == nullptr) {
    shoal::runtime::say("error: shoal_run: the main function is NULL");
    return 1;
  }
  return shoal::run(argc, argv,
                    [&](shoal::World& world) { return run_main(world, main_function, user); });
}
int shoal_rank(const shoal_world* world) {
  return guarded_number("shoal_rank", [&] { return given(world, "world").world.rank().value(); });
}
int shoal_size(const shoal_world* world) {
  return guarded_number("shoal_size", [&] { return given(world, "world").world.size(); });
}
int shoal_argument_count(const shoal_world* world) {
  return guarded_number("shoal_argument_count",
                        [&] { return given(world, "world").world.args().size(); });
}
const char* shoal_argument(const shoal_world* world, int index) {
  const char* result = nullptr;
  static_cast<void>(guarded("shoal_argument", [&] {
    const auto args = given(world, "world").world.args();
    if (index >= 0 && static_cast<std::size_t>(index) < args.size()) {
      result = args[static_cast<std::size_t>(index)].c_str();
    }
  }));
  return result;
}
int shoal_wait(shoal_world* world) {
  const int code = guarded("shoal_wait", [&] { given(world, "world").world.wait(); });
  // These only the main function can get.
  if (code == SHOAL_OK || code == SHOAL_ERROR_TASK || code == SHOAL_ERROR_STUCK) {
    world->last_wait = code;
    world->failure_reported = code != SHOAL_OK && world->world.core().failed();
  }
  return code;
}
const char* shoal_last_error(void) {
  const std::string* const text = error_text(false);
  return text != nullptr ? text->c_str() : "";
}
// --- tasks and events
shoal_events* shoal_events_make(shoal_world* world, const char* name) {
  shoal_events* result = nullptr;
  static_cast<void>(guarded("shoal_events_make", [&] {
    shoal_world& in = given(world, "world");
    in.events.push_back(
        std::make_unique<shoal_events>(in.world, name != nullptr ? name : "events"));
    result = in.events.back().get();
    result->owner = &in;
  }));
  return result;
}
int shoal_events_free(shoal_events* events) {
  return guarded("shoal_events_free", [&] {
    auto& all_events = given(events, "events").owner->events;
    std::erase_if(all_events, [&](const auto& one) { return one.get() == events; });
  });
}
const char* shoal_events_name(const shoal_events* events) {
  return events != nullptr ? events->events.name().c_str() : nullptr;
}
int shoal_events_submit(shoal_events* events, const shoal_task* task,
                        const shoal_dependency* dependencies, size_t count) {
  return guarded("shoal_events_submit", [&] {
    shoal_events& to = given(events, "events");
    const shoal_task what = given(task, "task");
    given(what.function, "the function of the task");
    shoal::EventTaskOptions options;
    if (what.name != nullptr) options.name = what.name;
    options.persistent = what.persistent != 0;
    options.greedy = what.greedy != 0;
    options.priority = what.priority;
    to.events.submit(
        dependencies_of(dependencies, count),
        [function = what.function, user = what.user](shoal::EventList& list) {
          const std::vector<shoal_event> shown = all_to_c(list);
          const int code = function(shown.data(), shown.size(), user);
          if (code != 0) throw shoal::Error(fmt::format("its function returned {}", code));
        },
        options);
  });
}
int shoal_events_is_submitted(const shoal_events* events, const char* task_name) {
  return guarded_number("shoal_events_is_submitted", [&] {
    return given(events, "events").events.is_submitted(text_of(task_name, "the task's name"));
  });
}
int shoal_events_remove(shoal_events* events, const char* task_name) {
  return guarded_number("shoal_events_remove", [&] {
    return given(events, "events").events.remove(text_of(task_name, "the task's name"));
  });
}
int shoal_events_fire(shoal_events* events, int target, const char* name,
                      const shoal_payload* payload) {
  return guarded("shoal_events_fire",
                 [&] { fire(given(events, "events"), target, name, payload, false); });
}
int shoal_events_fire_persistent(shoal_events* events, int target, const char* name,
                                 const shoal_payload* payload) {
  return guarded("shoal_events_fire_persistent",
                 [&] { fire(given(events, "events"), target, name, payload, true); });
}
// NOLINTNEXTLINE(readability-function-size): C has no default for a payload and a number
int shoal_events_fire_after(shoal_events* events, unsigned long long delay_ns, int target,
                            const char* name, const shoal_payload* payload,
                            unsigned long long* number) {
  return watch("shoal_events_fire_after", number, [&] {
    shoal_events& to = given(events, "events");
    return with_payload(to, target, name, payload,
                        [&](shoal::EventPeer peer, const auto& event, const auto& raw) {
                          return to.events.fire_raw_after(delay_ns, peer, event, raw);
                        });
  });
}
int shoal_events_fire_when_readable(shoal_events* events, int descriptor, int target,
                                    const char* name, unsigned long long* number) {
  return watch("shoal_events_fire_when_readable", number, [&] {
    return given(events, "events")
        .events.fire_when_readable(descriptor, to_peer(target), event_name(name));
  });
}
int shoal_events_fire_on_signal(shoal_events* events, int signal, int target, const char* name,
                                unsigned long long* number) {
  return watch("shoal_events_fire_on_signal", number, [&] {
    return given(events, "events").events.fire_on_signal(signal, to_peer(target), event_name(name));
  });
}
int shoal_events_fire_when_memory_above(shoal_events* events, size_t size_bytes, int target,
                                        const char* name, unsigned long long* number) {
  return watch("shoal_events_fire_when_memory_above", number, [&] {
    return given(events, "events")
        .events.fire_when_memory_above(size_bytes, to_peer(target), event_name(name));
  });
}
int shoal_events_cancel(shoal_events* events, unsigned long long number) {
  return guarded_number("shoal_events_cancel",
                        [&] { return given(events, "events").events.cancel(number); });
}
int shoal_events_wait(shoal_events* events, const shoal_dependency* dependencies, size_t count,
                      shoal_event_list* list) {
  return guarded("shoal_events_wait", [&] {
    shoal_event_list& result = given(list, "list");
    result = {};
    hand_over(given(events, "events").events.wait(dependencies_of(dependencies, count)), result);
  });
}
int shoal_events_retrieve_any(shoal_events* events, const shoal_dependency* dependencies,
                              size_t count, shoal_event_list* list) {
  return guarded("shoal_events_retrieve_any", [&] {
    shoal_event_list& result = given(list, "list");
    result = {};
    shoal::EventList got =
        given(events, "events").events.retrieve_any(dependencies_of(dependencies, count));
    if (!got.empty()) hand_over(std::move(got), result);
  });
}
void shoal_event_list_release(shoal_event_list* list) {
  if (list == nullptr) return;
  const std::unique_ptr<OwnedList> owned(static_cast<OwnedList*>(list->owner));
  *list = {};
}
int shoal_event_check(const shoal_event* event, int type) {
  return guarded("shoal_event_check",
                 [&] { shoal::c_api::check_type(given(event, "the event"), type); });
}
int shoal_events_lock(shoal_events* events, const char* lock_name) {
  return guarded("shoal_events_lock", [&] {
    given(events, "events").events.lock(text_of(lock_name, "the lock's name"));
  });
}
int shoal_events_unlock(shoal_events* events, const char* lock_name) {
  return guarded("shoal_events_unlock", [&] {
    given(events, "events").events.unlock(text_of(lock_name, "the lock's name"));
  });
}
int shoal_events_test_lock(shoal_events* events, const char* lock_name) {
  return guarded_number("shoal_events_test_lock", [&] {
    return given(events, "events").events.try_lock(text_of(lock_name, "the lock's name"));
  });
}
int shoal_events_define_context(shoal_events* events, size_t size_bytes) {
  return guarded_number("shoal_events_define_context",
                        [&] { return given(events, "events").contexts.define(size_bytes); });
}
void* shoal_events_create_context(shoal_events* events, int type) {
  void* result = nullptr;
  static_cast<void>(guarded("shoal_events_create_context",
                            [&] { result = given(events, "events").contexts.create(type); }));
  return result;
}

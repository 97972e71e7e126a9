#include "binding.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/trace/probes.hpp>

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "plain.hpp"
#include "team/core_state.hpp"

namespace shoal::python {

namespace {

/// The Python objects of the worlds of runs in progress.
class Worlds {
 public:
  /// Returns a new reference. **Caller**: holds the GIL.
  Object find(World& world) {
    if (PyObject* const known = lookup(world, nullptr); known != nullptr) {
      return Object::share(known);
    }
    auto held = std::make_unique<PyWorld>();
    held->team = &world;
    held->run->scheduler = &world.core().scheduler();
    held->run->rank = int{world.rank()};
    Object made =
        Object::own(nb::cast(held.release(), nb::rv_policy::take_ownership).release().ptr());
    PyObject* const kept = lookup(world, made.get());  // another thread may have been first
    if (kept == made.get()) Py_INCREF(kept);
    return Object::share(kept);
  }
  /// Makes a world refuse calls. **Caller**: holds the GIL, after the run.
  void end(const std::vector<World*>& ended) {
    for (World* const world : ended) {
      PyObject* object = nullptr;
      {
        const std::lock_guard lock(mutex_);
        const auto place = worlds_.find(world);
        if (place == worlds_.end()) continue;
        object = place->second;
        worlds_.erase(place);
      }
      auto* const here = nb::inst_ptr<PyWorld>(nb::handle(object));
      here->team = nullptr;
      here->run->has_ended = true;
      here->kept = nullptr;
      here->context = {};  // it refers to the world
      Py_DECREF(object);
    }
  }

 private:
  /// Returns the object of a world; `made` becomes it if there is none.
  PyObject* lookup(const World& world, PyObject* made) {
    const std::lock_guard lock(mutex_);
    PyObject*& object = worlds_[&world];
    if (object == nullptr) object = made;
    return object;
  }

  std::mutex mutex_;  // held without a call of Python code, which might wait for the GIL
  std::map<const World*, PyObject*> worlds_;
};
Worlds& worlds() {
  static auto* const worlds = new Worlds;
  return *worlds;
}

thread_local int t_calls = 0;  // of this thread, in progress: a destructor of Python may call, too

}  // namespace

void await_end(World& world) {
  const bool is_told = team::CoreState::of(world.core()).failure_told;
  try {
    world.wait();
  } catch (const TaskError&) {
    if (!is_told) throw;
  }
}

void check_rank(const RunState& run, FunctionRef<std::string()> what) {
  if (!sched::on_worker() || run.has_ended) return;
  const sched::Scheduler& here = sched::current_scheduler("a call");
  if (&here == run.scheduler) return;
  throw CheckError(fmt::format(
      "{} belongs to rank {}, and was used on rank {}: use that of the rank where the function "
      "runs. Ranks of one process share the global variables of Python, where each overwrites "
      "what the others have made: keep it in a local variable of the main function, for functions "
      "that are defined there, or in a dict by world.rank",
      what(), run.rank, here.rank().value()));
}

ThreadCall::ThreadCall(const RunEnd& run, Threads last) {
  if (sched::on_worker() || run->threads == Threads::any || run->has_ended) return;
  if (run->threads > last) {
    throw CheckError(
        "the run ends, because its main function has returned: threads of the program, such as "
        "those of threading, use a world before. Join them in the main function");
  }
  sched::check_thread(run->world->scheduler(), "a call");
  hold_.emplace(*run->world);
  if (t_calls++ == 0) held_.emplace(*run->world, "a thread of the program");
  run_ = run;
  ++run_->calls;
}

ThreadCall::~ThreadCall() {
  if (run_ == nullptr) return;
  held_.reset();
  hold_.reset();
  --t_calls;
  --run_->calls;
  run_->calls.notify_all();
}

Hooks& hooks() {
  static Hooks hooks;
  return hooks;
}

Object pack(PyObject* a, PyObject* b, PyObject* c) {
  Object tuple = Object::own(c == nullptr ? PyTuple_Pack(2, a, b) : PyTuple_Pack(3, a, b, c));
  if (!tuple) throw_python_error();
  return tuple;
}

Payload dump(PyObject* object) {
  PlainWriter writer;
  if (writer.add(object)) return {Block(writer.take()), {}};
  const Object arguments = Object::own(PyTuple_Pack(1, object));
  return to_payload(call(hooks().dump, arguments.get()).get());
}

Object load(PyObject* hook, const Payload& payload) {
  const std::span<const char> bytes = payload.body.bytes();
  if (is_plain(bytes) && hook == hooks().load) return PlainReader(bytes).next();
  const auto [body, buffers] = to_python(payload);
  return call(hook, pack(body.get(), buffers.get()).get());
}

nb::object loaded(const Payload& payload) {
  return nb::steal(load(hooks().load, payload).release());
}

void record_place(const std::string& name, nb::handle function) {
  if (!trace::on(trace::Category::task)) return;
  const nb::object text = nb::cast(name);
  const nb::object place =
      nb::steal(call(hooks().place_of, pack(text.ptr(), function.ptr()).get()).release());
  if (place.is_none()) return;
  trace::describe_name(trace::Fact::place, name, nb::cast<std::string>(place));
}

void run_attempts(int retries, FunctionRef<void()> body) {
  if (retries == 0) return body();
  if (sched::in_handler() || sched::current_task() == nullptr) {
    throw CheckError(
        "a function with retries= was called outside of tasks, where it cannot be tried again: "
        "call it as a task, by send_task() in place of send() for instance");
  }
  std::exception_ptr last;  // not to be tried again; attempts end with a CheckError
  try {
    sched::run_attempts(retries, [&] {
      try {
        body();
      } catch (const PythonError& error) {
        const InPython in_python;
        if (may_succeed_later(error)) throw;
        last = std::current_exception();
        throw CheckError(error.what());
      }
    });
  } catch (const CheckError&) {
    if (last != nullptr) std::rethrow_exception(last);
    throw;
  }
}

std::string name_call(nb::handle function) {
  if constexpr (!kTasksStay) return "";
  const nb::object found = nb::getattr(function, "__qualname__", nb::none());
  if (!nb::isinstance<nb::str>(found)) return "a call";  // of a partial function, for instance
  auto name = nb::cast<std::string>(found);
  record_place(name, function);
  return name;
}

Outcome to_outcome(PyObject* pair) {
  Outcome outcome;
  outcome.is_error = PyObject_IsTrue(PyTuple_GetItem(pair, 0)) == 1;
  outcome.payload = to_payload(PyTuple_GetItem(pair, 1));
  return outcome;
}

Value take_outcome(const Outcome& outcome) {
  const InPython in_python;
  if (outcome.is_error) {
    throw_python_exception(load(hooks().load_error, outcome.payload));
  }
  return Value(load(hooks().load, outcome.payload));
}

Object object_of(World& world) { return worlds().find(world); }

void end_worlds(const std::vector<World*>& ended) { worlds().end(ended); }

}  // namespace shoal::python

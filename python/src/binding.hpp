#pragma once
// Parts that all bindings share: functions of the package, worlds and teams, values in messages.

#include <nanobind/nanobind.h>

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/team.hpp>
#include <shoal/world.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "interpreter.hpp"
#include "value.hpp"

namespace shoal::python {

namespace nb = nanobind;

/// Functions of the package that C++ calls, set once by its import. Never released: the
/// interpreter may end before threads do.
struct Hooks {
  PyObject* run_main = nullptr;          // (main, world) -> exit code
  PyObject* check_call = nullptr;        // (world, rank, function, ...: see to_rank()) -> rank
  PyObject* dump_call = nullptr;         // (function, arguments, keywords, text) -> (body, buffers)
  PyObject* is_found_by_name = nullptr;  // (function) -> whether its names lead to it
  PyObject* find_function = nullptr;     // (module, name) -> function
  PyObject* make_context = nullptr;      // (world) -> context in which it is the current one
  PyObject* invoke_any = nullptr;        // (function, arguments, keywords) -> result
  PyObject* serve = nullptr;             // (world, body, buffers) -> (is_error, (body, buffers))
  PyObject* refuse = nullptr;            // (world, exception) -> the same
  PyObject* finish_call = nullptr;       // (world, context, result, function) -> the same
  PyObject* complete = nullptr;          // (context, result, function) -> result
  PyObject* deliver = nullptr;           // (world, body, buffers)
  PyObject* load = nullptr;              // (body, buffers) -> object
  PyObject* load_error = nullptr;        // (body, buffers) -> exception
  PyObject* call_with_key = nullptr;     // (function, bytes of the key) -> object
  PyObject* invoke = nullptr;       // (world, object, body, buffers) -> (is_error, (body, buffers))
  PyObject* dump = nullptr;         // (object) -> (body, buffers)
  PyObject* is_constant = nullptr;  // (buffer) -> whether its bytes never change
  // (function, bytes of the key, list of (name, body, buffers)) -> object
  PyObject* call_with_inputs = nullptr;
  PyObject* adopt = nullptr;        // (old value or None, new value) -> value
  PyObject* place_of = nullptr;     // (name of tasks, function) -> its place in the source, or None
  PyObject* frame_place = nullptr;  // (frame) -> where the program is in it, or None
  PyObject* modules = nullptr;      // sys.modules
  PyObject* function_type = nullptr;  // types.FunctionType
};
Hooks& hooks();

/// Returns a tuple. **Caller**, where nothing else is said: holds the GIL. **Errors**: PythonError.
[[nodiscard]] Object pack(PyObject* a, PyObject* b, PyObject* c = nullptr);
/// Returns the bytes of an object.
[[nodiscard]] Payload dump(PyObject* object);
/// Returns what `hook`, one of load and load_error, makes of bytes.
[[nodiscard]] Object load(PyObject* hook, const Payload& payload);
/// Returns the object of bytes for Python.
[[nodiscard]] nb::object loaded(const Payload& payload);

/// Records where the function of the tasks of a name is, in a run with a trace. **Caller**: holds
/// the GIL.
void record_place(const std::string& name, nb::handle function);

/// Waits for all work of the world when the main function of the program has returned. **Caller**:
/// the main function, without the GIL. **Errors**: those of World::wait(), but no TaskError that
/// the main function has had from a wait before: it has caught it.
void await_end(World& world);

/// Objects of a rank that must end before its main function does: graphs and teams. Python may keep
/// its own objects of them longer.
class RankObjects {
 public:
  explicit RankObjects(World& world) : world_(world) {}
  ~RankObjects() { end(); }
  RankObjects(const RankObjects&) = delete;
  RankObjects& operator=(const RankObjects&) = delete;

  /// **Caller**: holds the GIL, which guards the list.
  void add(std::shared_ptr<void> object) { objects_.push_back(std::move(object)); }
  /// Waits for work that may use the objects, and ends them in reverse order, on all ranks.
  /// **Caller**: the main function, without the GIL. **Errors**: those of await_end(), and of
  /// fail().
  void wait() {
    if (!objects_.empty()) await_end(world_);
    end();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  /// Keeps the error of an object that has ended, unless there is one.
  void fail(std::exception_ptr error) {
    if (error_ == nullptr) error_ = std::move(error);
  }

 private:
  // Destructors may wait.
  void end() {
    while (!objects_.empty()) objects_.pop_back();
  }

  World& world_;
  std::vector<std::shared_ptr<void>> objects_;
  std::exception_ptr error_;
};

/// What threads of the program, those of `threading`, may do in a world.
enum class Threads : std::uint8_t {
  any,      // all, until the stop of a Runtime
  open,     // all: the main function of shoal.run() runs
  closing,  // cancel the work for whose end the main function waits, and fulfil its promises
  closed,   // nothing: it has returned
};

/// What objects know of their run, which may have ended.
struct RunState {
  std::atomic<bool> has_ended{false};
  std::atomic<int> calls{0};          // of threads of the program, in progress
  std::atomic<Py_hash_t> futures{0};  // made so far
  Threads threads = Threads::any;     // guarded by the GIL, as the next one
  TeamCore* world = nullptr;          // unless threads is any
  // Of the rank.
  const sched::Scheduler* scheduler = nullptr;
  int rank = -1;

  /// Waits until threads have left their calls. **Caller**: without the GIL, in the main function,
  /// which has closed the world to them and fails: their waits end.
  void await_threads() const {
    for (int count = calls; count != 0; count = calls) calls.wait(count);
  }
};
using RunEnd = std::shared_ptr<RunState>;

/// Refuses a call of a task, a handler or a main function of another rank of this process: ranks
/// share the global variables of Python. `what`: a function that returns the name of the object.
/// **Errors**: CheckError.
void check_rank(const RunState& run, FunctionRef<std::string()> what);

/// Call of a thread of the program into the world of a shoal.run(): while it exists, the run goes
/// on, and a wait without end is found as that of a task. On workers it is nothing. **Caller**:
/// holds the GIL, also at the end. **Errors**: CheckError if the world takes no such call any more.
class ThreadCall {
 public:
  explicit ThreadCall(const RunEnd& run, Threads last = Threads::open);
  ~ThreadCall();
  ThreadCall(const ThreadCall&) = delete;
  ThreadCall& operator=(const ThreadCall&) = delete;

 private:
  RunEnd run_;
  std::optional<Hold> hold_;
  std::optional<sched::HeldThread> held_;
};

/// An object of shoal in a call of Python: it stays until the end of the call.
template <class T>
class Entered {
 public:
  Entered(const RunEnd& run, T& object, Threads last = Threads::open)
      : call_(run, last), object_(&object) {}
  /// An object that ends with the main function of its rank. `what`: a function that returns its
  /// name.
  template <class What>
  Entered(const RunEnd& run, const std::weak_ptr<T>& object, What what)
      : call_(run), kept_(object.lock()), object_(kept_.get()) {
    check_rank(*run, what);
    if (object_ == nullptr) {
      throw CheckError(what() +
                       " has ended with the main function of its rank: use it before that");
    }
  }
  [[nodiscard]] T& operator*() const { return *object_; }
  [[nodiscard]] T* operator->() const { return object_; }

 private:
  ThreadCall call_;
  std::shared_ptr<T> kept_;
  T* object_;
};

/// A team as Python sees it. It outlives the run: calls are refused then.
struct PyTeam {
  Team* team = nullptr;
  std::optional<std::weak_ptr<Team>> owner{};  // of a team that is not the world
  RankObjects* kept = nullptr;                 // nullptr: the main function has ended
  RunEnd run = std::make_shared<RunState>();

  /// For a call of its rank.
  [[nodiscard]] Entered<Team> get() const {
    check_rank(*run, [this] { return std::string(owner ? "a team" : "a world"); });
    return of_any_rank();
  }
  [[nodiscard]] Entered<Team> of_any_rank(Threads last = Threads::open) const {
    if (team != nullptr && !(owner && owner->expired())) return {run, *team, last};
    throw CheckError(
        "the run of this world has ended: use a world only inside the main function and the tasks "
        "of its shoal.run(), and a team before its end");
  }
};

/// Returns the objects of the rank, for one that is made: `what`, in errors. **Errors**: CheckError
/// where no main function runs, such as in a task that outlasts it.
[[nodiscard]] inline RankObjects& rank_objects_of(const PyTeam& team, const std::string& what) {
  if (team.kept != nullptr) return *team.kept;
  throw CheckError(what +
                   " cannot be made here: make it in the main function, before that has returned, "
                   "on all ranks in the same order");
}

struct PyWorld : PyTeam {
  Object context;  // of calls of other ranks, which run in copies of it; made by the first one

  /// **Caller**: keeps the GIL while it uses the world.
  [[nodiscard]] World& world(Threads last = Threads::open) const {
    return static_cast<World&>(*of_any_rank(last));
  }
};

/// Result of a call on its way back.
struct Outcome {
  bool is_error = false;
  Payload payload;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(is_error, payload);
  }
};
/// Returns the outcome that a hook has returned, a pair (is_error, (body, buffers)).
[[nodiscard]] Outcome to_outcome(PyObject* pair);
/// Takes the value, or throws the exception. **Caller**: without the GIL.
[[nodiscard]] Value take_outcome(const Outcome& outcome);

/// Whether tasks of Python must stay on one thread: the interpreter keeps the address of its
/// thread-local variable across a wait (docs/design/python.md).
inline constexpr bool kTasksStay = PY_VERSION_HEX >= 0x030C0000;

/// Options that keep a task of Python on one worker, where the interpreter needs that.
inline void keep_on_worker(TaskOptions& options, const Team& team) {
  if constexpr (kTasksStay) {
    static std::atomic<unsigned> next{0};
    const auto count = static_cast<unsigned>(team.worker_count());
    options.worker = WorkerId(static_cast<int>(next++ % count));
    options.bound = true;
  }
}
/// Runs `f`, which calls Python code that may wait, in a task that shoal has made: where it must
/// stay on its thread, in another one, whose `name` is for reports.
template <class F>
auto run_python(Team& team, F f, std::string_view name) {
  if constexpr (kTasksStay) {
    TaskOptions options;
    options.name = name;
    options.place = {};  // no line of C++
    keep_on_worker(options, team);
    return team.async(std::move(f), options).get();
  } else {
    return f();
  }
}
/// Runs `body`, which calls Python, again after it has thrown, as sched::run_attempts(): but not
/// after an exception of Python that is a CheckError or no Exception. **Caller**: a task, without
/// the GIL. **Errors**: RetryError; CheckError in a handler.
void run_attempts(int retries, FunctionRef<void()> body);
/// Returns the name that run_python() gives the task of a call of `function` on another rank; ""
/// where it makes none. Records the place of the function. **Caller**: holds the GIL.
[[nodiscard]] std::string name_call(nb::handle function);

/// Returns the Python object of a world.
[[nodiscard]] Object object_of(World& world);
/// Makes the objects of worlds refuse calls. **Caller**: after their run.
void end_worlds(const std::vector<World*>& ended);

void bind_arrays(nb::module_& module);
void bind_calls(nb::class_<PyTeam>& team);
void bind_collectives(nb::class_<PyTeam>& team);
void bind_events(nb::module_& module);
void bind_extension(nb::module_& module);
void bind_flows(nb::module_& module);
void bind_graphs(nb::module_& module);
void bind_objects(nb::module_& module);
/// Lets reports name the places where tasks of Python are.
void bind_places();

}  // namespace shoal::python

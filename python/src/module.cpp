// The extension module shoal._core: ranks, tasks, futures and messages for the package shoal.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/deadline.hpp>
#include <shoal/runtime.hpp>
#include <shoal/shoal.hpp>
#include <shoal/version.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "errors.hpp"
#include "future.hpp"
#include "interpreter.hpp"
#include "net/mpi_transport.hpp"
#include "plain.hpp"
#include "runtime/config.hpp"
#include "runtime/config_options.hpp"
#include "runtime/end_report.hpp"
#include "runtime/launcher.hpp"
#include "thread_state.h"
#include "value.hpp"

namespace shoal::python {

namespace {

// --- tasks

/// Body of a task: a call of a Python object.
struct Body {
  Object function;
  Object arguments;
  Object keywords;

  Value operator()() {
    const InPython in_python;
    Value value(call(function.get(), arguments.get(), keywords.get()));
    function = {};
    arguments = {};
    keywords = {};
    return value;
  }
};

TaskOptions task_options(const Team& team, const std::string& name, int priority) {
  TaskOptions options;
  options.name = name;
  options.priority = priority;
  options.place = {};  // see record_place()
  keep_on_worker(options, team);
  return options;
}

Body make_body(nb::handle function, const nb::tuple& arguments, nb::handle keywords) {
  return {Object::share(function.ptr()), Object::share(arguments.ptr()),
          keywords.is_none() ? Object() : Object::share(keywords.ptr())};
}

/// Makes a task that calls `function`. `place`: the function of the program in it, for traces.
PyFuture submit(PyTeam& team, nb::handle function, const nb::tuple& arguments, nb::handle keywords,
                const std::string& name, int priority, nb::handle place) {
  record_place(name, place);
  const auto here = team.get();
  return PyFuture(
      here->async(make_body(function, arguments, keywords), task_options(*here, name, priority))
          .share(),
      team.run);
}

void spawn(PyTeam& team, nb::handle function, const nb::tuple& arguments, nb::handle keywords,
           const std::string& name, int priority, nb::handle place) {
  record_place(name, place);
  const auto here = team.get();
  here->spawn(
      [body = make_body(function, arguments, keywords)]() mutable { static_cast<void>(body()); },
      task_options(*here, name, priority));
}

/// Returns what `function` returns, which runs in attempts.
nb::object call_in_attempts(int retries, nb::handle function) {
  const Object arguments = Object::own(PyTuple_New(0));
  Object result;
  {
    const OutsidePython outside;
    run_attempts(retries, [&] {
      const InPython in_python;
      result = call(function.ptr(), arguments.get());
    });
  }
  return nb::steal(result.release());
}

// --- locks

void check_run(const RunEnd& run, const std::string& object) {
  check_rank(*run, [&] { return object; });
  if (!run->has_ended) return;
  throw CheckError("the run of " + object + " has ended: use it before, and make one in each run");
}

/// Lock of tasks of one rank.
class PyMutex {
 public:
  PyMutex(PyTeam& team, const std::string& name)
      : mutex_(std::make_unique<Mutex>(*team.get(), name)), run_(team.run) {}

  void lock() {
    check();
    const ThreadCall call(run_);
    const OutsidePython outside;
    mutex_->lock();
  }
  bool try_lock() {
    check();
    const ThreadCall call(run_);
    const OutsidePython outside;
    return mutex_->try_lock();
  }
  void unlock() {
    check();
    const ThreadCall call(run_);
    mutex_->unlock();
  }

 private:
  void check() const { check_run(run_, "mutex '" + mutex_->name() + "'"); }

  std::unique_ptr<Mutex> mutex_;
  RunEnd run_;
};

/// Cancels a team after a time, unless it ends before.
class PyDeadline {
 public:
  PyDeadline(PyTeam& team, double seconds, const std::string& reason)
      : deadline_(std::make_unique<Deadline>(*team.get(), PyFuture::to_duration(seconds), reason)) {
  }
  ~PyDeadline() { end(); }
  PyDeadline(const PyDeadline&) = delete;
  PyDeadline& operator=(const PyDeadline&) = delete;

  void end() {
    if (deadline_ == nullptr) return;
    const OutsidePython outside;
    deadline_.reset();
  }

 private:
  std::unique_ptr<Deadline> deadline_;
};

/// Keeps a team from being taken for one in which nothing runs any more.
class PyHold {
 public:
  explicit PyHold(PyTeam& team) : hold_(team.get()->core()) {}
  void end() {
    const OutsidePython outside;
    hold_.reset();
  }

 private:
  std::optional<Hold> hold_;
};

/// Permits for tasks of one rank.
class PySemaphore {
 public:
  PySemaphore(PyTeam& team, std::int64_t permits, const std::string& name)
      : semaphore_(std::make_unique<Semaphore>(*team.get(), permits, name)),
        name_(name),
        run_(team.run) {}

  /// Returns whether it has a permit; false: after `timeout` seconds.
  bool acquire(std::optional<double> timeout) {
    check();
    const ThreadCall call(run_);
    const OutsidePython outside;
    if (timeout) return semaphore_->try_acquire_for(PyFuture::to_duration(*timeout));
    semaphore_->acquire();
    return true;
  }
  void release(std::int64_t count) {
    check();
    const ThreadCall call(run_);
    const OutsidePython outside;
    semaphore_->release(count);
  }

 private:
  void check() const { check_run(run_, "semaphore '" + name_ + "'"); }

  std::unique_ptr<Semaphore> semaphore_;
  std::string name_;
  RunEnd run_;
};

/// The sending end of a future.
class PyPromise {
 public:
  PyPromise(PyTeam& team, const std::string& name)
      : promise_(*team.get(), name), name_(name), run_(team.run) {}
  ~PyPromise() {
    const OutsidePython outside;  // it may wake waiters with a BrokenPromise
    const Promise<Value> ended = std::move(promise_);
  }
  PyPromise(const PyPromise&) = delete;
  PyPromise& operator=(const PyPromise&) = delete;

  PyFuture future() { return {promise_.future().share(), run_}; }
  void check_here() const {
    check_rank(*run_, [this] { return "promise '" + name_ + "'"; });
  }
  void set_result(nb::handle value) {
    check_run(run_, "promise '" + name_ + "'");
    const ThreadCall call(run_, Threads::closing);  // a task that waits for it keeps the run
    Value held(Object::share(value.ptr()));
    const OutsidePython outside;
    promise_.set_value(std::move(held));
  }
  void set_exception(nb::handle exception) {
    check_run(run_, "promise '" + name_ + "'");
    const ThreadCall call(run_, Threads::closing);  // a task that waits for it keeps the run
    std::exception_ptr error;
    try {
      throw_python_exception(Object::share(exception.ptr()));
    } catch (...) {
      error = std::current_exception();
    }
    const OutsidePython outside;
    promise_.set_exception(std::move(error));
  }

 private:
  Promise<Value> promise_;
  std::string name_;
  RunEnd run_;
};

// --- teams

/// Teams of those that give one colour. Collective.
nb::object split(PyTeam& team, int colour, int key, const std::string& name) {
  const auto here = team.get();
  RankObjects& kept = rank_objects_of(team, "a team");
  std::shared_ptr<Team> made;
  {
    const OutsidePython outside;
    made.reset(new Team(here->split(colour, key, name)));
  }
  kept.add(made);
  auto object = std::make_unique<PyTeam>();
  object->team = made.get();
  object->owner = made;
  object->kept = &kept;
  object->run = team.run;
  return nb::steal(nb::cast(object.release(), nb::rv_policy::take_ownership).release());
}

// --- the run

/// Runs the main function of Python on a rank; returns its exit code.
int run_main(World& world, PyObject* function, RankObjects& kept, Threads threads, RunEnd& run) {
  const InPython in_python;
  record_place("the main function", function);
  const Object here = object_of(world);
  auto& python_world = *nb::inst_ptr<PyWorld>(nb::handle(here.get()));
  python_world.kept = &kept;
  run = python_world.run;
  run->world = &world.core();
  run->threads = threads;
  struct Forget {
    PyWorld& world;
    ~Forget() {
      world.kept = nullptr;
      if (world.run->threads != Threads::any) world.run->threads = Threads::closed;
    }
  } const forget{python_world};
  const Object result = call(hooks().run_main, pack(function, here.get()).get());
  return static_cast<int>(PyLong_AsLong(result.get()));
}

/// Runs that are in progress; the last one to end deletes the thread states.
class RunCount {
 public:
  RunCount() { ++count(); }
  [[nodiscard]] static int now() { return count(); }
  // With the GIL.
  ~RunCount() {
    if (--count() == 0) release_thread_states();
  }
  RunCount(const RunCount&) = delete;
  RunCount& operator=(const RunCount&) = delete;

 private:
  static std::atomic<int>& count() {
    static constinit std::atomic<int> count{0};
    return count;
  }
};

/// Refuses a fork while a run is in progress: the child would have its ranks without their threads.
int refuse_fork(const char* event, PyObject* /*arguments*/, void* /*data*/) {
  const std::string_view name = event;
  if ((name != "os.fork" && name != "os.forkpty") || RunCount::now() == 0) return 0;
  set_python_error(std::make_exception_ptr(CheckError(
      "os.fork() while a run of shoal is in progress: the child would have no workers, and its "
      "ranks would wait for ever. Start processes before shoal.run(), or by subprocess or by "
      "multiprocessing with the method 'spawn'")));
  return -1;
}

/// Adds a hook for the events of the interpreter's audit. Not one in Python: it would be called for
/// each marshal.loads() and many more. The function is not in the stable ABI.
void add_audit_hook(int (*hook)(const char* event, PyObject* arguments, void* data)) {
  using Add = int (*)(decltype(hook), void*);
  const auto add = reinterpret_cast<Add>(dlsym(RTLD_DEFAULT, "PySys_AddAuditHook"));
  if (add == nullptr) throw nb::import_error("shoal: this Python has no PySys_AddAuditHook()");
  if (add(hook, nullptr) != 0) throw nb::python_error();
}

/// Main function of a rank: runs that of Python, and ends what it has made.
int run_rank(World& world, PyObject* function, Threads threads) {
  RankObjects kept(world);
  // A failure does not wait for threads of the program. Their calls end before the objects do.
  struct Calls {
    RunEnd run;
    ~Calls() {
      if (run != nullptr && std::uncaught_exceptions() > 0) run->await_threads();
    }
  } calls;
  int result = 1;
  // An exception that leaves a main function waits for all ranks before its stack unwinds: none may
  // leave while the GIL is held.
  std::exception_ptr error;
  try {
    result = run_main(world, function, kept, threads, calls.run);
  } catch (...) {
    error = std::current_exception();
  }
  if (error != nullptr) std::rethrow_exception(std::move(error));
  kept.wait();
  return result;
}

/// Words of a command line, which may be no UTF-8.
std::vector<std::string> to_words(const nb::list& words) {
  std::vector<std::string> made;
  for (const nb::handle word : words) {
    const Object bytes = Object::own(PyUnicode_EncodeFSDefault(word.ptr()));
    if (!bytes) throw_python_error();
    made.emplace_back(PyBytes_AsString(bytes.get()),
                      static_cast<std::size_t>(PyBytes_Size(bytes.get())));
  }
  return made;
}

/// `words` for a main function of C++, while they last.
std::vector<const char*> to_argv(const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return argv;
}

/// The settings of a run. **Errors**: ConfigError, which run() would write to standard error only.
runtime::Config parse(const std::vector<const char*>& argv) {
  return runtime::parse_config(static_cast<int>(argv.size()), argv.data(),
                               runtime::process_environment());
}

/// `communicator`: number in Fortran of the one that the run is on; none: that of the launch.
int run(nb::handle main_function, const nb::list& given_words, std::optional<int> communicator) {
  const Object function = Object::share(main_function.ptr());
  const std::vector<std::string> words = to_words(given_words);
  const std::vector<const char*> argv = to_argv(words);
  static_cast<void>(parse(argv));
  const std::shared_ptr<const void> given =
      communicator ? net::communicator_of_fortran(*communicator) : nullptr;
  const RunCount counted;
  std::mutex mutex;
  std::vector<World*> ended;
  int code = 1;
  {
    const OutsidePython outside;
    const runtime::MainFunction main_of_rank = [&](World& world) {
      {
        const std::lock_guard lock(mutex);
        ended.push_back(&world);
      }
      return run_rank(world, function.get(), Threads::open);
    };
    code = runtime::run_world(static_cast<int>(argv.size()), argv.data(), main_of_rank,
                              {given.get(), ""});
  }
  end_worlds(ended);
  return code;
}

/// Ranks and workers for a program with a main loop of its own.
class PyRuntime {
 public:
  PyRuntime(int ranks, int workers, const std::string& name, const nb::list& options) {
    const RuntimeOptions given{
        .ranks = ranks, .workers = workers, .name = name, .options = to_words(options)};
    const OutsidePython outside;
    runtime_ = std::make_shared<Runtime>(given);
    worlds_.resize(static_cast<std::size_t>(runtime_->size()));
    runtime_->run(
        [this](World& world) { worlds_[static_cast<std::size_t>(int{world.rank()})] = &world; });
  }
  ~PyRuntime() { end(); }
  PyRuntime(const PyRuntime&) = delete;
  PyRuntime& operator=(const PyRuntime&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(worlds_.size()); }
  [[nodiscard]] bool is_running() const { return runtime_ && runtime_->is_running(); }
  /// Whether it cannot end here: its end waits for tasks, and the caller may be one of them.
  [[nodiscard]] bool awaits_caller() const { return runtime_ && sched::on_worker(); }
  [[nodiscard]] nb::object world(int rank) {
    static_cast<void>(running());
    return nb::steal(object_of(*worlds_.at(static_cast<std::size_t>(rank))).release());
  }
  PyFuture submit(int rank, nb::handle function, const nb::tuple& arguments,
                  const std::string& name, int priority, nb::handle place) {
    record_place(name, place);
    const auto runtime = running();
    const TaskOptions options =
        task_options(*worlds_.at(static_cast<std::size_t>(rank)), name, priority);
    const Object here = object_of(*worlds_.at(static_cast<std::size_t>(rank)));
    return {runtime->async(Rank(rank), make_body(function, arguments, nb::none()), options).share(),
            nb::inst_ptr<PyWorld>(nb::handle(here.get()))->run};
  }
  void run(nb::handle main_function) {
    const auto runtime = running();
    const Object function = Object::share(main_function.ptr());
    const OutsidePython outside;
    runtime->run(
        [&](World& world) { static_cast<void>(run_rank(world, function.get(), Threads::any)); });
  }
  void stop() {
    const auto runtime = runtime_;
    if (!runtime) return;
    if (sched::on_worker()) runtime->stop();  // refused
    try {
      const OutsidePython outside;
      runtime->stop();
    } catch (...) {
      end();
      throw;
    }
    end();
  }

 private:
  /// The runtime, which stays until the end of a call: another thread may end this meanwhile.
  [[nodiscard]] std::shared_ptr<Runtime> running() const {
    if (runtime_) return runtime_;
    throw CheckError("the runtime was stopped: make a new one to go on");
  }
  void end() {
    auto runtime = std::exchange(runtime_, nullptr);
    if (!runtime) return;
    {
      const OutsidePython outside;
      runtime.reset();
    }
    end_worlds(worlds_);
    counted_.reset();
  }

  std::optional<RunCount> counted_{std::in_place};
  std::shared_ptr<Runtime> runtime_;  // with the GIL
  std::vector<World*> worlds_;
};

bool on_worker() { return sched::on_worker(); }

void set_hooks(const nb::dict& functions) {
  const auto take = [&](PyObject*& hook, const char* name) {
    hook = nb::object(functions[name]).release().ptr();
  };
  take(hooks().run_main, "run_main");
  take(hooks().check_call, "check_call");
  take(hooks().dump_call, "dump_call");
  take(hooks().is_found_by_name, "is_found_by_name");
  take(hooks().find_function, "find_function");
  take(hooks().make_context, "make_context");
  take(hooks().invoke_any, "invoke_any");
  take(hooks().refuse, "refuse");
  take(hooks().finish_call, "finish_call");
  take(hooks().complete, "complete");
  take(hooks().modules, "modules");
  take(hooks().function_type, "function_type");
  take(hooks().serve, "serve");
  take(hooks().deliver, "deliver");
  take(hooks().load, "load");
  take(hooks().load_error, "load_error");
  take(hooks().call_with_key, "call_with_key");
  take(hooks().invoke, "invoke");
  take(hooks().dump, "dump");
  take(hooks().is_constant, "is_constant");
  take(hooks().call_with_inputs, "call_with_inputs");
  take(hooks().adopt, "adopt");
  take(hooks().place_of, "place_of");
  take(hooks().frame_place, "frame_place");
}

int traverse_future(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto& future = *nb::inst_ptr<PyFuture>(self);
  Py_VISIT(future.value());
  Py_VISIT(future.error());
  return 0;
}

int clear_future(PyObject* self) {
  nb::inst_ptr<PyFuture>(self)->clear();
  return 0;
}

const char* launch_name(Launch launch) {
  switch (launch) {
    case Launch::embedded:
      return "embedded";
    case Launch::mpi:
      return "mpi";
    case Launch::simulated:
      return "simulated";
  }
  return "";
}

template <class F>
auto outside(F f) {
  return [f](PyTeam& team) {
    const auto here = team.get();
    const OutsidePython outside;
    f(*here);
  };
}

void bind_teams(nb::module_& module) {
  auto team =
      nb::class_<PyTeam>(module, "Team",
                         "Some ranks of the world, as one of them sees them; made by split(). "
                         "Raises CheckError once\n"
                         "the team has ended with the main function of its rank.")
          .def_prop_ro(
              "rank", [](PyTeam& t) { return int{t.get()->rank()}; },
              "Rank of the caller in the team, from 0; -1 if it is no member.")
          .def_prop_ro("_rank", [](PyTeam& t) { return int{t.of_any_rank()->rank()}; })
          .def_prop_ro(
              "size", [](PyTeam& t) { return t.of_any_rank()->size(); }, "Number of ranks.")
          .def_prop_ro(
              "is_member", [](PyTeam& t) { return t.get()->is_member(); },
              "Whether the calling rank belongs to the team.")
          .def_prop_ro(
              "worker_count", [](PyTeam& t) { return t.get()->worker_count(); },
              "Number of workers of this rank.")
          .def_prop_ro(
              "is_cancelled", [](PyTeam& t) { return t.get()->is_cancelled(); },
              "Whether the work of the team is dropped, because it has failed or was cancelled: "
              "long\n"
              "tasks look here.")
          .def(
              "now",
              [](PyTeam& t) { return static_cast<double>(t.of_any_rank()->now_ns()) * 1e-9; },
              "Time in seconds, which never goes back; virtual in a simulation.")
          .def("_cancel",
               [](PyTeam& t, const std::string& reason) {
                 const auto team = t.of_any_rank(Threads::closing);
                 const OutsidePython outside;
                 team->cancel(reason);
               })
          .def("wait", outside([](Team& t) { t.wait(); }),
               "Waits until all tasks and messages of the team have ended on all ranks, which all "
               "call\n"
               "it in their main functions. Parks the caller. Raises the same on all ranks: "
               "TaskError\n"
               "if a task, a handler or a main function has failed, or the team was cancelled;\n"
               "StuckError if nothing runs any more and something still waits.")
          .def("barrier", outside([](Team& t) { t.barrier(); }),
               "Waits until all ranks of the team have called it, in their main functions or in a "
               "task\n"
               "of each. Parks the caller. Raises CancelledError when the team fails.")
          .def("flush", outside([](Team& t) { t.flush(); }),
               "Hands the messages sent so far to the transport: needed only before the main "
               "function\n"
               "blocks outside shoal while others wait for them. Does not wait for their arrival.")
          .def("_split", &split)
          .def("_submit", &submit, nb::arg("function"), nb::arg("arguments"),
               nb::arg("keywords").none(), nb::arg("name"), nb::arg("priority"), nb::arg("place"))
          .def("_spawn", &spawn, nb::arg("function"), nb::arg("arguments"),
               nb::arg("keywords").none(), nb::arg("name"), nb::arg("priority"), nb::arg("place"));
  bind_calls(team);
  bind_collectives(team);
  nb::class_<PyWorld, PyTeam>(
      module, "World",
      "All ranks of a run, as one of them sees them; the parameter of a main function. Raises\n"
      "CheckError once the run has ended.")
      .def_prop_ro("_tasks_run",
                   [](PyWorld& w) { return w.world(Threads::closing).statistics().tasks_run; })
      .def("_await_end",
           [](PyWorld& w) {
             World& world = w.world();
             const OutsidePython outside;
             await_end(world);
           })
      .def("_close_to_threads",
           [](PyWorld& w) {
             if (w.run->threads == Threads::open) w.run->threads = Threads::closing;
           })
      .def_prop_ro(
          "launch", [](PyWorld& w) { return launch_name(w.world().launch()); },
          "How the ranks were started: 'embedded', 'mpi' or 'simulated'.")
      .def_prop_ro(
          "args",
          [](PyWorld& w) {
            nb::list words;
            for (const std::string& word : w.world().args()) {
              words.append(nb::steal(PyUnicode_DecodeFSDefaultAndSize(
                  word.data(), static_cast<Py_ssize_t>(word.size()))));
            }
            return words;
          },
          "Words of the command line that are no options of shoal; the first is the program.");
}

}  // namespace

void bind(nb::module_& module) {
  module.doc() = "The library behind the package shoal.";
  if (shoal_takes_stacks() == 0)
    throw nb::import_error(
        "shoal: this Python 3.14 cannot be told the stacks of tasks: take a later 3.14");
  use_this_interpreter();
  nb::set_leak_warnings(false);  // the hooks stay, and with them what they refer to
  nb::register_exception_translator(
      [](const std::exception_ptr& error, void* /*unused*/) { set_python_error(error); });
  bind_bytes(module);
  bind_plain(module);
  bind_teams(module);
  bind_graphs(module);
  bind_arrays(module);
  bind_events(module);
  bind_extension(module);
  bind_flows(module);
  bind_objects(module);
  bind_places();
  runtime::set_words(&for_python);
  add_audit_hook(&refuse_fork);
  static PyType_Slot future_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_future)},
                                       {Py_tp_clear, reinterpret_cast<void*>(&clear_future)},
                                       {0, nullptr}};
  nb::class_<PyFuture>(module, "Future", nb::type_slots(future_slots), nb::is_weak_referenceable(),
                       "A value that is still to come, of a task, a call or a promise. It belongs\n"
                       "to its rank. `await` waits for it, in tasks and in a loop of asyncio.")
      .def(
          "_result",
          [](PyFuture& f, std::optional<double> timeout) { return nb::steal(f.result(timeout)); },
          nb::arg("timeout").none())
      .def("_wait", &PyFuture::wait, nb::arg("timeout").none())
      .def("done", &PyFuture::done, "Whether there is a value or an exception. Never blocks.")
      .def("__hash__", &PyFuture::number)
      .def("_on_done", &PyFuture::on_done);
  nb::class_<PyMutex>(module, "_Mutex")
      .def(nb::init<PyWorld&, const std::string&>())
      .def("lock", &PyMutex::lock)
      .def("try_lock", &PyMutex::try_lock)
      .def("unlock", &PyMutex::unlock);
  nb::class_<PySemaphore>(module, "_Semaphore")
      .def(nb::init<PyWorld&, std::int64_t, const std::string&>())
      .def("acquire", &PySemaphore::acquire, nb::arg("timeout") = nb::none())
      .def("release", &PySemaphore::release, nb::arg("count") = 1);
  nb::class_<PyDeadline>(module, "_Deadline")
      .def(nb::init<PyTeam&, double, const std::string&>())
      .def("end", &PyDeadline::end);
  nb::class_<PyHold>(module, "_Hold").def(nb::init<PyTeam&>()).def("end", &PyHold::end);
  nb::class_<PyPromise>(module, "_Promise")
      .def(nb::init<PyWorld&, const std::string&>())
      .def("future", &PyPromise::future)
      .def("check_here", &PyPromise::check_here)
      .def("set_result", &PyPromise::set_result, nb::arg("value").none())
      .def("set_exception", &PyPromise::set_exception);
  module.def("_run", &run, nb::arg("main"), nb::arg("words"), nb::arg("communicator").none());
  module.def("_parse", [](const nb::list& given_words) {
    const std::vector<std::string> words = to_words(given_words);
    const runtime::Config config = parse(to_argv(words));
    return std::pair(config.simulate(), config.sim_seed);
  });
  module.def("_is_launched",
             [] { return runtime::detect_launcher(runtime::process_environment()).launched; });
  module.def("_check_communicator", [](int number, const std::string& library) {
    static_cast<void>(net::communicator_of_fortran(number, library));
  });
  module.def("_option_names", [] {
    std::vector<std::string> names;
    for (const runtime::Option& option : runtime::options()) names.emplace_back(option.name);
    return names;
  });
  nb::class_<PyRuntime>(module, "_Runtime")
      .def(nb::init<int, int, const std::string&, const nb::list&>())
      .def_prop_ro("size", &PyRuntime::size)
      .def_prop_ro("is_running", &PyRuntime::is_running)
      .def_prop_ro("awaits_caller", &PyRuntime::awaits_caller)
      .def("world", &PyRuntime::world)
      .def("submit", &PyRuntime::submit)
      .def("run", &PyRuntime::run)
      .def("stop", &PyRuntime::stop);
  module.def("_set_hooks", &set_hooks);
  module.def("_on_worker", &on_worker);
  module.def("_counts", [] {
    const Counts now = counts();
    return std::pair(now.states, now.deferred);
  });
  module.def("_run_attempts", &call_in_attempts);
  module.def("_sleep", [](double seconds) {
    const auto duration = PyFuture::to_duration(seconds);
    const OutsidePython outside;
    sleep_for(duration);
  });
  module.def("_yield", [] {
    const OutsidePython outside;
    yield();
  });
  module.attr("version") = SHOAL_VERSION;
}

}  // namespace shoal::python

NB_MODULE(_core, module) { shoal::python::bind(module); }

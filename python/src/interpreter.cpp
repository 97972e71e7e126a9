#include "interpreter.hpp"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "env/stack_memory.hpp"
#include "sched/worker.hpp"
#include "thread_state.h"

namespace shoal::python {

namespace {

/// Thread states without a fiber, and references without a thread that could drop them. One per
/// process, as the interpreter is; never destroyed, because threads may outlive static objects.
struct Store {
  std::mutex mutex;
  std::vector<PyThreadState*> idle;  // guarded by mutex
  std::vector<PyObject*> deferred;   // guarded by mutex
  std::atomic<bool> has_deferred{};  // a hint: the mutex orders the list itself
  std::atomic<long> states{};
  PyInterpreterState* interpreter = nullptr;  // set once, by the import of the module
};

Store& store() {
  static Store* const store = new Store;
  return *store;
}

PyThreadState* take_idle() {
  const std::lock_guard lock(store().mutex);
  if (store().idle.empty()) return nullptr;
  PyThreadState* const state = store().idle.back();
  store().idle.pop_back();
  return state;
}

PyThreadState* take_state() {
  if (PyThreadState* const state = take_idle(); state != nullptr) return state;
  ++store().states;
  return shoal_new_thread_state(store().interpreter);
}

// That of the fiber; without a size on the stack of a thread.
env::Stack current_stack() {
  const sched::Worker* const worker = sched::current_worker();
  const bool is_on_fiber = worker != nullptr && worker->fibers.have_current();
  return is_on_fiber ? worker->fibers.stack() : env::Stack{};
}

// Without the mutex: a destructor may run any Python code.
void drop_deferred() {
  if (!store().has_deferred.load(std::memory_order_relaxed)) return;
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(store().mutex);
    objects.swap(store().deferred);
    store().has_deferred.store(false, std::memory_order_relaxed);
  }
  for (PyObject* const object : objects) Py_DECREF(object);
}

}  // namespace

void use_this_interpreter() { store().interpreter = PyInterpreterState_Get(); }

// Python ends a thread that asks for the GIL when the interpreter has ended, by pthread_exit(): the
// stack must not unwind, through code of shoal and of nanobind that lets nothing pass. From 3.14 on
// such a thread sleeps for ever, as here.
void take_gil(PyThreadState* state) {
  try {
    shoal_attach_thread_state(state);
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

namespace {

using Sections = sync::List<InPython, &InPython::place>;

// Guarded by the GIL; the last one that began is the first.
Sections& sections() {
  static constinit Sections sections;
  return sections;
}

}  // namespace

InPython::InPython() : task_(sched::current_task()), state_(take_state()) {
  take_gil(state_);
  const env::Stack stack = current_stack();
  shoal_set_stack(state_, stack.bottom, stack.size_bytes);
  if (task_ != nullptr) sections().insert_before(sections().first(), *this);
  drop_deferred();
}

InPython::~InPython() {
  if (task_ != nullptr) sections().erase(*this);
  PyThreadState* const state = shoal_detach_thread_state();
  const std::lock_guard lock(store().mutex);
  store().idle.push_back(state);
}

OutsidePython::OutsidePython() : state_(shoal_detach_thread_state()) {}

OutsidePython::~OutsidePython() {
  take_gil(state_);
  drop_deferred();
}

// A collection of garbage could run Python, and another thread could leave its section meanwhile.
std::vector<TaskFrame> frames_of(const std::function<bool(const sched::Task*)>& is_asked) {
  struct Uncollected {
    const bool collects = PyGC_Disable() != 0;
    ~Uncollected() {
      if (collects) PyGC_Enable();
    }
  } const uncollected;
  std::vector<TaskFrame> frames;
  for (const InPython* one = sections().first(); one != nullptr; one = Sections::next(*one)) {
    if (!is_asked(one->task())) continue;
    auto* const frame = reinterpret_cast<PyObject*>(one->new_frame());
    if (frame != nullptr) frames.push_back({one->task(), Object::own(frame)});
  }
  return frames;
}

void release_thread_states() {
  drop_deferred();
  while (PyThreadState* const state = take_idle()) {
    PyThreadState_Clear(state);
    PyThreadState_Delete(state);
    --store().states;
  }
}

Counts counts() {
  const std::lock_guard lock(store().mutex);
  return {store().states.load(), static_cast<long>(store().deferred.size())};
}

void Object::drop(PyObject* object) noexcept {
  if (Py_IsInitialized() == 0) return;  // the end of the process, which frees all
  if (shoal_holds_gil() != 0) {
    Py_DECREF(object);
    return;
  }
  const std::lock_guard lock(store().mutex);
  store().deferred.push_back(object);
  store().has_deferred.store(true, std::memory_order_relaxed);
}

}  // namespace shoal::python

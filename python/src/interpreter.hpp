#pragma once
// Python code on fibers: thread states, the GIL, and references to Python objects.

#include <Python.h>

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/list.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace shoal::python {

/// Sets the interpreter that runs the code of all fibers. **Caller**: holds the GIL.
void use_this_interpreter();

/// Takes the GIL with a thread state. **Blocks**: for the GIL; for ever once the interpreter ends.
void take_gil(PyThreadState* state);

/// Section of C++ code that calls Python, on a thread that does not hold the GIL. It takes the GIL
/// with a thread state of its own, which stays with the fiber while Python code waits in it.
/// **Blocks**: for the GIL.
class InPython {
 public:
  InPython();
  ~InPython();
  InPython(const InPython&) = delete;
  InPython& operator=(const InPython&) = delete;

  /// Task of the section; nullptr in a handler, and outside the workers.
  [[nodiscard]] const sched::Task* task() const { return task_; }
  /// Returns the frame that Python is in, or nullptr. **Caller**: holds the GIL.
  [[nodiscard]] PyFrameObject* new_frame() const { return PyThreadState_GetFrame(state_); }

  sync::ListLink<InPython> place;  // in the list of all sections; guarded by the GIL

 private:
  const sched::Task* const task_;
  PyThreadState* const state_;
};

/// Section of a function that Python has called, without the GIL: around each call of shoal that
/// may wait, send or run handlers. The fiber may continue on another thread.
class OutsidePython {
 public:
  OutsidePython();
  ~OutsidePython();
  OutsidePython(const OutsidePython&) = delete;
  OutsidePython& operator=(const OutsidePython&) = delete;

 private:
  PyThreadState* const state_;
};

/// Deletes the thread states that no fiber uses. **Caller**: holds the GIL, and no run is in
/// progress.
void release_thread_states();

/// Counts of what a run must leave as it was, for tests.
struct Counts {
  long states = 0;    // thread states that exist
  long deferred = 0;  // references that wait for a thread with the GIL
};
[[nodiscard]] Counts counts();

/// Owned reference to a Python object. Code of shoal may destroy it on any thread and with locks
/// held: without the GIL it is put on a list, and the next thread that takes the GIL drops it.
class Object {
 public:
  Object() = default;
  /// Takes over a reference.
  static Object own(PyObject* reference) { return Object(reference); }
  /// Adds a reference. **Caller**: holds the GIL.
  static Object share(PyObject* object) {
    Py_XINCREF(object);
    return Object(object);
  }
  ~Object() {
    if (object_ != nullptr) drop(object_);
  }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  [[nodiscard]] PyObject* get() const { return object_; }
  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }
  [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Object(PyObject* object) : object_(object) {}
  static void drop(PyObject* object) noexcept;

  PyObject* object_ = nullptr;
};

/// Frame of a task, which is parked, or waits for the GIL.
struct TaskFrame {
  const sched::Task* task;
  Object frame;
};
/// Returns the innermost frames of the tasks for which `is_asked` is true; of a task with several
/// sections, that of the innermost one first. **Caller**: holds the GIL.
[[nodiscard]] std::vector<TaskFrame> frames_of(
    const std::function<bool(const sched::Task*)>& is_asked);

}  // namespace shoal::python

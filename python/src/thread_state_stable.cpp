// Python 3.12 and newer, by functions of the stable ABI.
//
// Attaching a state enters it in the thread-specific value that PyGILState_Ensure() reads, unless
// the state has the mark of being entered; attaching another one on that thread clears the mark.
// So each thread has a base state: a state is detached by a switch to the base state, and can then
// be attached on any thread.

#include <dlfcn.h>

#include <cstddef>
#include <type_traits>

#include "thread_state.h"

#if PY_VERSION_HEX < 0x030C0000
#error "thread_state_inside.c is for this Python"
#endif

namespace {

/// Python's part of a thread. The base state of a thread that is not Python's may be another one
/// each time that Python calls: PyGILState_Ensure() makes it, PyGILState_Release() deletes it.
class PythonThread {
 public:
  PythonThread() = default;
  // A worker, which ends while the interpreter goes on.
  ~PythonThread() {
    if (own_ == nullptr || Py_IsInitialized() == 0) return;
    PyEval_RestoreThread(own_);
    PyGILState_Release(PyGILState_UNLOCKED);
  }
  PythonThread(const PythonThread&) = delete;
  PythonThread& operator=(const PythonThread&) = delete;

  /// Called without the GIL: returns the base state, a new one if the thread has none.
  PyThreadState* base() {
    PyThreadState* const found = PyGILState_GetThisThreadState();
    if (found != nullptr) return found;
    PyGILState_Ensure();
    own_ = PyEval_SaveThread();
    return own_;
  }
  void attach(PyThreadState* state) {
    base_ = base();
    PyEval_RestoreThread(state);
    attached_ = state;
    is_detached_ = false;
  }
  PyThreadState* detach() {
    PyThreadState* const state = PyThreadState_Get();
    if (state != attached_) base_ = state;  // Python has called
    if (state != base_) PyThreadState_Swap(base_);
    attached_ = nullptr;
    is_detached_ = true;
    PyEval_SaveThread();
    return state;
  }
  [[nodiscard]] bool is_detached() const { return is_detached_; }

 private:
  PyThreadState* base_ = nullptr;      // while a state is attached
  PyThreadState* attached_ = nullptr;  // by attach()
  PyThreadState* own_ = nullptr;       // of a thread that came without one
  bool is_detached_ = false;
};

// Not inlined: a fiber may continue on another thread behind a call.
[[gnu::noinline]] PythonThread& this_thread() {
  static thread_local PythonThread thread;
  return thread;
}

// Not in the stable ABI, and not in the first versions of 3.14.
struct StackFunctions {
  int (*set)(PyThreadState*, void*, std::size_t) = nullptr;
  void (*reset)(PyThreadState*) = nullptr;

  StackFunctions() {
    constexpr unsigned long kFirstWithChecks = 0x030E0000;
    if (Py_Version < kFirstWithChecks) return;
    const auto find = [](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
      return function != nullptr;
    };
    are_missing = !find(set, "PyUnstable_ThreadState_SetStackProtection") ||
                  !find(reset, "PyUnstable_ThreadState_ResetStackProtection");
  }
  bool are_missing = false;
};

const StackFunctions& stack_functions() {
  static const StackFunctions functions;
  return functions;
}

}  // namespace

void shoal_set_stack(PyThreadState* state, void* bottom, std::size_t size_bytes) {
  const StackFunctions& functions = stack_functions();
  if (functions.set == nullptr) return;
  if (size_bytes == 0) {
    functions.reset(state);
  } else if (functions.set(state, bottom, size_bytes) != 0) {
    PyErr_WriteUnraisable(nullptr);  // a stack too small for Python
  }
}

int shoal_takes_stacks() { return stack_functions().are_missing ? 0 : 1; }

// On a thread without a base state, Python would take the new one for it.
PyThreadState* shoal_new_thread_state(PyInterpreterState* interpreter) {
  this_thread().base();
  return PyThreadState_New(interpreter);
}

void shoal_attach_thread_state(PyThreadState* state) { this_thread().attach(state); }

PyThreadState* shoal_detach_thread_state() { return this_thread().detach(); }

int shoal_holds_gil() {
  return PyGILState_GetThisThreadState() != nullptr && !this_thread().is_detached() ? 1 : 0;
}

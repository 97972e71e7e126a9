// Python 3.12 and newer, by functions of the stable ABI.
//
// Attaching a state enters it in the thread-specific value that PyGILState_Ensure() reads, unless
// the state has the mark of being entered; attaching another one on that thread clears the mark.
// So each thread has a base state: a state is detached by a switch to the base state, and can then
// be attached on any thread.

#include "thread_state.h"

#if PY_VERSION_HEX < 0x030C0000
#error "thread_state_inside.c is for this Python"
#endif

namespace {

/// Python's part of a thread.
class PythonThread {
 public:
  PythonThread() = default;
  // A worker, which ends while the interpreter goes on.
  ~PythonThread() {
    if (!is_own_ || Py_IsInitialized() == 0) return;
    PyEval_RestoreThread(base_);
    PyGILState_Release(PyGILState_UNLOCKED);
  }
  PythonThread(const PythonThread&) = delete;
  PythonThread& operator=(const PythonThread&) = delete;

  PyThreadState* base() {
    if (base_ != nullptr) return base_;
    base_ = PyGILState_GetThisThreadState();
    if (base_ != nullptr) return base_;
    PyGILState_Ensure();
    is_own_ = true;
    base_ = PyEval_SaveThread();
    return base_;
  }
  bool is_detached = false;

 private:
  PyThreadState* base_ = nullptr;
  bool is_own_ = false;
};

// Not inlined: a fiber may continue on another thread behind a call.
[[gnu::noinline]] PythonThread& this_thread() {
  static thread_local PythonThread thread;
  return thread;
}

}  // namespace

// On a thread without a base state, Python would take the new one for it.
PyThreadState* shoal_new_thread_state(PyInterpreterState* interpreter) {
  this_thread().base();
  return PyThreadState_New(interpreter);
}

void shoal_attach_thread_state(PyThreadState* state) {
  PythonThread& thread = this_thread();
  thread.base();
  PyEval_RestoreThread(state);
  thread.is_detached = false;
}

PyThreadState* shoal_detach_thread_state() {
  PythonThread& thread = this_thread();
  PyThreadState* const base = thread.base();
  PyThreadState* const state = PyThreadState_Get();
  if (state != base) PyThreadState_Swap(base);
  thread.is_detached = true;
  PyEval_SaveThread();
  return state;
}

int shoal_holds_gil() {
  return PyGILState_GetThisThreadState() != nullptr && !this_thread().is_detached ? 1 : 0;
}

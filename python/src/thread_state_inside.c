/* Python 3.11: PyGILState_Ensure() reads a thread-specific value, which no public function sets. It
   must name the attached state and nothing else, or a C extension that calls PyGILState_Ensure()
   would wait for the GIL that it holds. */

#define Py_BUILD_CORE_MODULE 1
#include "thread_state.h"

#include <internal/pycore_runtime.h>

#if PY_VERSION_HEX >= 0x030C0000
#error "thread_state_stable.cpp is for this Python"
#endif

PyThreadState* shoal_new_thread_state(PyInterpreterState* interpreter) {
  return PyThreadState_New(interpreter);
}

void shoal_attach_thread_state(PyThreadState* state) {
  PyEval_RestoreThread(state);
  PyThread_tss_set(&_PyRuntime.gilstate.autoTSSkey, state);
}

void shoal_set_stack(PyThreadState* state, void* bottom, size_t size_bytes) {
  (void)state, (void)bottom, (void)size_bytes;
}

int shoal_takes_stacks(void) { return 1; }

PyThreadState* shoal_detach_thread_state(void) {
  PyThread_tss_set(&_PyRuntime.gilstate.autoTSSkey, NULL);
  return PyEval_SaveThread();
}

int shoal_holds_gil(void) { return PyGILState_Check(); }

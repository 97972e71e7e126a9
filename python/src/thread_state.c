/* A thread state travels with the fiber of its task (docs/design/python.md). CPython keeps one
   more reference to it: the thread-specific value that PyGILState_Ensure() reads. It must name the
   attached state and nothing else, or a C extension that calls PyGILState_Ensure() would wait for
   the GIL that it holds. */

#define Py_BUILD_CORE_MODULE 1
#include "thread_state.h"

#include <internal/pycore_runtime.h>

static Py_tss_t* gilstate_key(void) {
#if PY_VERSION_HEX < 0x030C0000
  return &_PyRuntime.gilstate.autoTSSkey;
#else
  return &_PyRuntime.autoTSSkey;
#endif
}

void shoal_attach_thread_state(PyThreadState* state) {
  PyEval_RestoreThread(state);
#if PY_VERSION_HEX < 0x030C0000
  PyThread_tss_set(gilstate_key(), state);
#endif
}

PyThreadState* shoal_detach_thread_state(void) {
  PyThread_tss_set(gilstate_key(), NULL);
#if PY_VERSION_HEX >= 0x030C0000
  /* The next attachment then binds the state to its thread. */
  PyThreadState_Get()->_status.bound_gilstate = 0;
#endif
  return PyEval_SaveThread();
}

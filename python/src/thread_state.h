/* The part of CPython's thread states that its public interface does not reach. */
#ifndef SHOAL_PYTHON_THREAD_STATE_H
#define SHOAL_PYTHON_THREAD_STATE_H

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the GIL with a thread state, on whichever thread calls, and makes it the state that
   PyGILState_Ensure() finds there. */
void shoal_attach_thread_state(PyThreadState* state);

/* Gives up the GIL and the thread state of the caller, which another thread may attach. */
PyThreadState* shoal_detach_thread_state(void);

#ifdef __cplusplus
}
#endif

#endif

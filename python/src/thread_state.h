/* Thread states that travel with the fibers of their tasks (docs/design/python.md).
   Implementations: thread_state_inside.c for Python 3.11, and thread_state_stable.cpp, which needs
   the stable ABI only, for newer ones. */
#ifndef SHOAL_PYTHON_THREAD_STATE_H
#define SHOAL_PYTHON_THREAD_STATE_H

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a thread state that is attached to no thread. Without the GIL. */
PyThreadState* shoal_new_thread_state(PyInterpreterState* interpreter);

/* Takes the GIL with a thread state, on whichever thread calls, and makes it the state that
   PyGILState_Ensure() finds there. */
void shoal_attach_thread_state(PyThreadState* state);

/* Tells an attached state the stack that the caller runs on; size 0: that of its thread. Python
   from 3.14 on checks its bounds. */
void shoal_set_stack(PyThreadState* state, void* bottom, size_t size_bytes);

/* Whether this Python can run on fibers. */
int shoal_takes_stacks(void);

/* Gives up the GIL and the thread state of the caller, which another thread may attach. */
PyThreadState* shoal_detach_thread_state(void);

/* Whether the calling thread holds the GIL. */
int shoal_holds_gil(void);

#ifdef __cplusplus
}
#endif

#endif

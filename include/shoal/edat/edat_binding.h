/* Calls for interfaces to edat.h in other languages, such as edat.py.
 *
 * An interpreter keeps its state by thread: two tasks that take turns on one thread would mix it
 * up. The function of a bound task runs on a thread of its own, which has an ordinary stack; the
 * task's worker waits meanwhile. The calls of edat.h mean there what they mean in other tasks; in
 * edatWait and edatLock the worker runs other tasks. */
#ifndef SHOAL_EDAT_EDAT_BINDING_H
#define SHOAL_EDAT_EDAT_BINDING_H

#include "edat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A task of another language. */
struct edat_struct_bound_task {
  void (*function)(EDAT_Event*, int, void*); /* gets `user` as its last argument */
  void* user;       /* of the program; the library only passes it on */
  const char* name; /* NULL: it has none */
  int persistent;   /* not 0: runs as often as its events come */
  int greedy;       /* not 0: takes all events that are there; persistent only */
};
/* A task of another language. */
typedef struct edat_struct_bound_task EDAT_Bound_Task;

/* Submits a task that depends on `count` events. Copies the names and the arrays. */
void edatSubmitBoundTask(const EDAT_Bound_Task* task, int count, const int* sources,
                         const char* const* event_ids);
/* Writes `user` of up to `capacity` tasks that will not run (again), and returns their number. Each
 * is written once; edatFinalise drops the rest. Any thread may call; it does not block. */
int edatTakeReleasedTasks(void** users, int capacity);

/* Waits for events as edatWait does, with arrays. Writes the number of events. */
EDAT_Event* edatWaitFor(int* number_retrieved, int count, const int* sources,
                        const char* const* event_ids);
/* Takes the events that have arrived as edatRetrieveAny does, with arrays. */
EDAT_Event* edatRetrieveAnyFor(int* number_retrieved, int count, const int* sources,
                               const char* const* event_ids);

/* Ends the run as edatFinalise does, but returns its exit code instead of ending the process. */
int edatFinaliseWithCode(void);
/* Waits as edatPauseMainThread does; returns 0, or the exit code of a run that has failed. */
int edatPauseWithCode(void);

#ifdef __cplusplus
}
#endif

#endif

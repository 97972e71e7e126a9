/* The interface of the EDAT library (Event Driven Asynchronous Tasks, EPCC) on shoal: programs
 * written for it compile and run unchanged. They link libshoal_edat.
 *
 * docs/edat.md has the guarantees and differences. A call that cannot be right (before edatInit,
 * with a rank or type that does not exist, or NULL for a name) ends the program with an error that
 * names the call. Failures, and tasks and events that are left over, end it in edatFinalise. */
#ifndef SHOAL_EDAT_EDAT_H
#define SHOAL_EDAT_EDAT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EDAT_NOTYPE 0 /* no payload */
#define EDAT_NONE 0 /* no payload */
#define EDAT_INT 1 /* int */
#define EDAT_FLOAT 2 /* float */
#define EDAT_DOUBLE 3 /* double */
#define EDAT_BYTE 4 /* char */
#define EDAT_ADDRESS 5 /* addresses, as char* */
#define EDAT_LONG 6 /* long */

#define EDAT_ALL -1 /* every rank */
#define EDAT_ANY -2 /* whichever rank */
#define EDAT_SELF -3 /* the calling rank */

/* Description of an event. */
struct edat_struct_metadata {
  int data_type;       /* one of the types above, or a context */
  int number_elements; /* elements of its payload */
  int source;          /* rank that fired it */
  char* event_id; /* its name */
};
/* Description of an event. */
typedef struct edat_struct_metadata EDAT_Metadata;

/* Event that a task gets. */
struct edat_struct_event {
  void* data; /* its elements, or NULL */
  EDAT_Metadata metadata; /* its type, number of elements, source and name */
};
/* Event that a task gets. */
typedef struct edat_struct_event EDAT_Event;

/* Starts the workers of this process, which is one rank; returns when events can be fired. Ignores
 * its arguments. */
#if defined __cplusplus || (defined __STDC_VERSION__ && __STDC_VERSION__ >= 202311L)
void edatInit(...);
#else
void edatInit();
#endif
/* Starts the workers as edatInit does, with `count` options: EDAT_NUM_WORKERS and the like. The
 * environment has precedence over them. */
void edatInitWithConfiguration(int count, char** keys, char** values);
/* Returns when all tasks have run and all events were consumed, on all ranks. */
void edatFinalise(void);
/* Rank of this process. */
int edatGetRank(void);
/* Number of processes. */
int edatGetNumRanks(void);

/* Submits a task that depends on `count` events. The trailing arguments are `count` pairs: int
 * source, const char* event_id. */
void edatSubmitTask(void (*task)(EDAT_Event*, int), int count, ...);
/* Submits a task with a name, for edatIsTaskSubmitted and edatRemoveTask. */
void edatSubmitNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count, ...);
/* Submits a task that runs as often as its events arrive. It holds the events of one run; others
 * stay free for other tasks, and for its next run. */
void edatSubmitPersistentTask(void (*task)(EDAT_Event*, int), int count, ...);
/* Submits a persistent task that takes all events that are free when it begins. */
void edatSubmitPersistentGreedyTask(void (*task)(EDAT_Event*, int), int count, ...);
/* Submits a persistent task with a name. */
void edatSubmitPersistentNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count,
                                   ...);
/* Submits a persistent, greedy task with a name. */
void edatSubmitPersistentNamedGreedyTask(void (*task)(EDAT_Event*, int), const char* name,
                                         int count, ...);
/* Returns 1 if a task of this name waits for events, or is persistent; else 0. */
int edatIsTaskSubmitted(const char* name);
/* Removes a task of this name; returns 1, or 0 if there was none. */
int edatRemoveTask(const char* name);

/* Fires an event with a copy of the `number_elements` elements at `data`. Elements of EDAT_ADDRESS
 * are addresses (of sizeof(char*)), and the task's `data` points to copies of them. The data of a
 * context is not copied: the task gets the same pointer. */
void edatFireEvent(void* data, int data_type, int number_elements, int target,
                   const char* event_id);
/* Fires a persistent event, which is there again after each use. */
void edatFirePersistentEvent(void* data, int data_type, int number_elements, int target,
                             const char* event_id);
/* Returns the index of the first event from `source` with this name, or -1. */
int edatFindEvent(EDAT_Event* events, int count, int source, const char* event_id);

/* Defines a data type for memory of a size, which is fired by address; returns the type. */
int edatDefineContext(size_t size_bytes);
/* Returns memory of a context's type; it is never freed. */
void* edatCreateContext(int context_type);

/* Waits for the events of the pairs and returns them in their order; they are valid until the task
 * ends. Tasks that were submitted before and need the same events get them first. Called by tasks
 * and main(). */
EDAT_Event* edatWait(int count, ...);
/* Takes the events of the pairs that have arrived and returns them; NULL if there are none. */
EDAT_Event* edatRetrieveAny(int* number_retrieved, int count, ...);

/* Takes a lock of this rank, by its name; waits until it is free. */
void edatLock(char* name);
/* Releases a lock that the caller holds. */
void edatUnlock(char* name);
/* Returns 1 if the calling task holds this lock, else 0. */
int edatTestLock(char* name);

#ifdef __cplusplus
}
#endif

#endif

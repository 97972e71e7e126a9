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

/* An event as a task gets it. */
struct edat_struct_event {
  void* data; /* its elements, or NULL */
  EDAT_Metadata metadata; /* its type, number of elements, source and name */
};
/* An event as a task gets it. */
typedef struct edat_struct_event EDAT_Event;

/* Starts the workers of this process, which is one rank; returns once events can be fired. Takes
 * any arguments, and ignores them. */
#if defined __cplusplus || (defined __STDC_VERSION__ && __STDC_VERSION__ >= 202311L)
void edatInit(...);
#else
void edatInit();
#endif
/* With `count` options: EDAT_NUM_WORKERS and the like. The environment goes before them. */
void edatInitWithConfiguration(int count, char** keys, char** values);
/* Returns when all tasks have run and all events were consumed, on all ranks. */
void edatFinalise(void);
/* Rank of this process. */
int edatGetRank(void);
/* Number of processes. */
int edatGetNumRanks(void);

/* The trailing arguments are `count` pairs: int source, const char* event_id. */
void edatSubmitTask(void (*task)(EDAT_Event*, int), int count, ...);
/* The same with a name, for edatIsTaskSubmitted and edatRemoveTask. */
void edatSubmitNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count, ...);
/* A task that runs as often as its events come. It holds the events of one run; surplus ones stay
 * free for others, and for its next run. */
void edatSubmitPersistentTask(void (*task)(EDAT_Event*, int), int count, ...);
/* The same; takes all events that are free when it begins. */
void edatSubmitPersistentGreedyTask(void (*task)(EDAT_Event*, int), int count, ...);
/* Persistent, with a name. */
void edatSubmitPersistentNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count,
                                   ...);
/* Persistent and greedy, with a name. */
void edatSubmitPersistentNamedGreedyTask(void (*task)(EDAT_Event*, int), const char* name,
                                         int count, ...);
/* 1 or 0. */
int edatIsTaskSubmitted(const char* name);
/* 1: a task was taken back; 0: there was none. */
int edatRemoveTask(const char* name);

/* Copies `number_elements` elements from where `data` points to. Elements of EDAT_ADDRESS are
 * addresses (of sizeof(char*)), and the task's `data` points to copies of them. A context is its
 * own data: the task gets the same pointer. */
void edatFireEvent(void* data, int data_type, int number_elements, int target,
                   const char* event_id);
/* An event that is there again after each use. */
void edatFirePersistentEvent(void* data, int data_type, int number_elements, int target,
                             const char* event_id);
/* The index of the first such event, or -1. */
int edatFindEvent(EDAT_Event* events, int count, int source, const char* event_id);

/* A data type for memory of a size, which is fired by address; memory of such a type. */
int edatDefineContext(size_t size_bytes);
/* Memory of a context's type; it is never freed. */
void* edatCreateContext(int context_type);

/* In tasks and in main(): the events of the pairs, in their order; valid until the task ends. Tasks
 * that need the same events are served first. */
EDAT_Event* edatWait(int count, ...);
/* Takes the events that have arrived; NULL if there are none. */
EDAT_Event* edatRetrieveAny(int* number_retrieved, int count, ...);

/* Locks of this rank, by name; waits until the lock is free. */
void edatLock(char* name);
/* Releases a lock that the caller holds. */
void edatUnlock(char* name);
/* 1: the calling task has this lock; 0: it has not. */
int edatTestLock(char* name);

#ifdef __cplusplus
}
#endif

#endif

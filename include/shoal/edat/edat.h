/* The interface of the EDAT library (Event Driven Asynchronous Tasks, EPCC) on shoal: programs
 * written for it compile and run unchanged. They link libshoal_edat.
 *
 * What the calls do, and where this library decides or differs: docs/edat.md. A call that cannot
 * be right (before edatInit, no such rank or type, NULL for a name) ends the program with an error
 * that names the call; so do, in edatFinalise, failures and tasks and events that are left over. */
#ifndef SHOAL_EDAT_EDAT_H
#define SHOAL_EDAT_EDAT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EDAT_NOTYPE 0
#define EDAT_NONE 0
#define EDAT_INT 1
#define EDAT_FLOAT 2
#define EDAT_DOUBLE 3
#define EDAT_BYTE 4
#define EDAT_ADDRESS 5
#define EDAT_LONG 6

#define EDAT_ALL -1
#define EDAT_ANY -2
#define EDAT_SELF -3

struct edat_struct_metadata {
  int data_type, number_elements, source;
  char* event_id;
};
typedef struct edat_struct_metadata EDAT_Metadata;

struct edat_struct_event {
  void* data;
  EDAT_Metadata metadata;
};
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
int edatGetRank(void);
int edatGetNumRanks(void);

/* The trailing arguments are `count` pairs: int source, const char* event_id. */
void edatSubmitTask(void (*task)(EDAT_Event*, int), int count, ...);
void edatSubmitNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count, ...);
void edatSubmitPersistentTask(void (*task)(EDAT_Event*, int), int count, ...);
void edatSubmitPersistentGreedyTask(void (*task)(EDAT_Event*, int), int count, ...);
void edatSubmitPersistentNamedTask(void (*task)(EDAT_Event*, int), const char* name, int count,
                                   ...);
void edatSubmitPersistentNamedGreedyTask(void (*task)(EDAT_Event*, int), const char* name,
                                         int count, ...);
/* 1 or 0. */
int edatIsTaskSubmitted(const char* name);
/* 1: a task was taken back; 0: there was none. */
int edatRemoveTask(const char* name);

/* Copies `number_elements` elements from where `data` points to. Those of EDAT_ADDRESS are addresses
 * (of sizeof(char*)), and the task's `data` points to copies of them. A context is its own data: the
 * task gets the same pointer. */
void edatFireEvent(void* data, int data_type, int number_elements, int target,
                   const char* event_id);
void edatFirePersistentEvent(void* data, int data_type, int number_elements, int target,
                             const char* event_id);
/* The index of the first such event, or -1. */
int edatFindEvent(EDAT_Event* events, int count, int source, const char* event_id);

/* A data type for memory of a size, which is fired by address; memory of such a type. */
int edatDefineContext(size_t size_bytes);
void* edatCreateContext(int context_type);

/* In tasks and in main(): the events of the pairs, in their order; valid until the task ends. */
EDAT_Event* edatWait(int count, ...);
/* Those that are there; NULL if none is. */
EDAT_Event* edatRetrieveAny(int* number_retrieved, int count, ...);

void edatLock(char* name);
void edatUnlock(char* name);
/* 1: the calling task has this lock; 0: it has not. */
int edatTestLock(char* name);

#ifdef __cplusplus
}
#endif

#endif

/* Tasks and events for C11: shoal::Events with plain types. Programs link libshoal_c.
 *
 * A task names the events that it depends on by source and name, and runs once it has them all. The
 * rules, order and guarantees are those of <shoal/event/events.hpp> and docs/design/events.md.
 *
 * Calls return SHOAL_OK or one of the codes below; then shoal_last_error() says what was wrong. No
 * C++ exception comes out of a call. Where nothing else is said, any thread and any task may call,
 * and no call blocks. Arguments are copied; pointers may be reused at once. */
#ifndef SHOAL_C_API_EVENT_H
#define SHOAL_C_API_EVENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return codes. Functions that return a number return it unchanged when it is not negative, and
 * minus one of these codes otherwise. */
enum {
  SHOAL_OK = 0,
  SHOAL_ERROR_USE = 1,       /* a call that the program must not make, or not so */
  SHOAL_ERROR_TASK = 2,      /* a task of some rank failed, and with it the world */
  SHOAL_ERROR_STUCK = 3,     /* nothing runs any more, and something still waits */
  SHOAL_ERROR_CANCELLED = 4, /* the world has failed: what this task waits for will not come */
  SHOAL_ERROR_OTHER = 5
};

/* Where the event of a dependency comes from, or where an event goes: a rank, or one of these. */
enum {
  SHOAL_ALL = -1, /* source: one event of every rank, in order; target: every rank */
  SHOAL_ANY = -2, /* as a source: whichever rank; nothing can be fired to it */
  SHOAL_SELF = -3 /* the calling rank */
};

/* Types of payloads. shoal_events_define_context() adds more. */
enum {
  SHOAL_NONE = 0,
  SHOAL_INT = 1,
  SHOAL_FLOAT = 2,
  SHOAL_DOUBLE = 3,
  SHOAL_BYTE = 4,
  SHOAL_ADDRESS = 5, /* of memory of this rank */
  SHOAL_LONG = 6,
  SHOAL_OTHER = -1 /* only got: what C++ fired as a value or a typed address; it has no data here */
};

typedef struct shoal_world shoal_world;   /* a world as one rank sees it */
typedef struct shoal_events shoal_events; /* tasks and events of one rank: a name space */

/* One event that a task needs. */
typedef struct shoal_dependency {
  int source; /* rank, or SHOAL_ALL, SHOAL_ANY, SHOAL_SELF */
  const char* name; /* name that the event is fired with */
} shoal_dependency;

/* Payload of an event that is fired. With SHOAL_ADDRESS and contexts `data` is the address itself;
 * else `count` elements are copied from it. */
typedef struct shoal_payload {
  int type; /* one of the types above, or a context */
  size_t count; /* elements */
  const void* data; /* the elements, or the address */
} shoal_payload;

/* Event that a task gets; valid while the task runs, or until its list is released. */
typedef struct shoal_event {
  int source; /* rank that fired it */
  const char* name; /* name that it was fired with */
  int type; /* type of the elements */
  size_t count;     /* elements */
  const void* data; /* the elements, or the address; aligned for any type; NULL without any */
} shoal_event;

/* Events that shoal_events_wait() or shoal_events_retrieve_any() returned. */
typedef struct shoal_event_list {
  size_t count; /* number of events */
  const shoal_event* events; /* the events */
  void* owner; /* for shoal_event_list_release() */
} shoal_event_list;

/* A task. Returns 0; another number fails the world, as an exception does in C++. The events are
 * in the order of the dependencies. */
typedef int (*shoal_task_function)(const shoal_event* events, size_t count, void* user);

/* A task to submit. Only `function` must be set. */
typedef struct shoal_task {
  shoal_task_function function; /* runs when the events are there */
  void* user;       /* passed on; belongs to the program */
  const char* name; /* NULL: none; need not be unique */
  int persistent;   /* 1: runs as often as its dependencies are met, and keeps no world waiting */
  int greedy;       /* 1, persistent only: takes all events that fit until it begins to run */
  int priority;     /* larger first, among the tasks that are ready */
} shoal_task;

/* --- the world */

/* Runs `main_function(world, user)` as the main function of every rank, and returns when all have
 * ended: see shoal::run(). `main_function` returns the exit code. Once it has returned, a
 * last shoal_wait() is done for it. Errors: as the return value of the run, except TASK and STUCK
 * that its last own call has returned. Caller: the process's main thread. Returns: the exit code.
 * Errors are written to stderr. */
int shoal_run(int argc, char** argv, int (*main_function)(shoal_world* world, void* user),
              void* user);

/* Rank of the caller. */
int shoal_rank(const shoal_world* world);
/* Number of ranks. */
int shoal_size(const shoal_world* world);
/* The program's own arguments, without shoal's; [0] is the program's name. NULL behind the last. */
/* Number of the program's own arguments, with the name of the program. */
int shoal_argument_count(const shoal_world* world);
/* One of the arguments. */
const char* shoal_argument(const shoal_world* world, int index);

/* Returns when, on all ranks, tasks have run and events have been consumed.
 * Caller: the main functions of all ranks. Blocks. Errors: TASK, STUCK, USE. */
int shoal_wait(shoal_world* world);

/* Text of the last error in this task (or thread); "" without one. Valid until the next call that
 * fails there. */
const char* shoal_last_error(void);

/* --- tasks and events. Errors of all calls: USE for a rank or type that does not exist, and for
 * NULL where a value is required. */

/* Makes tasks and events with a name space of their own. All ranks make theirs in the same order.
 * They belong to the world. `name` is used in reports; NULL: "events". Caller: main functions.
 * Returns NULL on error. */
shoal_events* shoal_events_make(shoal_world* world, const char* name);
/* Ends the events before the world. Caller: the main function, after a shoal_wait(). */
int shoal_events_free(shoal_events* events);
/* Name that shoal_events_make() was given. */
const char* shoal_events_name(const shoal_events* events);

/* Runs a task once its dependencies are met; at once if there are none. */
int shoal_events_submit(shoal_events* events, const shoal_task* task,
                        const shoal_dependency* dependencies, size_t count);
/* Returns 1 if a task of this name waits for events, or is persistent; else 0. */
int shoal_events_is_submitted(const shoal_events* events, const char* task_name);
/* Removes the earliest submitted task of this name; returns 1, or 0 if there is none. */
int shoal_events_remove(shoal_events* events, const char* task_name);

/* Fires an event to a rank, SHOAL_SELF or SHOAL_ALL. `payload`: NULL is nothing. Addresses go to
 * the own rank only. Blocks: a task may be parked while too much is under way to the target. */
int shoal_events_fire(shoal_events* events, int target, const char* name,
                      const shoal_payload* payload);
/* Fires a persistent event, which is there again on the target as soon as a task has got it, so
 * that all tasks that need it get it. */
int shoal_events_fire_persistent(shoal_events* events, int target, const char* name,
                                 const shoal_payload* payload);

/* Events that the machine fires. Each happens once, and keeps the world going until it has been
 * fired, or cancelled: after a time (virtual in simulated worlds), once there is something to read,
 * when this process gets a signal, when its resident memory exceeds a size. Only the first has a
 * payload, which is copied at the call: as in shoal_events_fire(). `number` may be NULL; it is for
 * shoal_events_cancel(). Errors: USE in simulated worlds, except for times; OTHER for sources that
 * cannot be watched. */
int shoal_events_fire_after(shoal_events* events, unsigned long long delay_ns, int target,
                            const char* name, const shoal_payload* payload,
                            unsigned long long* number);
/* Fires when there is something to read. */
int shoal_events_fire_when_readable(shoal_events* events, int descriptor, int target,
                                    const char* name, unsigned long long* number);
/* Fires when the process gets the signal. */
int shoal_events_fire_on_signal(shoal_events* events, int signal, int target, const char* name,
                                unsigned long long* number);
/* Fires when the resident memory exceeds the size. */
int shoal_events_fire_when_memory_above(shoal_events* events, size_t size_bytes, int target,
                                        const char* name, unsigned long long* number);
/* Cancels such an event; returns 1, or 0 if it has been fired, or is just being fired. */
int shoal_events_cancel(shoal_events* events, unsigned long long number);

/* Parks the task until the events are there; its named locks are released meanwhile. Caller: a
 * task, the main function. Errors: CANCELLED when the world has failed: clean up and return. The
 * locks are not taken again then, and to unlock them does nothing; after other errors they are. */
int shoal_events_wait(shoal_events* events, const shoal_dependency* dependencies, size_t count,
                      shoal_event_list* list);
/* Returns the first event that has arrived for each dependency, if there is one. */
int shoal_events_retrieve_any(shoal_events* events, const shoal_dependency* dependencies,
                              size_t count, shoal_event_list* list);
/* Releases the events of a list, and empties it. Does nothing for an empty list. */
void shoal_event_list_release(shoal_event_list* list);

/* SHOAL_OK if the event carries elements of this type: call it before reading `data` as such.
 * Errors: USE; shoal_last_error() names the event and both types. */
int shoal_event_check(const shoal_event* event, int type);

/* Locks of this rank, by name. shoal_events_lock() parks the task. A task that ends releases its
 * own. shoal_events_test_lock() returns 1 if the lock was free and is the caller's now, else 0. */
int shoal_events_lock(shoal_events* events, const char* lock_name);
/* Releases the lock. */
int shoal_events_unlock(shoal_events* events, const char* lock_name);
/* Takes the lock if it is free; returns 1 if the caller holds it now, else 0. */
int shoal_events_test_lock(shoal_events* events, const char* lock_name);

/* A context is memory of this rank that is fired by address, under a type of its own. Returns the
 * type: the same number on ranks that define theirs in the same order. */
int shoal_events_define_context(shoal_events* events, size_t size_bytes);
/* Memory of this type, zeroed, aligned for any type; lives as long as `events`. NULL on error. */
void* shoal_events_create_context(shoal_events* events, int type);

#ifdef __cplusplus
}
#endif

#endif

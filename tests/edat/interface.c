// The interface of edat.h as the programs of the original know it: numbers, types and functions.
// Exit code 0: a program that calls by these types runs.
#include "edat.h"
#include "edat_debug.h"

#ifdef __clang__ // edatInit() has no prototype, as in the original: programs give it any arguments
#pragma clang diagnostic ignored "-Wdeprecated-non-prototype"
#endif

#define SAME(a, b) _Static_assert((a) == (b), #a " is not " #b)
SAME(EDAT_NOTYPE, 0);
SAME(EDAT_NONE, 0);
SAME(EDAT_INT, 1);
SAME(EDAT_FLOAT, 2);
SAME(EDAT_DOUBLE, 3);
SAME(EDAT_BYTE, 4);
SAME(EDAT_ADDRESS, 5);
SAME(EDAT_LONG, 6);
SAME(EDAT_ALL, -1);
SAME(EDAT_ANY, -2);
SAME(EDAT_SELF, -3);

// The members, and that they lie as those of these.
struct metadata {
  int data_type, number_elements, source;
  char* event_id;
};
struct event {
  void* data;
  struct metadata metadata;
};
#define MEMBER(known, ours, member, type)                                        \
  SAME(offsetof(struct known, member), offsetof(ours, member));                  \
  _Static_assert(_Generic(&((ours*)0)->member, type*: 1, default: 0), #member)
MEMBER(metadata, EDAT_Metadata, data_type, int);
MEMBER(metadata, EDAT_Metadata, number_elements, int);
MEMBER(metadata, EDAT_Metadata, source, int);
MEMBER(metadata, EDAT_Metadata, event_id, char*);
MEMBER(event, EDAT_Event, data, void*);
MEMBER(event, EDAT_Event, metadata, EDAT_Metadata);
SAME(sizeof(struct metadata), sizeof(EDAT_Metadata));
SAME(sizeof(struct event), sizeof(EDAT_Event));

// Visible, so that each function must be in the library.
extern const struct interface {
  void (*init)();
  void (*init_with_configuration)(int, char**, char**);
  void (*finalise)(void);
  int (*get_rank)(void);
  int (*get_num_ranks)(void);
  void (*submit_task)(void (*)(EDAT_Event*, int), int, ...);
  void (*submit_named_task)(void (*)(EDAT_Event*, int), const char*, int, ...);
  void (*submit_persistent_task)(void (*)(EDAT_Event*, int), int, ...);
  void (*submit_persistent_greedy_task)(void (*)(EDAT_Event*, int), int, ...);
  void (*submit_persistent_named_task)(void (*)(EDAT_Event*, int), const char*, int, ...);
  void (*submit_persistent_named_greedy_task)(void (*)(EDAT_Event*, int), const char*, int, ...);
  int (*is_task_submitted)(const char*);
  int (*remove_task)(const char*);
  void (*fire_event)(void*, int, int, int, const char*);
  void (*fire_persistent_event)(void*, int, int, int, const char*);
  int (*find_event)(EDAT_Event*, int, int, const char*);
  int (*define_context)(size_t);
  void* (*create_context)(int);
  void (*lock)(char*);
  void (*unlock)(char*);
  int (*test_lock)(char*);
  EDAT_Event* (*wait)(int, ...);
  EDAT_Event* (*retrieve_any)(int*, int, ...);
  int (*get_num_workers)(void);
  int (*get_worker)(void);
  int (*get_num_active_workers)(void);
  void (*restart)(void);
  void (*pause_main_thread)(void);
  void (*submit_task_f)(void (*)(EDAT_Event*, int), const char*, int, int**, char**, bool, bool);
  void (*lock_comms)(void);
  void (*unlock_comms)(void);
  void (*initialise_with_communicator)(int);
} interface;

const struct interface interface = {edatInit,
                                    edatInitWithConfiguration,
                                    edatFinalise,
                                    edatGetRank,
                                    edatGetNumRanks,
                                    edatSubmitTask,
                                    edatSubmitNamedTask,
                                    edatSubmitPersistentTask,
                                    edatSubmitPersistentGreedyTask,
                                    edatSubmitPersistentNamedTask,
                                    edatSubmitPersistentNamedGreedyTask,
                                    edatIsTaskSubmitted,
                                    edatRemoveTask,
                                    edatFireEvent,
                                    edatFirePersistentEvent,
                                    edatFindEvent,
                                    edatDefineContext,
                                    edatCreateContext,
                                    edatLock,
                                    edatUnlock,
                                    edatTestLock,
                                    edatWait,
                                    edatRetrieveAny,
                                    edatGetNumWorkers,
                                    edatGetWorker,
                                    edatGetNumActiveWorkers,
                                    edatRestart,
                                    edatPauseMainThread,
                                    edatSubmitTask_f,
                                    edatLockComms,
                                    edatUnlockComms,
                                    edatInitialiseWithCommunicator};

static int got = 0;

static void task(EDAT_Event* events, int num_events) {
  got = num_events == 1 && events[0].metadata.data_type == EDAT_INT ? *(int*)events[0].data : 0;
}

int main(void) {
  int value = 42;
  interface.init(&value, "any", 3.0); // arguments
  const int is_alone = interface.get_rank() == 0 && interface.get_num_ranks() == 1;
  interface.submit_task(task, 1, EDAT_SELF, "event");
  interface.fire_event(&value, EDAT_INT, 1, EDAT_SELF, "event");
  interface.finalise();
  return is_alone && got == value ? 0 : 1;
}

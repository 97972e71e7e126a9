// Bad use of edat.h: each case must end the program with an error that names the call.
#include "edat.h"
#include "edat_binding.h"
#include "edat_debug.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void nothing(EDAT_Event* events, int num_events) {}
static void finalises(EDAT_Event* events, int num_events) { edatFinalise(); }
static void waits(EDAT_Event* events, int num_events) { edatWait(1, EDAT_SELF, "never"); }
static void unlocks(EDAT_Event* events, int num_events) { edatUnlock("not held"); }
static void waits_with_comms(EDAT_Event* events, int num_events) {
  edatLockComms();
  edatWait(1, EDAT_SELF, "never");
}
static void pauses(EDAT_Event* events, int num_events) { edatPauseMainThread(); }

static void never_returns(EDAT_Event* events, int num_events) {
  while (1) pause();
}

static atomic_int has_b = 0;
static void locks_b_and_a(EDAT_Event* events, int num_events) {
  edatLock("b");
  atomic_store(&has_b, 1);
  edatLock("a"); // which main() has
}
static void waits_for_fewer(EDAT_Event* events, int num_events) { edatWait(-1); }

static void* unlocks_of_main(void* unused) {
  edatUnlock("mine");
  return NULL;
}

static int value = 1;

static void before_init(const char* what) {
  char* keys[] = {"EDAT_NUM_WORKERS"};
  char* values[] = {"none"};
  char* unknown[] = {"EDAT_NUM_WORKER"};
  if (!strcmp(what, "before_init")) edatSubmitTask(nothing, 0);
  if (!strcmp(what, "rank_before_init")) edatGetRank();
  if (!strcmp(what, "finalise_before_init")) edatFinalise();
  if (!strcmp(what, "bad_value")) edatInitWithConfiguration(1, keys, values);
  if (!strcmp(what, "unknown_key")) edatInitWithConfiguration(1, unknown, values);
  if (!strcmp(what, "negative_options")) edatInitWithConfiguration(-1, keys, values);
  if (!strcmp(what, "restart_before_init")) edatRestart();
  if (!strcmp(what, "communicator")) edatInitialiseWithCommunicator(0);
  if (!strcmp(what, "null_key")) edatInitWithConfiguration(1, NULL, values);
}

static void after_init(const char* what) {
  if (!strcmp(what, "twice")) edatInit();
  if (!strcmp(what, "bad_type")) edatFireEvent(&value, 17, 1, EDAT_SELF, "a");
  if (!strcmp(what, "bad_context")) edatFireEvent(&value, 1000, 1, EDAT_SELF, "a");
  if (!strcmp(what, "create_context")) edatCreateContext(3);
  if (!strcmp(what, "bad_target")) edatFireEvent(&value, EDAT_INT, 1, 99, "a");
  if (!strcmp(what, "any_target")) edatFirePersistentEvent(&value, EDAT_INT, 1, EDAT_ANY, "a");
  if (!strcmp(what, "null_id")) edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, NULL);
  if (!strcmp(what, "null_data")) edatFireEvent(NULL, EDAT_INT, 1, EDAT_SELF, "a");
  if (!strcmp(what, "negative_count")) edatFireEvent(&value, EDAT_INT, -1, EDAT_SELF, "a");
  if (!strcmp(what, "null_task")) edatSubmitTask(NULL, 0);
  if (!strcmp(what, "null_name")) edatSubmitNamedTask(nothing, NULL, 0);
  if (!strcmp(what, "bad_source")) edatSubmitNamedTask(nothing, "t", 1, 99, "a");
  if (!strcmp(what, "bad_source_on_last") && edatGetRank() == edatGetNumRanks() - 1) {
    edatSubmitTask(nothing, 1, edatGetNumRanks(), "a");
  }
  if (!strcmp(what, "null_source_id")) edatSubmitTask(nothing, 1, EDAT_ANY, (char*)NULL);
  if (!strcmp(what, "persistent_without")) edatSubmitPersistentTask(nothing, 0);
  if (!strcmp(what, "null_retrieved")) edatRetrieveAny(NULL, 1, EDAT_ANY, "a");
  if (!strcmp(what, "finalise_in_task")) edatSubmitTask(finalises, 0);
  if (!strcmp(what, "unlock")) edatSubmitTask(unlocks, 0);
  if (!strcmp(what, "unlock_of_another")) {
    pthread_t thread;
    edatLock("mine");
    pthread_create(&thread, NULL, unlocks_of_main, NULL);
    pthread_join(thread, NULL);
  }
  if (!strcmp(what, "task_left")) edatSubmitNamedTask(nothing, "waiting", 1, EDAT_ANY, "never");
  if (!strcmp(what, "event_left")) edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, "nobody's");
  if (!strcmp(what, "wait_left")) edatSubmitTask(waits, 0);
  if (!strcmp(what, "task_never_returns")) edatSubmitNamedTask(never_returns, "endless", 0);
}

// A wait of main(), which counts like a task; other ranks go on to edatFinalise.
static void waits_in_main(const char* what) {
  const int is_first = edatGetRank() == 0;
  if (!strcmp(what, "wait_left_in_main") && is_first) edatWait(1, EDAT_ANY, "never");
  if (!strcmp(what, "wait_left_in_all_mains")) edatWait(1, EDAT_ANY, "never");
  if (!strcmp(what, "wait_left_for_another") && is_first) {
    edatWait(1, edatGetNumRanks() - 1, "never");
  }
  if (!strcmp(what, "wait_left_after_others") && is_first) {
    edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, "once");
    edatWait(1, EDAT_SELF, "once");
    edatWait(1, EDAT_SELF, "once");
  }
  if (!strcmp(what, "locks_in_main")) {
    edatLock("a");
    edatSubmitNamedTask(locks_b_and_a, "b and a", 0);
    while (!atomic_load(&has_b)) {
    }
    edatLock("b");
  }
}

static void debug_calls(const char* what) {
  int ranks[] = {0};
  int* sources = ranks;
  char* ids[] = {NULL};
  if (!strcmp(what, "comms_twice")) {
    edatLockComms();
    edatLockComms();
  }
  if (!strcmp(what, "comms_not_locked")) edatUnlockComms();
  if (!strcmp(what, "comms_at_end")) edatLockComms();
  if (!strcmp(what, "comms_at_pause")) {
    edatLockComms();
    edatPauseMainThread();
  }
  if (!strcmp(what, "comms_in_wait")) edatSubmitTask(waits_with_comms, 0);
  if (!strcmp(what, "pause_in_task")) edatSubmitTask(pauses, 0);
  if (!strcmp(what, "pause_with_task_left")) {
    edatSubmitNamedTask(nothing, "waiting", 1, EDAT_ANY, "never");
    edatPauseMainThread();
  }
  if (!strcmp(what, "fortran_sources")) edatSubmitTask_f(nothing, NULL, 1, NULL, ids, 0, 0);
  if (!strcmp(what, "fortran_id")) edatSubmitTask_f(nothing, NULL, 1, &sources, ids, 0, 0);
  if (!strcmp(what, "fortran_greedy")) edatSubmitTask_f(nothing, "t", 0, NULL, NULL, 0, 1);
}

static void finalises_bound(EDAT_Event* events, int num_events, void* user) { edatFinalise(); }
static void pauses_bound(EDAT_Event* events, int num_events, void* user) { edatPauseWithCode(); }
static void waits_bound(EDAT_Event* events, int num_events, void* user) {
  edatWait(1, EDAT_SELF, "never");
}

static void bound_tasks(const char* what) {
  const int self[] = {EDAT_SELF};
  const char* const ids[] = {"never"};
  EDAT_Bound_Task task;
  memset(&task, 0, sizeof task);
  if (!strcmp(what, "bound_null")) edatSubmitBoundTask(NULL, 0, NULL, NULL);
  if (!strcmp(what, "bound_null_function")) edatSubmitBoundTask(&task, 0, NULL, NULL);
  task.function = waits_bound;
  if (!strcmp(what, "bound_null_sources")) edatSubmitBoundTask(&task, 1, NULL, ids);
  if (!strcmp(what, "bound_null_ids")) edatSubmitBoundTask(&task, 1, self, NULL);
  if (!strcmp(what, "bound_negative")) edatSubmitBoundTask(&task, -1, self, ids);
  if (!strcmp(what, "bound_wait_left")) edatSubmitBoundTask(&task, 0, NULL, NULL);
  task.greedy = 1;
  if (!strcmp(what, "bound_greedy")) edatSubmitBoundTask(&task, 1, self, ids);
  task.persistent = 1;
  if (!strcmp(what, "bound_persistent")) edatSubmitBoundTask(&task, 0, self, ids);
  task.persistent = task.greedy = 0;
  task.function = finalises_bound;
  if (!strcmp(what, "bound_finalises")) edatSubmitBoundTask(&task, 0, NULL, NULL);
  task.function = pauses_bound;
  if (!strcmp(what, "bound_pauses")) edatSubmitBoundTask(&task, 0, NULL, NULL);
  if (!strcmp(what, "released_capacity")) edatTakeReleasedTasks(NULL, -1);
  if (!strcmp(what, "released_null")) edatTakeReleasedTasks(NULL, 1);
  if (!strcmp(what, "bound_null_retrieved")) edatRetrieveAnyFor(NULL, 1, self, ids);
}

static void counts(const char* what) {
  int found = 0;
  if (!strcmp(what, "negative_dependencies")) edatSubmitTask(nothing, -1);
  if (!strcmp(what, "negative_named")) edatSubmitNamedTask(nothing, "t", -2);
  if (!strcmp(what, "negative_wait")) edatSubmitTask(waits_for_fewer, 0);
  if (!strcmp(what, "negative_retrieve")) edatRetrieveAny(&found, -1);
}

static void names(const char* what) {
  EDAT_Event event;
  memset(&event, 0, sizeof event);
  if (!strcmp(what, "null_lock")) edatLock(NULL);
  if (!strcmp(what, "null_unlock")) edatUnlock(NULL);
  if (!strcmp(what, "null_test_lock")) edatTestLock(NULL);
  if (!strcmp(what, "null_is_submitted")) edatIsTaskSubmitted(NULL);
  if (!strcmp(what, "null_remove")) edatRemoveTask(NULL);
  if (!strcmp(what, "null_find_id")) edatFindEvent(&event, 1, EDAT_ANY, NULL);
  if (!strcmp(what, "null_find_array")) edatFindEvent(NULL, 1, EDAT_ANY, "a");
  if (!strcmp(what, "null_find_event_id")) edatFindEvent(&event, 1, EDAT_ANY, "a");
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  before_init(what);
  edatInit();
  after_init(what);
  waits_in_main(what);
  debug_calls(what);
  bound_tasks(what);
  counts(what);
  names(what);
  edatFinalise();
  if (!strcmp(what, "after_finalise")) edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, "a");
  printf("not refused\n");
  return 0;
}

// Tasks of edat_binding.h: functions that stay on a thread of their own while their task waits.
// processes: 1 2 4
// environment: EDAT_NUM_WORKERS=1
// output: waits: got 7, the thread is the same: 1, worker 0
// output: locks: 0 1 1 0
// output: polls: got 2
// output: persistent: 3 runs, released 0, then 1
// output: greedy: 4 events
// output 2: ring: 2 hops
// output 4: ring: 4 hops
#include "edat.h"
#include "edat_binding.h"
#include "edat_debug.h"
#include <pthread.h>
#include <stdio.h>

static const int self[] = {EDAT_SELF, EDAT_SELF};
static int seven = 7;
static int runs = 0;
static int greedy_events = 0;

static void submit(void (*function)(EDAT_Event*, int, void*), void* user, const char* event_id) {
  const EDAT_Bound_Task task = {.function = function, .user = user};
  edatSubmitBoundTask(&task, event_id == NULL ? 0 : 1, self, &event_id);
}

static void waits(EDAT_Event* events, int num_events, void* user) {
  const pthread_t before = pthread_self();
  const char* const ids[] = {"later"};
  int number = 0;
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "go"); // to a task on the same worker
  EDAT_Event* const later = edatWaitFor(&number, 1, self, ids);
  printf("waits: got %d, the thread is the same: %d, worker %d\n", *(int*)later[0].data,
         number == 1 && user == &seven && pthread_equal(before, pthread_self()) != 0,
         edatGetWorker());
}

static void answers(EDAT_Event* events, int num_events, void* user) {
  edatFireEvent(&seven, EDAT_INT, 1, EDAT_SELF, "later");
}

static void locks(EDAT_Event* events, int num_events, void* user) {
  const int before = edatTestLock("lock");
  edatLock("lock");
  const int during = edatTestLock("lock");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "begin to wait");
  edatWait(1, EDAT_SELF, "unlocked"); // by a task that takes the lock
  const int after = edatTestLock("lock");
  edatUnlock("lock");
  printf("locks: %d %d %d %d\n", before, during, after, edatTestLock("lock"));
}

static void locks_too(EDAT_Event* events, int num_events, void* user) {
  edatLock("lock");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "unlocked");
}

static void polls(EDAT_Event* events, int num_events, void* user) {
  const char* const ids[] = {"one", "two"};
  int total = 0, number = 0;
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "kick");
  while (total < 2) {
    edatRetrieveAnyFor(&number, 2, self, ids);
    total += number;
  }
  printf("polls: got %d\n", total);
}

static void kicks(EDAT_Event* events, int num_events, void* user) {
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "one");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "two");
}

static void counts(EDAT_Event* events, int num_events, void* user) { runs++; }

static void takes_all(EDAT_Event* events, int num_events, void* user) {
  greedy_events += num_events;
}

static void passes_on(EDAT_Event* events, int num_events, void* user) {
  int hops = *(int*)events[0].data + 1;
  if (edatGetRank() == 0) {
    printf("ring: %d hops\n", hops);
  } else {
    edatFireEvent(&hops, EDAT_INT, 1, (edatGetRank() + 1) % edatGetNumRanks(), "ring");
  }
}

static void persistent_tasks(void) {
  const char* const ids[] = {"count"};
  const char* const greedy_ids[] = {"many"};
  const EDAT_Bound_Task task = {counts, &runs, "counter", 1, 0};
  const EDAT_Bound_Task greedy = {takes_all, NULL, "greedy", 1, 1};
  void* released[16] = {NULL};
  edatPauseMainThread();
  edatTakeReleasedTasks(released, 16); // of the tasks before
  edatSubmitBoundTask(&task, 1, self, ids);
  edatSubmitBoundTask(&greedy, 1, self, greedy_ids);
  for (int i = 0; i < 3; i++) edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "count");
  for (int i = 0; i < 4; i++) edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "many");
  edatPauseMainThread();
  const int before = edatTakeReleasedTasks(released, 16);
  edatRemoveTask("counter");
  const int after = edatTakeReleasedTasks(released, 16);
  if (edatGetRank() != 0) return;
  printf("persistent: %d runs, released %d, then %d\n", runs, before,
         after == 1 && released[0] == &runs);
  printf("greedy: %d events\n", greedy_events);
}

int main() {
  const int from_previous[] = {EDAT_ANY};
  const char* const ids[] = {"ring"};
  const EDAT_Bound_Task passing = {.function = passes_on};
  edatInit();
  if (edatGetRank() == 0) {
    submit(waits, &seven, NULL);
    submit(answers, NULL, "go");
    submit(locks, NULL, NULL);
    submit(locks_too, NULL, "begin to wait");
    submit(polls, NULL, NULL);
    submit(kicks, NULL, "kick");
  }
  if (edatGetNumRanks() > 1) {
    edatSubmitBoundTask(&passing, 1, from_previous, ids);
    int hops = 0;
    if (edatGetRank() == 0) edatFireEvent(&hops, EDAT_INT, 1, 1, "ring");
  }
  persistent_tasks();
  return edatFinaliseWithCode();
}

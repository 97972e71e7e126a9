// The calls of edat_debug.h.
// processes: 1 2 4
// environment: EDAT_NUM_WORKERS=2
// output: workers: 2, main() on -1
// output: at work: 2 2, on different workers
// output: paused: 10 runs, then 20
// output: one at a time: 100
#include "edat.h"
#include "edat_debug.h"
#include <stdatomic.h>
#include <stdio.h>

static atomic_int arrived = 0, looked = 0, runs = 0;
static int active[2], worker[2];
static int counter = 0; // guarded by edatLockComms

static void meets(EDAT_Event* events, int num_events) {
  const int self = atomic_fetch_add(&arrived, 1);
  worker[self] = edatGetWorker();
  while (atomic_load(&arrived) < 2) {
  }
  active[self] = edatGetNumActiveWorkers();
  atomic_fetch_add(&looked, 1);
  while (atomic_load(&looked) < 2) {
  }
}

static void hops(EDAT_Event* events, int num_events) {
  int left = *(int*)events[0].data;
  atomic_fetch_add(&runs, 1);
  if (--left > 0) {
    edatSubmitTask(hops, 1, EDAT_SELF, "hop");
    edatFireEvent(&left, EDAT_INT, 1, EDAT_SELF, "hop");
  } else if (edatGetRank() != 0) {
    edatFireEvent(NULL, EDAT_NONE, 0, 0, "done");
  }
}

static void nothing(EDAT_Event* events, int num_events) {}

static void begin_hops(void) {
  int ten = 10;
  if (edatGetRank() == 0) {
    for (int i = 1; i < edatGetNumRanks(); i++) edatSubmitTask(nothing, 1, i, "done");
  }
  edatSubmitTask(hops, 1, EDAT_SELF, "hop");
  edatFireEvent(&ten, EDAT_INT, 1, EDAT_SELF, "hop");
}

static void counts(EDAT_Event* events, int num_events) {
  for (int i = 0; i < 10; i++) {
    edatLockComms();
    counter++;
    edatUnlockComms();
  }
}

int main(int argc, char** argv) {
  edatInit(&argc, &argv, NULL); // as older programs do
  const int has_two = edatGetNumWorkers(), main_worker = edatGetWorker();
  edatSubmitTask(meets, 0);
  edatSubmitTask(meets, 0);
  edatPauseMainThread();
  const int differ = worker[0] >= 0 && worker[1] >= 0 && worker[0] + worker[1] == 1;
  edatRestart();
  begin_hops();
  edatPauseMainThread();
  edatRestart();
  const int first = atomic_load(&runs);
  begin_hops();
  edatPauseMainThread(); // without edatRestart behind it
  const int second = atomic_load(&runs);
  for (int i = 0; i < 10; i++) edatSubmitTask(counts, 0);
  edatFinalise();
  if (edatGetRank() != 0) return 0;
  printf("workers: %d, main() on %d\n", has_two, main_worker);
  printf("at work: %d %d, on %s workers\n", active[0], active[1], differ ? "different" : "wrong");
  printf("paused: %d runs, then %d\n", first, second);
  printf("one at a time: %d\n", counter);
  return 0;
}

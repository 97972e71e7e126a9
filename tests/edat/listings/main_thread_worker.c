// EDAT_MAIN_THREAD_WORKER: while main() runs it has one of the workers, and tasks the others.
// processes: 1
// environment: EDAT_MAIN_THREAD_WORKER=true EDAT_NUM_WORKERS=2
// output: beside main(): 8 tasks on worker 0
// output: while main() waits: two tasks at once
// output: beside main() again: 8 tasks on worker 0
#include "edat.h"
#include "edat_debug.h"
#include <stdatomic.h>
#include <stdio.h>

static atomic_int done = 0, on_first = 0, arrived = 0;

static void runs(EDAT_Event* events, int num_events) {
  if (edatGetWorker() == 0) atomic_fetch_add(&on_first, 1);
  atomic_fetch_add(&done, 1);
}

static void meets(EDAT_Event* events, int num_events) { // needs a second worker
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < 2) {
  }
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "met");
}

static int beside_main(void) {
  while (edatGetNumActiveWorkers() != 1) { // until main() has its worker
  }
  atomic_store(&done, 0);
  atomic_store(&on_first, 0);
  for (int i = 0; i < 8; i++) edatSubmitTask(runs, 0);
  while (atomic_load(&done) < 8) {
  }
  return atomic_load(&on_first);
}

int main() {
  edatInit();
  printf("beside main(): %d tasks on worker 0\n", beside_main());
  edatSubmitTask(meets, 0);
  edatSubmitTask(meets, 0);
  edatWait(2, EDAT_SELF, "met", EDAT_SELF, "met");
  printf("while main() waits: two tasks at once\n");
  printf("beside main() again: %d tasks on worker 0\n", beside_main());
  edatFinalise();
  return 0;
}

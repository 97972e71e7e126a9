// Listing 7 of the EDAT paper: a persistent task runs as often as its dependencies are met, and
// need not have run when the program ends.
// processes: 1 2 4
// output 1: 10 runs, sum 45
// output 2: 20 runs, sum 90
// output 4: 40 runs, sum 180
#include "edat.h"
#include <stdio.h>

static int runs = 0, sum = 0;

static void count(EDAT_Event* events, int num_events) {
  edatLock("counters");
  runs += num_events;
  sum += *((int*)events[0].data);
  edatUnlock("counters");
}

static void never(EDAT_Event* events, int num_events) { printf("this must not run\n"); }

int main() {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitPersistentTask(count, 1, EDAT_ANY, "count");
    edatSubmitPersistentTask(never, 2, EDAT_ANY, "half", EDAT_ANY, "nobody fires this");
    edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "half");
  }
  for (int i = 0; i < 10; i++) edatFireEvent(&i, EDAT_INT, 1, 0, "count");
  edatFinalise();
  if (edatGetRank() == 0) printf("%d runs, sum %d\n", runs, sum);
  return 0;
}

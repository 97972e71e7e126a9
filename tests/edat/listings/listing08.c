// Listing 8 of the EDAT paper: a persistent event is there again once it was consumed, and need not
// be consumed when the program ends.
// processes: 1 2 4
// output: 1 * 98
// output: 2 * 98
// output: 3 * 98
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event* events, int num_events) {
  if (num_events == 2) printf("%d * %d\n", *((int*)events[0].data), *((int*)events[1].data));
  *((int*)events[1].data) = 0; // the event keeps its own
}

int main() {
  edatInit();
  const int from = edatGetNumRanks() - 1;
  if (edatGetRank() == 0) {
    for (int i = 0; i < 3; i++) edatSubmitTask(task, 2, EDAT_SELF, "number", from, "persistent");
    for (int i = 1; i <= 3; i++) edatFireEvent(&i, EDAT_INT, 1, EDAT_SELF, "number");
  }
  if (edatGetRank() == from) {
    int value = 98;
    edatFirePersistentEvent(&value, EDAT_INT, 1, 0, "persistent");
  }
  edatFinalise();
  return 0;
}

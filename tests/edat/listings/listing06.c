// Listing 6 of the EDAT paper: a barrier that does not block. No rank's task runs before all ranks
// have fired; the main function of each goes on meanwhile.
// processes: 1 2 4
// output 1: rank 0 passed
// output 2: rank 0 passed
// output 2: rank 1 passed
// output 4: rank 0 passed
// output 4: rank 1 passed
// output 4: rank 2 passed
// output 4: rank 3 passed
#include "edat.h"
#include <stdio.h>

void task(EDAT_Event* events, int num_events) {
  for (int i = 0; i < num_events; i++) {
    if (events[i].metadata.source != i) return;
  }
  if (num_events == edatGetNumRanks()) printf("rank %d passed\n", edatGetRank());
}

int main() {
  edatInit();
  edatSubmitTask(task, 1, EDAT_ALL, "event");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_ALL, "event");
  edatFinalise();
  return 0;
}

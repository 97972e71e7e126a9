// Listing 10 of the EDAT paper: events protect local data. The task that has the event "data" is
// the only one that runs. Its address is fired as in the paper: the library copies what that points
// to.
// processes: 2 4
// environment: EDAT_ADDRESS_RULE=paper
// output: 55 of 10 values
#include "edat.h"
#include <stdio.h>
#include <stdlib.h>

static int inside = 0;

void task(EDAT_Event* events, int num_events) {
  int* shared_data = (int*)events[0].data;
  if (++inside != 1) printf("two tasks at once\n");
  shared_data[0] += *((int*)events[1].data);
  shared_data[1]++;
  --inside;
  edatFireEvent(events[0].data, EDAT_ADDRESS, 1, EDAT_SELF, "data");
}

int main() {
  int* shared_data = NULL;
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitPersistentTask(task, 2, EDAT_SELF, "data", 1, "values");
    shared_data = (int*)calloc(10, sizeof(int));
    edatFireEvent(shared_data, EDAT_ADDRESS, 1, EDAT_SELF, "data");
  } else if (edatGetRank() == 1) {
    for (int i = 1; i <= 10; i++) edatFireEvent(&i, EDAT_INT, 1, 0, "values");
  }
  edatFinalise();
  if (shared_data != NULL) printf("%d of %d values\n", shared_data[0], shared_data[1]);
  free(shared_data);
  return 0;
}

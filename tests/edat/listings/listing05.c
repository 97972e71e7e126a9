// Listing 5 of the EDAT paper: a naive reduction. The task runs once every rank has fired.
// processes: 1 2 4
// output 1: 10
// output 2: 21
// output 4: 46
#include "edat.h"
#include <stdio.h>

void task(EDAT_Event* events, int num_events) {
  int total = 0;
  for (int i = 0; i < num_events; i++) {
    total += *((int*)events[i].data);
  }
  printf("%d\n", total);
}

int main() {
  edatInit();
  if (edatGetRank() == 0) edatSubmitTask(task, 1, EDAT_ALL, "event");
  int value = 10 + edatGetRank();
  edatFireEvent(&value, EDAT_INT, 1, 0, "event");
  edatFinalise();
  return 0;
}

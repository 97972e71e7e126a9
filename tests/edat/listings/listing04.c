// Listing 4 of the EDAT paper: a parallel program. The arguments of edatFireEvent stand here in the
// order of its signature (data, type, number); the paper's listing has them as data, number, type.
// processes: 2 4
// output: 133
#include "edat.h"
#include <stdio.h>

void task1(EDAT_Event*, int);
void task2(EDAT_Event*, int);
void task3(EDAT_Event*, int);

int main() {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitTask(task1, 0);
  } else if (edatGetRank() == 1) {
    edatSubmitTask(task2, 1, 0, "event1");
    edatSubmitTask(task3, 2, 0, "event2", 1, "event3");
  }
  edatFinalise();
  return 0;
}

void task1(EDAT_Event* events, int num_events) {
  edatFireEvent(NULL, EDAT_NONE, 0, 1, "event1");
  int d = 33;
  edatFireEvent(&d, EDAT_INT, 1, 1, "event2");
}

void task2(EDAT_Event* events, int num_events) {
  int d = 100;
  edatFireEvent(&d, EDAT_INT, 1, EDAT_SELF, "event3");
}

void task3(EDAT_Event* events, int num_events) {
  printf("%d\n", *((int*)events[0].data) + *((int*)events[1].data));
}

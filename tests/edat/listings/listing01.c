// Listing 1 of the EDAT paper: a task is submitted with the events that it depends on.
// processes: 1 2 4
// output: every task ran
#include "edat.h"
#include <stdio.h>

static int ran = 0;

static void at_once(EDAT_Event* events, int number_of_events) {
  (void)events;
  if (number_of_events != 0) return;
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "first");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "second");
}

static void with_two(EDAT_Event* events, int number_of_events) {
  (void)events;
  ran = number_of_events;
}

int main() {
  edatInit();
  edatSubmitTask(with_two, 2, EDAT_SELF, "first", EDAT_ANY, "second");
  edatSubmitTask(at_once, 0);
  edatFinalise();
  if (ran != 2) return 1;
  if (edatGetRank() == 0) printf("every task ran\n");
  return 0;
}

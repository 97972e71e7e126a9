// Listing 9 of the EDAT paper: a task waits for further events, with its local variables kept, and
// asks for those that are there.
// processes: 1 2 4
// output 1: before 5, after 11, then 2 of 2
// output 2: before 5, after 11 12, then 2 of 2
// output 4: before 5, after 11 12 13 14, then 2 of 2
#include "edat.h"
#include <stdio.h>

static void waits(EDAT_Event* events, int num_events) {
  const int before = *((int*)events[0].data);
  int retrieved = -1;
  if (num_events != 1 || edatRetrieveAny(&retrieved, 1, EDAT_ANY, "not there") != NULL) return;
  if (retrieved != 0) return;
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_ALL, "go");
  EDAT_Event* later = edatWait(1, EDAT_ALL, "later");

  // One worker is enough: this task asks again and again, and others get their turn.
  int total = 0, index = 0;
  edatFireEvent(&index, EDAT_INT, 1, EDAT_SELF, "kick");
  while (total < 2) {
    EDAT_Event* some = edatRetrieveAny(&retrieved, 2, EDAT_SELF, "one", EDAT_SELF, "two");
    for (int i = 0; i < retrieved; i++) total += some[i].data == NULL;
  }
  printf("before %d, after", before);
  for (int i = 0; i < edatGetNumRanks(); i++) printf(" %d", *((int*)later[i].data));
  printf(", then %d of 2\n", total);
}

static void answers(EDAT_Event* events, int num_events) {
  int value = 11 + edatGetRank();
  edatFireEvent(&value, EDAT_INT, 1, events[0].metadata.source, "later");
}

static void kicks(EDAT_Event* events, int num_events) {
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "one");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "two");
}

int main() {
  char* keys[] = {"EDAT_NUM_WORKERS"};
  char* values[] = {"1"};
  edatInitWithConfiguration(1, keys, values);
  edatSubmitTask(answers, 1, 0, "go");
  if (edatGetRank() == 0) {
    edatSubmitTask(kicks, 1, EDAT_SELF, "kick");
    edatSubmitTask(waits, 1, EDAT_SELF, "start");
    int start = 5;
    edatFireEvent(&start, EDAT_INT, 1, EDAT_SELF, "start");
  }
  edatFinalise();
  return 0;
}

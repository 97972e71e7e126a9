// A persistent task that needs {a, b} holds the events of one run: a second "a" is free for others,
// and the next run takes what they leave.
// processes: 1 2 4
// output: transient 2
// output: persistent 1 10
// output: persistent 3 11
#include "edat.h"
#include <stdio.h>

static void fire(const char* name, int value) {
  edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, name);
}

static void both(EDAT_Event* events, int num_events) {
  printf("persistent %d %d\n", *(int*)events[0].data, *(int*)events[1].data);
}

static void one(EDAT_Event* events, int num_events) {
  printf("transient %d\n", *(int*)events[0].data);
}

int main() {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitPersistentTask(both, 2, EDAT_SELF, "a", EDAT_SELF, "b");
    for (int i = 1; i <= 3; i++) fire("a", i);
    edatSubmitTask(one, 1, EDAT_SELF, "a");
    fire("b", 10);
    fire("b", 11);
  }
  edatFinalise();
  return 0;
}

// One persistent event serves all tasks that wait for it, persistent or not, at the same time.
// processes: 1
// output: with a 7
// output: with b 7
// output: with b 7
// output: after the other 7
#include "edat.h"
#include <stdio.h>

static void with_a(EDAT_Event* events, int num_events) {
  printf("with a %d\n", *(int*)events[0].data);
}

static void with_b(EDAT_Event* events, int num_events) {
  printf("with b %d\n", *(int*)events[0].data);
}

static void waits(EDAT_Event* events, int num_events) {
  printf("after the other %d\n", *(int*)events[0].data);
}

static void other(EDAT_Event* events, int num_events) {
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "go");
}

int main() {
  int value = 7;
  edatInit();
  edatSubmitPersistentTask(with_a, 2, EDAT_SELF, "config", EDAT_SELF, "a");
  edatSubmitPersistentTask(with_b, 2, EDAT_SELF, "config", EDAT_SELF, "b");
  edatSubmitTask(waits, 2, EDAT_SELF, "config", EDAT_SELF, "go");
  edatSubmitTask(other, 1, EDAT_SELF, "config");
  edatFirePersistentEvent(&value, EDAT_INT, 1, EDAT_SELF, "config");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "b");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "b");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "a");
  edatFinalise();
  return 0;
}

// An event goes to a task rather than to an earlier wait; and memory of contexts outlives
// edatFinalise.
// processes: 1 2 4
// output: task 1
// output: wait 2
// output: context 42
#include "edat.h"
#include <stdio.h>

static void fire(const char* name, int value) {
  edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, name);
}

static void later(EDAT_Event* events, int num_events) {
  printf("task %d\n", *(int*)events[0].data);
}

// It runs when the other waits, as there is one worker, or it has been taken.
static void begin(EDAT_Event* events, int num_events) {
  edatSubmitTask(later, 1, EDAT_SELF, "a");
  fire("a", 1);
  fire("a", 2);
}

static void waits(EDAT_Event* events, int num_events) {
  edatSubmitTask(begin, 0);
  printf("wait %d\n", *(int*)edatWait(1, EDAT_SELF, "a")[0].data);
}

static void counts(EDAT_Event* events, int num_events) { *(int*)events[0].data += 1; }

int main() {
  char* key = "EDAT_NUM_WORKERS";
  char* value = "1";
  edatInitWithConfiguration(1, &key, &value);
  const int rank = edatGetRank();
  const int type = edatDefineContext(1000 * sizeof(int));
  int* const context = edatCreateContext(type);
  context[0] = 41;
  if (rank == 0) edatSubmitTask(waits, 0);
  edatSubmitTask(counts, 1, EDAT_SELF, "count");
  edatFireEvent(context, type, 1, EDAT_SELF, "count");
  edatFinalise();
  if (rank == 0) printf("context %d\n", context[0]);
  return 0;
}

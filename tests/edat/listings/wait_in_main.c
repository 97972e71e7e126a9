// edatWait in main() releases main's locks meanwhile, as it does in a task.
// processes: 1
// output: the task has both
// output: main has 1 1
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event* events, int num_events) {
  edatLock("a");
  edatLock("b");
  printf("the task has both\n");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "go");
}

static void locks_again(EDAT_Event* events, int num_events) {
  edatLock("b"); // which main gives up in its wait
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "late");
}

int main() {
  edatInit();
  edatLock("b");
  edatLock("a");
  edatSubmitTask(task, 0);
  edatWait(1, EDAT_SELF, "go");
  printf("main has %d %d\n", edatTestLock("a"), edatTestLock("b"));
  edatSubmitTask(locks_again, 0);
  edatUnlock("a");
  edatWait(1, EDAT_SELF, "late");
  edatUnlock("b");
  edatFinalise();
  return 0;
}

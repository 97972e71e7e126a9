// edat.h in C++: edatInit takes any arguments here, too.
#include "edat.h"
#include "edat_debug.h"

static int got = 0;

static void task(EDAT_Event* events, int num_events) {
  got = num_events == 1 ? *static_cast<int*>(events[0].data) : 0;
}

int main(int argc, char** argv) {
  char name[] = "event";
  char* ids[] = {name};
  int source[] = {EDAT_SELF};
  int* sources = source;
  int value = 42;
  edatInit(&argc, &argv, nullptr);
  edatSubmitTask_f(task, "named", 1, &sources, ids, false, false);
  const bool is_there = edatIsTaskSubmitted("named") == 1;
  edatFireEvent(&value, EDAT_INT, 1, EDAT_SELF, "event");
  edatFinalise();
  return is_there && got == value ? 0 : 1;
}

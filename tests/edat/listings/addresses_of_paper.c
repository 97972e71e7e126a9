// Addresses and contexts with the paper's rule: `data` is the address. They go to other ranks as
// numbers, and mean something again when they are back.
// processes: 2 4
// output: the address is back: 42
// output: the context is back: 43
#include "edat.h"
#include <stdio.h>

static int context_type = 0;
static int number = 0;
static int* context = NULL;

static void returns(EDAT_Event* events, int num_events) {
  for (int i = 0; i < num_events; i++) { // not to be read here
    edatFireEvent(events[i].data, events[i].metadata.data_type, 1, events[i].metadata.source,
                  "back");
  }
}

static void is_back(EDAT_Event* events, int num_events) {
  const int are_right = events[0].metadata.data_type == EDAT_ADDRESS &&
                        events[0].data == &number &&
                        events[1].metadata.data_type == context_type && events[1].data == context;
  if (!are_right) return;
  printf("the address is back: %d\n", *(int*)events[0].data);
  printf("the context is back: %d\n", *(int*)events[1].data);
}

int main() {
  char* keys[] = {"EDAT_ADDRESS_RULE"};
  char* values[] = {"Paper"};
  edatInitWithConfiguration(1, keys, values);
  context_type = edatDefineContext(sizeof(int)); // the same number on all ranks
  if (edatGetRank() == 0) {
    number = 42;
    context = (int*)edatCreateContext(context_type);
    *context = 43;
    edatSubmitTask(is_back, 2, 1, "back", 1, "back");
    edatFireEvent(&number, EDAT_ADDRESS, 1, 1, "address");
    edatFireEvent(context, context_type, 1, 1, "context");
  } else if (edatGetRank() == 1) {
    edatSubmitTask(returns, 2, 0, "address", 0, "context");
  }
  edatFinalise();
  return 0;
}

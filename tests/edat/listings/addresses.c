// Addresses and contexts with the library's rule: `data` points to addresses, which are copied; a
// context travels as the pointer. Both come back from other ranks as they were.
// processes: 1 2 4
// output: one: 42
// output: three: 1 2 3
// output: again: 42
// output: persistent: 42
// output: none
// output: the context is back: 43
#include "edat.h"
#include <stdio.h>

static int context_type = 0;
static int number = 42;
static int numbers[] = {1, 2, 3};
static int* context = NULL;

static void shows(EDAT_Event* events, int num_events) {
  const EDAT_Metadata one = events[0].metadata, three = events[1].metadata;
  int** addresses = (int**)events[1].data;
  if (one.data_type != EDAT_ADDRESS || one.number_elements != 1) return;
  if (three.data_type != EDAT_ADDRESS || three.number_elements != 3) return;
  printf("one: %d\n", **(int**)events[0].data);
  printf("three: %d %d %d\n", *addresses[0], *addresses[1], *addresses[2]);
  if (events[2].data == NULL && events[2].metadata.number_elements == 0) printf("none\n");
  edatFireEvent(events[0].data, EDAT_ADDRESS, 1, EDAT_SELF, "again");
  addresses[0] = NULL; // its own
}

static void again(EDAT_Event* events, int num_events) {
  printf("again: %d\n", **(int**)events[0].data);
  printf("persistent: %d\n", **(int**)events[1].data);
}

static void returns(EDAT_Event* events, int num_events) { // not to be read here
  edatFireEvent(events[0].data, EDAT_ADDRESS, 1, events[0].metadata.source, "one");
  edatFireEvent(events[1].data, EDAT_ADDRESS, 3, events[1].metadata.source, "three");
  edatFireEvent(events[2].data, context_type, 1, events[2].metadata.source, "context");
}

static void is_back(EDAT_Event* events, int num_events) {
  if (events[0].metadata.data_type != context_type || events[0].data != context) return;
  printf("the context is back: %d\n", *(int*)events[0].data);
}

int main() {
  edatInit();
  const int last = edatGetNumRanks() - 1;
  context_type = edatDefineContext(sizeof(int)); // the same number on all ranks
  if (edatGetRank() == last) {
    edatSubmitTask(returns, 3, 0, "one there", 0, "three there", 0, "context there");
  }
  if (edatGetRank() == 0) {
    int* address = &number;
    int* addresses[] = {&numbers[0], &numbers[1], &numbers[2]};
    context = (int*)edatCreateContext(context_type);
    *context = 43;
    edatSubmitTask(shows, 3, last, "one", last, "three", EDAT_SELF, "none");
    edatSubmitTask(again, 2, EDAT_SELF, "again", EDAT_SELF, "persistent");
    edatSubmitTask(is_back, 1, last, "context");
    edatFireEvent(&address, EDAT_ADDRESS, 1, last, "one there");
    edatFireEvent(addresses, EDAT_ADDRESS, 3, last, "three there");
    edatFireEvent(context, context_type, 1, last, "context there");
    edatFireEvent(NULL, EDAT_ADDRESS, 0, EDAT_SELF, "none");
    edatFirePersistentEvent(&address, EDAT_ADDRESS, 1, EDAT_SELF, "persistent");
    address = addresses[0] = addresses[1] = addresses[2] = NULL; // the events have their own
  }
  edatFinalise();
  return 0;
}

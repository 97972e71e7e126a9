// Listing 2 of the EDAT paper: the function of a task gets its events in the order of the
// dependencies, whatever the order in which they came.
// processes: 1 2 4
// output: 0: one int "number" from rank 0: 7
// output: 1: 3 bytes "text" from rank 0: abc
// output: 2: nothing with "signal" from rank 0
#include "edat.h"
#include <stdio.h>

static void task(EDAT_Event* events, int number_of_events) {
  if (number_of_events != 3) return;
  for (int i = 0; i < number_of_events; i++) {
    const EDAT_Metadata about = events[i].metadata;
    if (about.data_type == EDAT_INT && about.number_elements == 1) {
      printf("%d: one int \"%s\" from rank %d: %d\n", i, about.event_id, about.source,
             *((int*)events[i].data));
    } else if (about.data_type == EDAT_BYTE) {
      printf("%d: %d bytes \"%s\" from rank %d: %.3s\n", i, about.number_elements, about.event_id,
             about.source, (char*)events[i].data);
    } else if (about.data_type == EDAT_NOTYPE && events[i].data == NULL) {
      printf("%d: nothing with \"%s\" from rank %d\n", i, about.event_id, about.source);
    }
  }
}

int main() {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitTask(task, 3, EDAT_SELF, "number", 0, "text", EDAT_ANY, "signal");
    int number = 7;
    edatFireEvent(NULL, EDAT_NOTYPE, 0, EDAT_SELF, "signal");
    edatFireEvent("abc", EDAT_BYTE, 3, 0, "text");
    edatFireEvent(&number, EDAT_INT, 1, EDAT_SELF, "number");
  }
  edatFinalise();
  return 0;
}

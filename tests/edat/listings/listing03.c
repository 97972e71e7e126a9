// Listing 3 of the EDAT paper: an event is fired with data of a type, which are copied.
// processes: 1 2 4
// output: 1 2 3
// output: 0.5 1.5
// output: 0.25
// output: xyz
// output: 123456789012
// output: the address came
#include "edat.h"
#include <stdio.h>

static int here = 0;
static int* address = &here;

static void task(EDAT_Event* events, int number_of_events) {
  if (number_of_events != 6) return;
  const int* ints = (const int*)events[0].data;
  const float* floats = (const float*)events[1].data;
  printf("%d %d %d\n", ints[0], ints[1], ints[2]);
  printf("%.1f %.1f\n", floats[0], floats[1]);
  printf("%.2f\n", *(const double*)events[2].data);
  printf("%s\n", (const char*)events[3].data);
  printf("%ld\n", *(const long*)events[4].data);
  if (*(int**)events[5].data == &here && events[5].metadata.data_type == EDAT_ADDRESS) {
    printf("the address came\n");
  }
}

int main() {
  edatInit();
  const int last = edatGetNumRanks() - 1;
  if (edatGetRank() == last) {
    edatSubmitTask(task, 6, 0, "ints", 0, "floats", 0, "double", 0, "bytes", 0, "long", EDAT_SELF,
                   "address");
    edatFireEvent(&address, EDAT_ADDRESS, 1, EDAT_SELF, "address");
    address = NULL; // the event has its own
  }
  if (edatGetRank() == 0) {
    int ints[3] = {1, 2, 3};
    float floats[2] = {0.5f, 1.5f};
    double number = 0.25;
    char bytes[4] = "xyz";
    long large = 123456789012;
    edatFireEvent(&large, EDAT_LONG, 1, last, "long");
    edatFireEvent(bytes, EDAT_BYTE, 4, last, "bytes");
    edatFireEvent(&number, EDAT_DOUBLE, 1, last, "double");
    edatFireEvent(floats, EDAT_FLOAT, 2, last, "floats");
    edatFireEvent(ints, EDAT_INT, 3, last, "ints");
    ints[0] = 99; // the event has its own
  }
  edatFinalise();
  return 0;
}

// edatWait in main() does not keep the program from ending, nor does the program end before main()
// has gone on: the tasks that fire for it have not ended before.
// processes: 1 2 4
// output: rounds: 500, from other ranks: 500
#include "edat.h"
#include <stdio.h>

#define ROUNDS 500

static void answers(EDAT_Event* events, int num_events) {
  edatFireEvent(events[0].data, EDAT_INT, 1, EDAT_SELF, "answer");
}

int main() {
  edatInit();
  const int rank = edatGetRank(), size = edatGetNumRanks();
  int rounds = 0, from_others = 0;
  for (int i = 0; i < ROUNDS; i++) { // the last thing that runs here is what fires the answer
    edatSubmitTask(answers, 1, EDAT_SELF, "question");
    edatFireEvent(&i, EDAT_INT, 1, EDAT_SELF, "question");
    rounds += *(int*)edatWait(1, EDAT_SELF, "answer")[0].data == i;
  }
  for (int i = 0; i < ROUNDS; i++) { // all others stand in edatWait, or in edatFinalise
    if (rank == 0) edatFireEvent(&i, EDAT_INT, 1, 1 % size, "token");
    EDAT_Event* token = edatWait(1, EDAT_ANY, "token");
    from_others += *(int*)token[0].data == i;
    if (rank != 0) edatFireEvent(&i, EDAT_INT, 1, (rank + 1) % size, "token");
  }
  edatFinalise();
  if (rank == 0) printf("rounds: %d, from other ranks: %d\n", rounds, from_others);
  return 0;
}

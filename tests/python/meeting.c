/* Two callers that wait for each other: both come back only if they run at once. */
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

/* Whether the other one came before the time was over. */
int meet(atomic_int flags[2], int mine, int seconds_max) {
  const time_t end = time(0) + seconds_max;
  atomic_store(&flags[mine], 1);
  while (!atomic_load(&flags[1 - mine])) {
    if (time(0) > end) return 0;
    sched_yield();
  }
  return 1;
}

// The calls of edat.h that the paper's listings do not show.
// processes: 1 2 4
// output: named: 1 0, removed: 1 0
// output: found: 0 1 -1
// output: context: 42
// output: greedy: 6 events
// output: locks: 0 1 1 0
#include "edat.h"
#include <stdio.h>
#include <string.h>

struct state {
  int answer;
};

static int context_type = 0;
static int greedy_events = 0;

static void nothing(EDAT_Event* events, int num_events) {}

static void finds(EDAT_Event* events, int num_events) {
  printf("found: %d %d %d\n", edatFindEvent(events, num_events, EDAT_SELF, "a"),
         edatFindEvent(events, num_events, EDAT_ANY, "b"),
         edatFindEvent(events, num_events, EDAT_ANY, "c"));
}

static void has_context(EDAT_Event* events, int num_events) {
  struct state* state = (struct state*)events[0].data;
  if (events[0].metadata.data_type != context_type) return;
  printf("context: %d\n", state->answer);
}

static void greedy(EDAT_Event* events, int num_events) {
  greedy_events += num_events; // one instance at a time
}

static void locks(EDAT_Event* events, int num_events) {
  const int before = edatTestLock("lock");
  edatLock("lock");
  edatLock("lock"); // once more is as good as once
  const int during = edatTestLock("lock");
  edatWait(1, EDAT_SELF, "there already");
  const int after_wait = edatTestLock("lock");
  edatUnlock("lock");
  printf("locks: %d %d %d %d\n", before, during, after_wait, edatTestLock("lock"));
  edatLock("left to the library");
}

static void locks_again(EDAT_Event* events, int num_events) {
  edatLock("left to the library");
  edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "had it");
}

int main() {
  edatInit();
  if (edatGetRank() == 0) {
    edatSubmitNamedTask(nothing, "once", 1, EDAT_ANY, "never fired");
    edatSubmitPersistentNamedTask(nothing, "often", 1, EDAT_ANY, "never fired either");
    edatSubmitPersistentNamedGreedyTask(nothing, "greedy", 1, EDAT_ANY, "nor this");
    const int is_there = edatIsTaskSubmitted("once") && edatIsTaskSubmitted("often") &&
                         edatIsTaskSubmitted("greedy");
    const int removed = edatRemoveTask("once");
    printf("named: %d %d, removed: %d %d\n", is_there, edatIsTaskSubmitted("once"), removed,
           edatRemoveTask("once"));

    edatSubmitTask(finds, 2, EDAT_SELF, "a", EDAT_SELF, "b");
    edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "b");
    edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "a");

    context_type = edatDefineContext(sizeof(struct state));
    struct state* state = (struct state*)edatCreateContext(context_type);
    edatFirePersistentEvent(state, context_type, 1, EDAT_SELF, "context");
    state->answer = 42;
    edatSubmitTask(has_context, 1, EDAT_SELF, "context");

    edatSubmitPersistentGreedyTask(greedy, 1, EDAT_ANY, "many");
    for (int i = 0; i < 6; i++) edatFireEvent(&i, EDAT_INT, 1, EDAT_SELF, "many");

    edatFireEvent(NULL, EDAT_NONE, 0, EDAT_SELF, "there already");
    edatSubmitTask(locks, 0);
    edatSubmitTask(locks_again, 0);
    edatSubmitTask(nothing, 1, EDAT_SELF, "had it");
  }
  edatFinalise();
  if (edatGetRank() == 0) printf("greedy: %d events\n", greedy_events);
  return 0;
}

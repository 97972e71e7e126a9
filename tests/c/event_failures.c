// How failures reach C: each case ends with the exit code 3 if the codes were those expected.
#include <shoal/event.h>

#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>

static const char* what = "";
static _Atomic int cancelled = 0;  // of several ranks

static int fails(const shoal_event* events, size_t count, void* user) {
  (void)events;
  (void)count;
  (void)user;
  return 42;
}

static int waits(const shoal_event* events, size_t count, void* user) {
  (void)events;
  (void)count;
  const shoal_dependency never = {SHOAL_ANY, "never"};
  shoal_event_list list;
  const int code = shoal_events_wait(user, &never, 1, &list);
  cancelled = code == SHOAL_ERROR_CANCELLED && strstr(shoal_last_error(), "never") != NULL;
  return code;
}

static _Atomic int runs = 0;
static _Atomic int runs_expected = 0;

static void pause_briefly(void) { thrd_sleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

static int runs_slowly(const shoal_event* events, size_t count, void* user) {
  (void)events;
  (void)count;
  (void)user;
  pause_briefly();
  ++runs;
  return 0;
}

typedef struct place {
  shoal_world* world;
  shoal_events* events;
} place;

// Waits for the world, which a task must not, and fires what another waits for.
static int waits_wrongly(const shoal_event* events, size_t count, void* user) {
  (void)events;
  (void)count;
  const place* here = user;
  if (shoal_wait(here->world) != SHOAL_ERROR_USE) return 1;
  if (shoal_events_fire(here->events, SHOAL_SELF, "waited", NULL) != SHOAL_OK) return 1;
  pause_briefly();
  ++runs;
  return shoal_events_fire(here->events, SHOAL_SELF, "late", NULL);
}

// The main function returns while there is something to do. main() looks whether it was done.
static int leave_the_rest(shoal_world* world, shoal_events* events) {
  static place places[8];
  place* here = &places[shoal_rank(world)];
  const shoal_task slow = {.function = runs_slowly, .name = "slow"};
  const shoal_task wrong = {.function = waits_wrongly, .user = here, .name = "wrong"};
  const shoal_dependency late = {SHOAL_SELF, "late"};
  const shoal_dependency waited[2] = {{SHOAL_SELF, "waited"}, {SHOAL_SELF, "waited"}};
  here->world = world;
  here->events = events;
  for (int i = 0; i < 2; ++i) shoal_events_submit(events, &slow, &late, 1);
  runs_expected += 2;
  if (strcmp(what, "repaired") == 0) {
    if (shoal_wait(world) != SHOAL_ERROR_STUCK) return 1;
    for (int i = 0; i < 2; ++i) shoal_events_fire(events, SHOAL_SELF, "late", NULL);
    return 3;
  }
  for (int i = 0; i < 2; ++i) shoal_events_submit(events, &wrong, NULL, 0);
  runs_expected += 2;
  shoal_event_list list;
  if (shoal_events_wait(events, waited, 2, &list) != SHOAL_OK) return 1;
  shoal_event_list_release(&list);
  return 3;
}

static int repair_badly(shoal_world* world, shoal_events* events) {
  const shoal_task failing = {.function = fails, .name = "the failing one"};
  const shoal_dependency late = {SHOAL_SELF, "late"};
  shoal_events_submit(events, &failing, &late, 1);
  if (shoal_wait(world) != SHOAL_ERROR_STUCK) return 1;
  shoal_events_fire(events, SHOAL_SELF, "late", NULL);
  return 0;  // shoal_run() hears of it
}

static int main_function(shoal_world* world, void* user) {
  (void)user;
  shoal_events* events = shoal_events_make(world, "test");
  const shoal_task failing = {.function = fails, .name = "the failing one"};
  const shoal_task waiting = {.function = waits, .user = events, .name = "the waiting one"};
  const shoal_dependency never = {SHOAL_ANY, "never"};
  int expected = SHOAL_OK;
  const char* text = "";
  if (strcmp(what, "task") == 0) {
    if (shoal_rank(world) == 0) shoal_events_submit(events, &failing, NULL, 0);
    expected = SHOAL_ERROR_TASK;
    text = "the failing one";
  } else if (strcmp(what, "task_in_the_end") == 0) {
    shoal_events_submit(events, &failing, NULL, 0);
    return 0;  // shoal_run() hears of it
  } else if (strcmp(what, "stuck") == 0) {
    shoal_events_submit(events, &waiting, &never, 1);
    expected = SHOAL_ERROR_STUCK;
    text = "the waiting one";
  } else if (strcmp(what, "stuck_waiting") == 0) {
    shoal_events_submit(events, &waiting, NULL, 0);
    expected = SHOAL_ERROR_STUCK;
    text = "the waiting one";
  }
  if (strcmp(what, "repaired") == 0 || strcmp(what, "wait_in_task") == 0) {
    return leave_the_rest(world, events);
  }
  if (strcmp(what, "repaired_badly") == 0) return repair_badly(world, events);
  const int code = shoal_wait(world);
  if (code != expected || strstr(shoal_last_error(), text) == NULL) {
    fprintf(stderr, "code %d: %s\n", code, shoal_last_error());
    return 1;
  }
  if (strcmp(what, "stuck_waiting") == 0 && !cancelled) return 1;
  return 3;
}

int main(int argc, char** argv) {
  if (argc > 1) what = argv[1];
  const int code = shoal_run(argc, argv, main_function, NULL);
  return runs == runs_expected ? code : 2;
}

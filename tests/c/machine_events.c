// Events that the machine fires, from C, each taken by a task. Exit code 0: all were right.
#define _POSIX_C_SOURCE 200809L
#include <shoal/event.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  failures++;
  fprintf(stderr, "line %d: not so: %s (last error: %s)\n", line, what, shoal_last_error());
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static int count_run(const shoal_event* events, size_t count, void* user) {
  CHECK(count == 1 && events[0].type == SHOAL_NONE && events[0].data == NULL);
  ++*(int*)user;
  return 0;
}

// A task that counts its runs in `runs`.
static void expect(shoal_events* events, const char* name, int* runs) {
  const shoal_dependency dependency = {SHOAL_SELF, name};
  const shoal_task task = {.function = count_run, .user = runs, .name = name};
  CHECK(shoal_events_submit(events, &task, &dependency, 1) == SHOAL_OK);
}

static void descriptor(shoal_world* world, shoal_events* events) {
  int ends[2];
  int runs = 0;
  unsigned long long number = 0;
  CHECK(pipe(ends) == 0);
  expect(events, "input", &runs);
  CHECK(shoal_events_fire_when_readable(events, ends[0], SHOAL_SELF, "never", &number) == SHOAL_OK);
  CHECK(shoal_events_cancel(events, number) == 1);
  CHECK(shoal_events_fire_when_readable(events, ends[0], SHOAL_SELF, "input", NULL) == SHOAL_OK);
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(runs == 1);
  close(ends[0]);
  close(ends[1]);
}

static void signals(shoal_world* world, shoal_events* events) {
  int runs = 0;
  expect(events, "signal", &runs);
  CHECK(shoal_events_fire_on_signal(events, SIGUSR2, SHOAL_SELF, "signal", NULL) == SHOAL_OK);
  CHECK(raise(SIGUSR2) == 0);
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(runs == 1);
}

static void memory(shoal_world* world, shoal_events* events) {
  int runs = 0;
  expect(events, "memory", &runs);
  CHECK(shoal_events_fire_when_memory_above(events, 1, SHOAL_SELF, "memory", NULL) == SHOAL_OK);
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(runs == 1);
}

static int main_function(shoal_world* world, void* user) {
  (void)user;
  shoal_events* events = shoal_events_make(world, "machine");
  descriptor(world, events);
  signals(world, events);
  memory(world, events);
  return failures == 0 ? 0 : 1;
}

int main(int argc, char** argv) { return shoal_run(argc, argv, main_function, NULL); }

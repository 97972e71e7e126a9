// How failures reach C: each case ends with the exit code 3 if the codes were those expected.
#include <shoal/event.h>

#include <stdio.h>
#include <string.h>

static const char* what = "";
static int cancelled = 0;

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
  return shoal_run(argc, argv, main_function, NULL);
}

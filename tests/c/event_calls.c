// Every call of <shoal/event.h>, from C, on any number of ranks. Exit code 0: all were right.
#include <shoal/event.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int failures = 0;  // of all ranks in this process

static void check(int holds, const char* what, int line) {
  if (holds) return;
  failures++;
  fprintf(stderr, "line %d: not so: %s (last error: %s)\n", line, what, shoal_last_error());
}
#define CHECK(condition) check((condition), #condition, __LINE__)

// State shared by the tasks of one rank, each accessed by one task at a time or under a lock.
struct state {
  shoal_events* events;
  int rank;
  int size;
  int sum;
  int runs;
  int greedy_events;
  int order[2];
  int ordered;
  int context_type;
  void* context;
  int waited;
  int locked;
};

static int add_up(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  CHECK(count == (size_t)state->size);
  int sum = 0;
  for (size_t i = 0; i < count; i++) {
    CHECK(events[i].source == (int)i && events[i].type == SHOAL_INT && events[i].count == 1);
    CHECK(strcmp(events[i].name, "part") == 0);
    sum += *(const int*)events[i].data;
  }
  const shoal_payload payload = {SHOAL_INT, 1, &sum};
  return shoal_events_fire(state->events, SHOAL_ALL, "sum", &payload);
}

static int take_sum(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  CHECK(count == 1 && events[0].source == 0);
  state->sum = *(const int*)events[0].data;
  return 0;
}

static void reduce(struct state* state, shoal_world* world) {
  if (state->rank == 0) {
    const shoal_dependency parts = {SHOAL_ALL, "part"};
    const shoal_task task = {.function = add_up, .user = state, .name = "add up"};
    CHECK(shoal_events_submit(state->events, &task, &parts, 1) == SHOAL_OK);
  }
  const shoal_dependency sum = {0, "sum"};
  const shoal_task task = {.function = take_sum, .user = state};
  CHECK(shoal_events_submit(state->events, &task, &sum, 1) == SHOAL_OK);
  const int part = state->rank + 1;
  const shoal_payload payload = {SHOAL_INT, 1, &part};
  CHECK(shoal_events_fire(state->events, 0, "part", &payload) == SHOAL_OK);
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(state->sum == state->size * (state->size + 1) / 2);
}

static int check_types(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  CHECK(count == 7);
  CHECK(events[0].type == SHOAL_NONE && events[0].data == NULL && events[0].count == 0);
  CHECK(events[1].type == SHOAL_FLOAT && ((const float*)events[1].data)[1] == 1.5f);
  CHECK(events[2].type == SHOAL_DOUBLE && *(const double*)events[2].data == 0.25);
  CHECK(events[3].type == SHOAL_BYTE && strcmp(events[3].data, "bytes") == 0);
  CHECK(events[4].type == SHOAL_LONG && *(const long*)events[4].data == 123456789012);
  CHECK(events[5].type == SHOAL_ADDRESS && events[5].data == state);
  CHECK(events[6].type == state->context_type && events[6].data == state->context);
  CHECK((uintptr_t)events[2].data % sizeof(double) == 0);
  state->runs++;
  return 0;
}

static void types(struct state* state, shoal_world* world) {
  const float floats[2] = {0.5f, 1.5f};
  const double number = 0.25;
  const long large = 123456789012;
  state->context_type = shoal_events_define_context(state->events, 100);
  CHECK(state->context_type > SHOAL_LONG);
  state->context = shoal_events_create_context(state->events, state->context_type);
  CHECK(state->context != NULL && ((const char*)state->context)[99] == 0);

  const char* names[7] = {"none", "float", "double", "byte", "long", "address", "context"};
  const shoal_payload payloads[7] = {{SHOAL_NONE, 0, NULL},
                                     {SHOAL_FLOAT, 2, floats},
                                     {SHOAL_DOUBLE, 1, &number},
                                     {SHOAL_BYTE, 6, "bytes"},
                                     {SHOAL_LONG, 1, &large},
                                     {SHOAL_ADDRESS, 1, state},
                                     {state->context_type, 1, state->context}};
  shoal_dependency needs[7];
  const int before = (state->rank + state->size - 1) % state->size;
  const int next = (state->rank + 1) % state->size;
  for (int i = 0; i < 7; i++) {
    needs[i] = (shoal_dependency){i < 5 ? before : SHOAL_SELF, names[i]};
  }
  const shoal_task task = {.function = check_types, .user = state};
  state->runs = 0;
  CHECK(shoal_events_submit(state->events, &task, needs, 7) == SHOAL_OK);
  for (int i = 6; i >= 0; i--) {
    CHECK(shoal_events_fire(state->events, i < 5 ? next : SHOAL_SELF, names[i],
                            i > 0 ? &payloads[i] : NULL) == SHOAL_OK);
  }
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(state->runs == 1);
}

static int count_run(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  (void)events;
  CHECK(shoal_events_lock(state->events, "counters") == SHOAL_OK);
  state->runs += (int)count;
  return 0;  // the lock ends with the task
}

static int count_greedy(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  (void)events;
  state->greedy_events += (int)count;
  return 0;
}

static int note_order(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  (void)count;
  CHECK(shoal_events_lock(state->events, "order") == SHOAL_OK);
  state->order[state->ordered++] = *(const int*)events[0].data;
  CHECK(shoal_events_unlock(state->events, "order") == SHOAL_OK);
  return 0;
}

static void kinds(struct state* state, shoal_world* world) {
  shoal_events* events = state->events;
  const shoal_dependency number = {SHOAL_ANY, "number"};
  const shoal_dependency many = {SHOAL_ANY, "many"};
  const shoal_dependency never = {SHOAL_ANY, "never"};
  const shoal_task persistent = {.function = count_run, .user = state, .persistent = 1};
  const shoal_task greedy = {
      .function = count_greedy, .user = state, .persistent = 1, .greedy = 1};
  const shoal_task once = {.function = count_run, .user = state, .name = "once"};
  state->runs = 0;
  CHECK(shoal_events_submit(events, &persistent, &number, 1) == SHOAL_OK);
  CHECK(shoal_events_submit(events, &greedy, &many, 1) == SHOAL_OK);
  CHECK(shoal_events_submit(events, &once, &never, 1) == SHOAL_OK);
  CHECK(shoal_events_is_submitted(events, "once") == 1);
  CHECK(shoal_events_remove(events, "once") == 1);
  CHECK(shoal_events_remove(events, "once") == 0);
  CHECK(shoal_events_is_submitted(events, "once") == 0);
  for (int i = 0; i < 5; i++) {
    const shoal_payload payload = {SHOAL_INT, 1, &i};
    CHECK(shoal_events_fire(events, SHOAL_SELF, "number", &payload) == SHOAL_OK);
    CHECK(shoal_events_fire(events, SHOAL_SELF, "many", &payload) == SHOAL_OK);
  }

  // A persistent event is taken by both.
  const shoal_dependency kept[2] = {{SHOAL_SELF, "item"}, {SHOAL_SELF, "kept"}};
  const shoal_task task = {.function = note_order, .user = state, .priority = 1};
  CHECK(shoal_events_fire_persistent(events, SHOAL_SELF, "kept", NULL) == SHOAL_OK);
  for (int i = 0; i < 2; i++) {
    const shoal_payload payload = {SHOAL_INT, 1, &i};
    CHECK(shoal_events_submit(events, &task, kept, 2) == SHOAL_OK);
    CHECK(shoal_events_fire(events, SHOAL_SELF, "item", &payload) == SHOAL_OK);
  }
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(state->runs == 5);
  CHECK(state->greedy_events == 5);
  CHECK(state->ordered == 2 && state->order[0] + state->order[1] == 1);
}

static int waits(const shoal_event* start, size_t count, void* user) {
  struct state* state = user;
  (void)start;
  (void)count;
  CHECK(shoal_events_test_lock(state->events, "lock") == 1);
  CHECK(shoal_events_fire(state->events, SHOAL_SELF, "waiting", NULL) == SHOAL_OK);
  const shoal_dependency later = {SHOAL_ANY, "later"};
  shoal_event_list list;
  CHECK(shoal_events_wait(state->events, &later, 1, &list) == SHOAL_OK);
  CHECK(list.count == 1 && strcmp(list.events[0].name, "later") == 0);
  CHECK(shoal_event_check(&list.events[0], SHOAL_INT) == SHOAL_OK);
  CHECK(shoal_event_check(&list.events[0], SHOAL_DOUBLE) == SHOAL_ERROR_USE);
  CHECK(strstr(shoal_last_error(), "event \"later\" from rank") != NULL);
  CHECK(strstr(shoal_last_error(), "was fired with int, not with double") != NULL);
  CHECK(shoal_event_check(NULL, SHOAL_INT) == SHOAL_ERROR_USE);
  state->waited = *(const int*)list.events[0].data;
  shoal_event_list_release(&list);
  CHECK(list.count == 0 && list.events == NULL);
  CHECK(state->locked == 1);  // the other task had it meanwhile
  CHECK(shoal_events_unlock(state->events, "lock") == SHOAL_OK);
  CHECK(shoal_events_unlock(state->events, "lock") == SHOAL_ERROR_USE);
  CHECK(strstr(shoal_last_error(), "shoal_events_unlock") != NULL);
  return 0;
}

static int locks(const shoal_event* events, size_t count, void* user) {
  struct state* state = user;
  (void)events;
  (void)count;
  CHECK(shoal_events_lock(state->events, "lock") == SHOAL_OK);
  state->locked = 1;
  const int value = 17;
  const shoal_payload payload = {SHOAL_INT, 1, &value};
  return shoal_events_fire(state->events, SHOAL_SELF, "later", &payload);
}

static void waiting(struct state* state, shoal_world* world) {
  const shoal_task first = {.function = waits, .user = state};
  const shoal_task second = {.function = locks, .user = state};
  const shoal_dependency need = {SHOAL_SELF, "waiting"};
  CHECK(shoal_events_submit(state->events, &second, &need, 1) == SHOAL_OK);
  CHECK(shoal_events_submit(state->events, &first, NULL, 0) == SHOAL_OK);
  CHECK(shoal_wait(world) == SHOAL_OK);
  CHECK(state->waited == 17);

  const shoal_dependency two[2] = {{SHOAL_SELF, "not there"}, {SHOAL_SELF, "there"}};
  shoal_event_list list;
  CHECK(shoal_events_retrieve_any(state->events, two, 2, &list) == SHOAL_OK);
  CHECK(list.count == 0);
  shoal_event_list_release(&list);
  CHECK(shoal_events_fire(state->events, SHOAL_SELF, "there", NULL) == SHOAL_OK);
  CHECK(shoal_events_retrieve_any(state->events, two, 2, &list) == SHOAL_OK);
  CHECK(list.count == 1 && list.events[0].type == SHOAL_NONE);
  shoal_event_list_release(&list);
}

// Events that time fires. Events of the machine are in machine_events.c.
static void timers(struct state* state, shoal_world* world) {
  shoal_events* events = state->events;
  unsigned long long never = 0;
  unsigned long long forever = 0;
  int value = 23;
  const shoal_payload payload = {SHOAL_INT, 1, &value};
  const shoal_dependency times[2] = {{SHOAL_SELF, "time"}, {SHOAL_SELF, "time with payload"}};
  shoal_event_list list;
  CHECK(shoal_events_fire_after(events, 3600000000000ull, SHOAL_SELF, "never", NULL, &never) ==
        SHOAL_OK);
  CHECK(shoal_events_fire_after(events, ~0ull, SHOAL_SELF, "never", &payload, &forever) ==
        SHOAL_OK);
  CHECK(shoal_events_fire_after(events, 2000, SHOAL_SELF, times[0].name, NULL, NULL) == SHOAL_OK);
  CHECK(shoal_events_fire_after(events, 1000, SHOAL_SELF, times[1].name, &payload, NULL) ==
        SHOAL_OK);
  value = 0;  // it was copied
  CHECK(shoal_events_wait(events, times, 2, &list) == SHOAL_OK);
  CHECK(list.count == 2 && list.events[0].type == SHOAL_NONE && list.events[0].data == NULL);
  CHECK(list.events[1].type == SHOAL_INT && list.events[1].count == 1);
  CHECK(*(const int*)list.events[1].data == 23);
  shoal_event_list_release(&list);
  CHECK(shoal_events_cancel(events, never) == 1);
  CHECK(shoal_events_cancel(events, never) == 0);
  CHECK(shoal_events_cancel(events, forever) == 1);
  CHECK(shoal_wait(world) == SHOAL_OK);
}

static void expect_refusal(int code, const char* text, int line) {
  const int is_right = code == SHOAL_ERROR_USE && strstr(shoal_last_error(), text) != NULL;
  if (!is_right) fprintf(stderr, "line %d: code %d, expected '%s'\n", line, code, text);
  check(is_right, text, line);
}
#define REFUSED(code, text) expect_refusal((code), (text), __LINE__)

static void refuse_handles(struct state* state) {
  const shoal_task task = {.function = take_sum, .user = state};
  REFUSED(-shoal_rank(NULL), "shoal_rank: world is NULL");
  REFUSED(-shoal_size(NULL), "shoal_size: world is NULL");
  REFUSED(shoal_wait(NULL), "shoal_wait: world is NULL");
  REFUSED(-shoal_argument_count(NULL), "shoal_argument_count: world is NULL");
  CHECK(shoal_argument(NULL, 0) == NULL);
  CHECK(strcmp(shoal_last_error(), "shoal_argument: world is NULL") == 0);
  CHECK(shoal_events_make(NULL, "x") == NULL);
  CHECK(shoal_events_name(NULL) == NULL);
  REFUSED(shoal_events_submit(NULL, &task, NULL, 0), "events is NULL");
  REFUSED(shoal_events_fire_persistent(NULL, SHOAL_ALL, "a", NULL), "events is NULL");
  REFUSED(shoal_events_fire_after(NULL, 1, SHOAL_SELF, "a", NULL, NULL), "events is NULL");
  REFUSED(shoal_events_fire_on_signal(NULL, 1, SHOAL_SELF, "a", NULL), "events is NULL");
  REFUSED(-shoal_events_cancel(NULL, 1), "events is NULL");
  REFUSED(-shoal_events_test_lock(NULL, "a"), "events is NULL");
  REFUSED(-shoal_events_define_context(NULL, 1), "events is NULL");
  REFUSED(shoal_events_free(NULL), "events is NULL");
  shoal_event_list_release(NULL);
}

static void refuse_tasks(struct state* state) {
  shoal_events* events = state->events;
  const shoal_task task = {.function = take_sum, .user = state, .name = "t"};
  const shoal_task unset = {.name = "unset"};
  const shoal_task greedy = {.function = take_sum, .greedy = 1};
  const shoal_task persistent = {.function = take_sum, .persistent = 1};
  const shoal_dependency nowhere = {state->size, "a"};
  const shoal_dependency unnamed = {SHOAL_ANY, NULL};
  const char* no_array = "the array of dependencies is NULL";
  shoal_event_list list;
  REFUSED(shoal_events_submit(events, NULL, NULL, 0), "task is NULL");
  REFUSED(shoal_events_submit(events, &unset, NULL, 0), "the function of the task is NULL");
  REFUSED(shoal_events_submit(events, &greedy, NULL, 0), "greedy but not persistent");
  REFUSED(shoal_events_submit(events, &persistent, NULL, 0), "depends on nothing");
  REFUSED(shoal_events_submit(events, &task, NULL, 1), no_array);
  REFUSED(shoal_events_submit(events, &task, &unnamed, 1), "the name of a dependency is NULL");
  REFUSED(shoal_events_submit(events, &task, &nowhere, 1), "task 't' depends on \"a\", on rank");
  REFUSED(shoal_events_wait(events, NULL, 0, NULL), "list is NULL");
  REFUSED(shoal_events_wait(events, NULL, 1, &list), no_array);
  REFUSED(shoal_events_wait(events, &nowhere, 1, &list), "depends on");
  REFUSED(shoal_events_retrieve_any(events, NULL, 0, NULL), "list is NULL");
  REFUSED(shoal_events_retrieve_any(events, NULL, 1, &list), no_array);
  REFUSED(shoal_events_retrieve_any(events, &nowhere, 1, &list), "depends on");
}

static void refuse_payloads(struct state* state) {
  shoal_events* events = state->events;
  const shoal_payload bad_type = {77, 1, state};
  const shoal_payload bad_context = {5000, 1, state};
  const shoal_payload no_data = {SHOAL_INT, 1, NULL};
  REFUSED(shoal_events_fire(events, SHOAL_SELF, "a", &bad_type), "77 is not a type");
  REFUSED(shoal_events_fire(events, SHOAL_SELF, "a", &bad_context), "5000 is not a type");
  REFUSED(shoal_events_fire(events, SHOAL_SELF, "a", &no_data), "the data are NULL");
  REFUSED(shoal_events_fire_after(events, 1, SHOAL_SELF, "a", &bad_type, NULL), "77 is not a type");

  const char* elsewhere = "with an address: it means nothing on other ranks";
  const int next = (state->rank + 1) % state->size;
  const shoal_payload addresses[2] = {{SHOAL_ADDRESS, 1, state},
                                      {state->context_type, 1, state->context}};
  for (int i = 0; i < 2; i++) {
    const shoal_payload* address = &addresses[i];
    REFUSED(shoal_events_fire(events, SHOAL_ALL, "a", address), elsewhere);
    REFUSED(shoal_events_fire_persistent(events, SHOAL_ALL, "a", address), elsewhere);
    REFUSED(shoal_events_fire_after(events, 1, SHOAL_ALL, "a", address, NULL), elsewhere);
    if (next == state->rank) continue;
    REFUSED(shoal_events_fire(events, next, "a", address), elsewhere);
    REFUSED(shoal_events_fire_persistent(events, next, "a", address), elsewhere);
    REFUSED(shoal_events_fire_after(events, 1, next, "a", address, NULL), elsewhere);
  }
}

static void refuse_names(struct state* state) {
  shoal_events* events = state->events;
  const int nowhere = state->size;
  REFUSED(shoal_events_fire(events, nowhere, "a", NULL), "fire() of \"a\", on rank");
  REFUSED(shoal_events_fire(events, SHOAL_ANY, "a", NULL), "cannot be fired to any");
  REFUSED(shoal_events_fire(events, SHOAL_SELF, NULL, NULL), "the name of the event is NULL");
  REFUSED(shoal_events_fire_after(events, 1, SHOAL_ANY, "a", NULL, NULL), "any");
  REFUSED(shoal_events_fire_after(events, 1, SHOAL_SELF, NULL, NULL, NULL), "name of the event");
  REFUSED(shoal_events_fire_when_readable(events, 0, SHOAL_SELF, NULL, NULL), "name of the event");
  REFUSED(shoal_events_fire_when_memory_above(events, 1, nowhere, "a", NULL), "rank");
  REFUSED(-shoal_events_is_submitted(events, NULL), "the task's name is NULL");
  REFUSED(-shoal_events_remove(events, NULL), "the task's name is NULL");
  REFUSED(shoal_events_lock(events, NULL), "the lock's name is NULL");
  REFUSED(shoal_events_unlock(events, NULL), "the lock's name is NULL");
  REFUSED(-shoal_events_test_lock(events, NULL), "the lock's name is NULL");
  REFUSED(shoal_events_unlock(events, "free"), "shoal_events_unlock");
  CHECK(shoal_events_fire_when_readable(events, -1, SHOAL_SELF, "a", NULL) != SHOAL_OK);
  CHECK(shoal_events_fire_on_signal(events, -1, SHOAL_SELF, "a", NULL) != SHOAL_OK);
  CHECK(shoal_events_create_context(events, 1) == NULL);
}

static int main_function(shoal_world* world, void* user) {
  struct state* state = calloc(1, sizeof *state);
  CHECK(strcmp(shoal_last_error(), "") == 0);
  CHECK(user == &failures);
  CHECK(shoal_argument_count(world) == 2 && strcmp(shoal_argument(world, 1), "mine") == 0);
  CHECK(shoal_argument(world, 2) == NULL && shoal_argument(world, -1) == NULL);
  state->rank = shoal_rank(world);
  state->size = shoal_size(world);
  state->events = shoal_events_make(world, "test");
  CHECK(state->events != NULL && strcmp(shoal_events_name(state->events), "test") == 0);
  reduce(state, world);
  types(state, world);
  kinds(state, world);
  waiting(state, world);
  timers(state, world);
  refuse_handles(state);
  refuse_tasks(state);
  refuse_payloads(state);
  refuse_names(state);
  CHECK(shoal_wait(world) == SHOAL_OK);  // the refused calls have changed nothing
  CHECK(shoal_events_free(state->events) == SHOAL_OK);

  // A name space of its own, with work left for the end of the world.
  state->events = shoal_events_make(world, NULL);
  CHECK(strcmp(shoal_events_name(state->events), "events") == 0);
  const shoal_task last = {.function = count_greedy, .user = &(struct state){0}};
  CHECK(shoal_events_submit(state->events, &last, NULL, 0) == SHOAL_OK);
  CHECK(shoal_wait(world) == SHOAL_OK);
  free(state);
  return failures == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (shoal_run(argc, argv, NULL, NULL) != 1) return 1;
  return shoal_run(argc, argv, main_function, &failures);
}

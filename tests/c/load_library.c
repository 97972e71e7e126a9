// load_library LIBRARY...: loads the libraries by dlopen(), as plugins and interpreters do, and
// runs a program of events in the first one. Exit code 0: its task got the event.
#include <dlfcn.h>
#include <shoal/event.h>
#include <stdio.h>
#include <string.h>

static void* library;

// Copies the address, since C has no conversion from a pointer to data to one to a function.
static int look_up(const char* name, void* function) {
  void* const address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 0;
  }
  memcpy(function, &address, sizeof address);
  return 1;
}

static int take_number(const shoal_event* events, size_t count, void* user) {
  *(int*)user = count == 1 ? *(const int*)events[0].data : -1;
  return 0;
}

static int main_function(shoal_world* world, void* user) {
  shoal_events* (*make)(shoal_world*, const char*);
  int (*submit)(shoal_events*, const shoal_task*, const shoal_dependency*, size_t);
  int (*fire)(shoal_events*, int, const char*, const shoal_payload*);
  int (*wait)(shoal_world*);
  if (!look_up("shoal_events_make", &make) || !look_up("shoal_events_submit", &submit) ||
      !look_up("shoal_events_fire", &fire) || !look_up("shoal_wait", &wait)) {
    return 1;
  }
  shoal_events* const events = make(world, "loaded");
  const shoal_task task = {.function = take_number, .user = user, .name = "take a number"};
  const shoal_dependency dependency = {SHOAL_SELF, "number"};
  const int number = 42;
  const shoal_payload payload = {SHOAL_INT, 1, &number};
  return submit(events, &task, &dependency, 1) == SHOAL_OK &&
                 fire(events, SHOAL_SELF, "number", &payload) == SHOAL_OK &&
                 wait(world) == SHOAL_OK
             ? 0
             : 1;
}

int main(int argc, char** argv) {
  void* loaded = NULL;
  for (int i = argc - 1; i > 0; i--) {
    loaded = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  library = loaded;
  int (*run)(int, char**, int (*)(shoal_world*, void*), void*);
  if (library == NULL || !look_up("shoal_run", &run)) return 1;
  int got = 0;
  char* arguments[] = {argv[0], "--workers", "2", NULL};
  const int code = run(3, arguments, main_function, &got);
  if (dlclose(library) != 0) return 1;  // exit handlers of the library still run: it stays
  return code == 0 && got == 42 ? 0 : 1;
}

/* A thread of a C library that calls Python back. */
#include <pthread.h>

typedef void (*Callback)(int);

struct Calls {
  Callback callback;
  int count;
};

static void* run(void* argument) {
  const struct Calls* calls = argument;
  for (int i = 0; i < calls->count; ++i) calls->callback(i);
  return 0;
}

int call_on_thread(Callback callback, int count) {
  struct Calls calls = {callback, count};
  pthread_t thread;
  if (pthread_create(&thread, 0, run, &calls) != 0) return 1;
  return pthread_join(thread, 0);
}

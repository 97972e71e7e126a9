// Preloaded into programs under MPICH. Its blocking calls poll without a pause: with more processes
// than processors, each wait takes the time slices of those that it waits for. Here a poll that has
// found nothing for a while lets them run, unless its caller does so: it polls at longer intervals.

#include <dlfcn.h>
#include <sched.h>
#include <time.h>

namespace {

constexpr int kEmptyPolls = 50;
constexpr long kWithoutPauseNs = 50'000;  // for so many
using Progress = unsigned(void* worker);

// RTLD_NEXT does not look into libraries that a plug-in brought with it.
void* find(const char* function) {
  if (void* const next = dlsym(RTLD_NEXT, function)) return next;
  return dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), function);
}

Progress* progress_of_ucx() {
  static auto* const found = reinterpret_cast<Progress*>(find("ucp_worker_progress"));
  return found;
}

long now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

extern "C" unsigned ucp_worker_progress(void* worker) {
  thread_local int empty_polls = 0;
  thread_local long since_ns = 0;
  const unsigned count = progress_of_ucx()(worker);
  empty_polls = count > 0 ? 0 : empty_polls + 1;
  if (empty_polls == 1) since_ns = now_ns();
  if (empty_polls == kEmptyPolls) {
    empty_polls = 0;
    if (now_ns() - since_ns < kWithoutPauseNs) sched_yield();
  }
  return count;
}

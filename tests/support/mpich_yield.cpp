// Preloaded into programs under MPICH. Its blocking calls poll without a pause: with more processes
// than processors, each wait takes the time slices of those that it waits for. Here a poll that has
// found nothing for a while lets them run.

#include <dlfcn.h>
#include <sched.h>

namespace {

constexpr int kEmptyPolls = 50;
using Progress = unsigned(void* worker);

Progress* progress_of_ucx() {
  static auto* const found = reinterpret_cast<Progress*>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  return found;
}

}  // namespace

extern "C" unsigned ucp_worker_progress(void* worker) {
  thread_local int empty_polls = 0;
  const unsigned count = progress_of_ucx()(worker);
  empty_polls = count > 0 ? 0 : empty_polls + 1;
  if (empty_polls == kEmptyPolls) {
    empty_polls = 0;
    sched_yield();
  }
  return count;
}

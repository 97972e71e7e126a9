#include "sched/live.hpp"

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <set>

namespace shoal::sched {

namespace {

struct Live {
  sync::Mutex mutex;
  std::set<const Scheduler*> schedulers SHOAL_GUARDED_BY(mutex);
};
Live& live() {
  static auto* const live = new Live;  // objects of the program may ask until the process ends
  return *live;
}

}  // namespace

void begin_live(const Scheduler& scheduler) {
  const sync::Lock lock(live().mutex);
  live().schedulers.insert(&scheduler);
}

void end_live(const Scheduler& scheduler) {
  const sync::Lock lock(live().mutex);
  live().schedulers.erase(&scheduler);
}

bool is_live(const Scheduler& scheduler) {
  const sync::Lock lock(live().mutex);
  return live().schedulers.contains(&scheduler);
}

void check_live(const Scheduler& scheduler, std::string_view what) {
  if (is_live(scheduler)) return;
  throw CheckError(fmt::format(
      "{} is used after its run() has returned: each run has its own, which its main function is "
      "given, or makes and lets end",
      what));
}

}  // namespace shoal::sched

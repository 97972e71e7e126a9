#include "sched/live.hpp"

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "sched/parked.hpp"

namespace shoal::sched {

namespace {

struct Live {
  std::mutex mutex;
  std::map<const Scheduler*, int> users;       // of the ranks whose run has not ended
  std::map<const Scheduler*, int> last_users;  // of those that end
  std::condition_variable one_has_left;
};
Live& live() {
  static auto* const live = new Live;  // objects of the program may ask until the process ends
  return *live;
}

}  // namespace

void begin_live(const Scheduler& scheduler) {
  const std::lock_guard lock(live().mutex);
  live().users.try_emplace(&scheduler, 0);
}

void end_live(const Scheduler& scheduler) {
  std::unique_lock lock(live().mutex);
  auto ended = live().users.extract(&scheduler);
  if (ended.empty() || ended.mapped() == 0) return;
  const int& left = live().last_users.insert(std::move(ended)).position->second;  // takes no memory
  lock.unlock();
  scheduler.waiting().list(scheduler.worker_count()).close_to_threads();
  lock.lock();
  live().one_has_left.wait(lock, [&left] { return left == 0; });
  live().last_users.erase(&scheduler);
}

ForeignUse::ForeignUse(const Scheduler& scheduler) : scheduler_(nullptr) {
  const std::lock_guard lock(live().mutex);
  const auto it = live().users.find(&scheduler);
  if (it == live().users.end()) return;
  ++it->second;
  scheduler_ = &scheduler;
}

ForeignUse::~ForeignUse() {
  if (scheduler_ == nullptr) return;
  const std::lock_guard lock(live().mutex);
  if (const auto it = live().users.find(scheduler_); it != live().users.end()) {
    --it->second;
  } else if (--live().last_users.at(scheduler_) == 0) {
    live().one_has_left.notify_all();
  }
}

bool is_live(const Scheduler& scheduler) {
  const std::lock_guard lock(live().mutex);
  return live().users.contains(&scheduler);
}

void check_live(const Scheduler& scheduler, std::string_view what) {
  if (is_live(scheduler)) return;
  throw CheckError(fmt::format(
      "{} is used after its run() has returned: each run has its own, which its main function is "
      "given, or makes and lets end",
      what));
}

}  // namespace shoal::sched

#include <shoal/deadline.hpp>

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>

#include <utility>

namespace shoal {

/// Belongs to its Deadline, and to the timer until that has expired.
class Deadline::Alarm final : public sched::Timer {
 public:
  Alarm(Team& team, std::string reason)
      : scheduler_(core_of(team).scheduler()), team_(&team), reason_(std::move(reason)) {}

  static void set(const std::shared_ptr<Alarm>& alarm, std::uint64_t duration_ns) {
    alarm->set_ = alarm;
    sched::Scheduler& scheduler = alarm->scheduler_;
    scheduler.add_timer(*alarm, sched::Timers::due_ns(scheduler.env().now_ns(), duration_ns));
  }
  void unset() {
    if (scheduler_.remove_timer(*this)) {
      set_.reset();
    } else {  // it expires, or has
      const sync::Lock lock(mutex_);
      team_ = nullptr;
    }
  }

 private:
  void expire() override {
    const std::shared_ptr<Alarm> alive = std::move(set_);
    const sync::Lock lock(mutex_);  // the team ends after unset()
    if (team_ != nullptr) team_->cancel(reason_);
  }

  sched::Scheduler& scheduler_;
  sync::Mutex mutex_;
  Team* team_ SHOAL_GUARDED_BY(mutex_);
  const std::string reason_;
  std::shared_ptr<Alarm> set_;  // this, while the timer is set
};

Deadline::Deadline(Team& team, std::uint64_t duration_ns, std::string reason, int /*of_ns*/)
    : alarm_(std::make_shared<Alarm>(team, std::move(reason))) {
  Alarm::set(alarm_, duration_ns);
}

Deadline::~Deadline() { alarm_->unset(); }

}  // namespace shoal

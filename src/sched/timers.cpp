#include <shoal/detail/sched/timers.hpp>

#include <shoal/sleep.hpp>

#include <fmt/format.h>

#include <set>

namespace shoal::sched {

struct Timers::Order : std::set<Timer*, Earlier> {};

Timers::Timers() : timers_(std::make_unique<Order>()) {}
Timers::~Timers() = default;

void Timers::publish() {
  const std::uint64_t next = timers_->empty() ? kNever : (*timers_->begin())->due_ns_;
  next_ns_.store(next, std::memory_order_seq_cst);
}

bool Timers::add(Timer& timer, std::uint64_t due_ns) {
  const sync::Lock lock(mutex_);
  timer.due_ns_ = due_ns;
  timer.number_ = ++numbers_;
  timers_->insert(&timer);
  publish();
  return *timers_->begin() == &timer;
}

bool Timers::remove(Timer& timer) {
  const sync::Lock lock(mutex_);
  const bool found = timer.number_ != 0 && timers_->erase(&timer) > 0;
  publish();
  return found;
}

bool Timers::expire(std::uint64_t now_ns) {
  bool any = false;
  while (now_ns >= next_ns()) {
    Timer* timer = nullptr;
    {
      const sync::Lock lock(mutex_);
      if (timers_->empty() || (*timers_->begin())->due_ns_ > now_ns) break;
      timer = *timers_->begin();
      timers_->erase(timers_->begin());
      publish();
    }
    timer->expire();
    any = true;
  }
  return any;
}

namespace {

class Sleep final : public Waitable, private Timer {
 public:
  Sleep(Scheduler& scheduler, std::uint64_t duration_ns)
      : Waitable(scheduler), duration_ns_(duration_ns) {}

  bool enlist(sync::Waiter& waiter) override {
    waiter_ = &waiter;
    Scheduler& rank = scheduler();  // this may be gone once the timer is set
    rank.add_timer(*this, Timers::due_ns(rank.env().now_ns(), duration_ns_));
    return true;
  }
  bool withdraw(sync::Waiter& /*waiter*/) override { return scheduler().remove_timer(*this); }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("sleep_for({} s)", static_cast<double>(duration_ns_) / 1e9);
  }
  [[nodiscard]] bool ends_by_itself() const override { return true; }
  void wait() { wait_here(); }

 private:
  void expire() override { waiter_->wake(); }

  const std::uint64_t duration_ns_;
  sync::Waiter* waiter_ = nullptr;
};

}  // namespace

void sleep_ns(std::uint64_t duration_ns) {
  Sleep(current_scheduler("sleep_for()", "other threads have the function of the standard library"),
        duration_ns)
      .wait();
}

std::shared_ptr<Waitable> make_sleep(Scheduler& scheduler, std::uint64_t duration_ns) {
  return std::make_shared<Sleep>(scheduler, duration_ns);
}

}  // namespace shoal::sched

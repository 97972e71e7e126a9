#include <shoal/sleep.hpp>

#include <fmt/format.h>

namespace shoal::sched {

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

#include <shoal/detail/sched/timers.hpp>

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

}  // namespace shoal::sched

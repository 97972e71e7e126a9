#include "event/core.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>

#include <fmt/format.h>

#include <utility>

namespace shoal::event {

Source::~Source() = default;

bool Source::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (happened_) return false;
  waiters_.push(waiter);
  return true;
}

bool Source::withdraw(sync::Waiter& waiter) {
  static_cast<void>(unwatch());  // the world has failed: it is no longer needed
  return WaitingRoom::withdraw(waiter);
}

void Source::happen() {
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    happened_ = true;
    woken = waiters_.take_all();
  }
  woken.wake_all();
}

bool Source::stop() {
  if (!unwatch()) return false;
  stopped_.store(true, std::memory_order_release);
  sync::Waiter* waiter = nullptr;
  {
    const sync::Lock lock(mutex_);
    happened_ = true;
    waiter = waiters_.pop();
  }
  // nullptr: it has not begun to wait, or the world has failed
  if (waiter != nullptr) sched::drop_deferred(*waiter);
  return true;
}

namespace {

class TimeSource final : public Source, private sched::Timer {
 public:
  TimeSource(sched::Scheduler& scheduler, std::uint64_t delay_ns)
      : Source(scheduler, fmt::format("a timer of {} s", static_cast<double>(delay_ns) / 1e9)),
        delay_ns_(delay_ns) {}
  void start() override {
    self_ = shared_from_this();
    scheduler().add_timer(*this, sched::Timers::due_ns(scheduler().env().now_ns(), delay_ns_));
  }

 private:
  bool unwatch() override {
    if (!scheduler().remove_timer(*this)) return false;
    const std::shared_ptr<Source> self = std::move(self_);
    return true;
  }
  void expire() override {
    const std::shared_ptr<Source> self = std::move(self_);
    happen();
  }

  const std::uint64_t delay_ns_;
  // Set while the timer is. Taking the timer out clears it.
  std::shared_ptr<Source> self_;
};

class MachineSource final : public Source {
 public:
  using Begin = Function<env::MachineWatch::Id(env::MachineWatch&, Function<void()>)>;
  MachineSource(sched::Scheduler& scheduler, std::string text, env::MachineWatch& watch,
                Begin begin)
      : Source(scheduler, std::move(text)), watch_(watch), begin_(std::move(begin)) {}
  void start() override {
    id_ = begin_(watch_, [this, self = shared_from_this()] { happen(); });
  }

 private:
  bool unwatch() override { return watch_.cancel(id_); }

  env::MachineWatch& watch_;
  const Begin begin_;
  env::MachineWatch::Id id_ = 0;
};

}  // namespace

std::uint64_t Sources::add(const std::shared_ptr<Source>& source, std::string name,
                           Function<void()> action) {
  sched::refuse_in_attempt("an event that the machine fires");
  source->start();  // may throw: then there is nothing to cancel
  std::uint64_t number = 0;
  {
    const sync::Lock lock(mutex_);
    number = ++numbers_;
    sources_.emplace(number, source);
  }
  sched::submit_after(*source,
                      sched::make_function_task(scheduler_.scope(), std::move(name),
                                                [this, number, source, action = std::move(action)] {
                                                  {
                                                    const sync::Lock lock(mutex_);
                                                    sources_.erase(number);
                                                  }
                                                  if (!source->was_stopped()) action();
                                                }));
  return number;
}

std::uint64_t Sources::after(std::uint64_t delay_ns, std::string name, Function<void()> action) {
  return add(std::make_shared<TimeSource>(scheduler_, delay_ns), std::move(name),
             std::move(action));
}

std::uint64_t Sources::watch(std::string text, std::string name, Begin begin,
                             Function<void()> action) {
  SHOAL_CHECK(!scheduler_.env().is_simulated(),
              "{} cannot be watched in a simulated world: nothing happens outside of it", text);
  return add(
      std::make_shared<MachineSource>(scheduler_, std::move(text), machine_, std::move(begin)),
      std::move(name), std::move(action));
}

std::uint64_t Sources::when_readable(int descriptor, std::string name, Function<void()> action) {
  return watch(
      fmt::format("descriptor {}", descriptor), std::move(name),
      [descriptor](env::MachineWatch& machine, Function<void()> happens) {
        return machine.when_readable(descriptor, std::move(happens));
      },
      std::move(action));
}

std::uint64_t Sources::on_signal(int signal, std::string name, Function<void()> action) {
  return watch(
      fmt::format("signal {}", signal), std::move(name),
      [signal](env::MachineWatch& machine, Function<void()> happens) {
        return machine.when_signal(signal, std::move(happens));
      },
      std::move(action));
}

std::uint64_t Sources::when_memory_above(std::size_t size_bytes, std::string name,
                                         Function<void()> action) {
  return watch(
      fmt::format("memory above {} bytes", size_bytes), std::move(name),
      [size_bytes](env::MachineWatch& machine, Function<void()> happens) {
        return machine.when_memory_above(size_bytes, std::move(happens));
      },
      std::move(action));
}

bool Sources::cancel(std::uint64_t number) {
  sched::refuse_in_attempt("cancel() of an event that the machine fires");
  std::shared_ptr<Source> source;
  {
    const sync::Lock lock(mutex_);
    const auto it = sources_.find(number);
    if (it == sources_.end()) return false;
    source = std::move(it->second);
    sources_.erase(it);
  }
  return source->stop();
}

}  // namespace shoal::event

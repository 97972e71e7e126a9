#include <shoal/detail/flow/sequence_progress.hpp>

#include "sync/pause.hpp"

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/asymmetric_barrier.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::flow {

SequenceProgress::SequenceProgress(sched::Scheduler& scheduler, std::string flow)
    : scheduler_(scheduler),
      flow_(std::move(flow)),
      asymmetric_(sync::has_asymmetric_barrier()),
      finished_(
          std::make_unique<Counter[]>(static_cast<std::size_t>(scheduler.worker_count()) + 1)) {}

// A waiter sees the last task as finished before count_finished() of that task has returned.
SequenceProgress::~SequenceProgress() {
  for (int slot = 0; slot <= scheduler_.worker_count(); ++slot) {
    const std::atomic<std::uint32_t>& inside = finished_[static_cast<std::size_t>(slot)].inside;
    while (inside.load(std::memory_order_acquire) != 0) sync::pause_briefly();
  }
}

/// Wait until few enough tasks are in flight.
class SequenceProgress::Wait final : public sched::Waitable {
 public:
  Wait(SequenceProgress& progress, std::uint64_t count, const char* what)
      : Waitable(progress.scheduler_), progress_(progress), count_(count), what_(what) {}

  void wait() {
    check_may_wait();
    if (!is_over()) wait_here();
  }
  [[nodiscard]] bool is_over() const override { return progress_.under_way() <= count_; }
  // The code that finishes a task counts it and then looks for a waiter; here the order is
  // reversed, with a barrier in between: one of the two sees the other.
  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(progress_.mutex_);
    const auto limit = progress_.wait_limit_.load(std::memory_order_relaxed);
    progress_.wait_limit_.store(std::max(limit, count_), std::memory_order_relaxed);
    progress_.wait_count_.fetch_add(1, std::memory_order_seq_cst);
    if (progress_.asymmetric_) static_cast<void>(sync::heavy_barrier());
    if (is_over()) {
      progress_.wait_count_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    waiter_ = &waiter;
    next_ = std::exchange(progress_.waits_, this);
    return true;
  }
  bool withdraw(sync::Waiter& /*waiter*/) override {
    const sync::Lock lock(progress_.mutex_);
    for (Wait** place = &progress_.waits_; *place != nullptr; place = &(*place)->next_) {
      if (*place != this) continue;
      *place = next_;
      progress_.wait_count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} of flow '{}', with {} tasks and transfers under way", what_,
                       progress_.flow_, progress_.under_way());
  }

 private:
  friend class SequenceProgress;
  SequenceProgress& progress_;
  const std::uint64_t count_;
  const char* const what_;
  sync::Waiter* waiter_ = nullptr;
  Wait* next_ = nullptr;
};

void SequenceProgress::check_waits() {
  sync::TakenWaiters taken;
  {
    const sync::Lock lock(mutex_);
    for (Wait** place = &waits_; *place != nullptr;) {
      Wait* const wait = *place;
      if (!wait->is_over()) {
        place = &wait->next_;
        continue;
      }
      *place = wait->next_;
      wait_count_.fetch_sub(1, std::memory_order_relaxed);
      taken.push(*wait->waiter_);
    }
  }
  taken.wake_all();
}

void SequenceProgress::count_finished() {
  // To the race detector, tasks of one worker are not ordered by the counter of that.
  struct End {
    const SequenceProgress* progress;
    ~End() { sync::publish(progress); }
  };
  const End end{this};
  const int slot = scheduler_.count_slot();
  Counter& slot_counter = finished_[static_cast<std::size_t>(slot)];
  std::atomic<std::uint64_t>& counter = slot_counter.value;
  // The slot of a worker is its own; the last one is shared.
  struct Inside {
    std::atomic<std::uint32_t>& count;
    const bool shared;
    ~Inside() {
      if (shared) {
        count.fetch_sub(1, std::memory_order_release);
      } else {
        count.store(0, std::memory_order_release);
      }
    }
  };
  const Inside inside{slot_counter.inside, slot == scheduler_.worker_count()};
  // relaxed: the store of `counter` below publishes it
  if (inside.shared) {
    inside.count.fetch_add(1, std::memory_order_relaxed);
  } else {
    inside.count.store(1, std::memory_order_relaxed);
  }
  if (inside.shared) {
    counter.fetch_add(1, std::memory_order_seq_cst);
  } else if (asymmetric_) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  if (wait_count_.load(std::memory_order_seq_cst) == 0) return;
  // The last end of each other worker may not be visible yet: the lock settles that.
  const auto unseen = static_cast<std::uint64_t>(scheduler_.worker_count());
  if (under_way() <= wait_limit_.load(std::memory_order_relaxed) + unseen) check_waits();
}

std::uint64_t SequenceProgress::under_way() const {
  std::uint64_t finished = 0;
  for (int slot = 0; slot <= scheduler_.worker_count(); ++slot) {
    // acquire pairs with the store in count_finished(): the waiter sees the writes of the task
    finished += finished_[static_cast<std::size_t>(slot)].value.load(std::memory_order_acquire);
  }
  return created_.load(std::memory_order_relaxed) - finished;
}

void SequenceProgress::wait_until(std::uint64_t count, const char* what) {
  Wait(*this, count, what).wait();
  if (count == 0) sync::observe(this);
}

}  // namespace shoal::flow

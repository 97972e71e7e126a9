#include "object/turn.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/strand.hpp>

#include "object/share.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "team/messenger.hpp"

namespace shoal::object {

namespace {

/// Service of the world. Tables of representatives may outlive it, and keep the turn.
struct TurnOfRank {
  std::shared_ptr<Turn> turn;
};

}  // namespace

std::shared_ptr<Turn> Turn::of(const messaging::Channel& channel) {
  messaging::Channel& world = channel.messenger().world();
  const auto make = [&world] {
    return std::make_unique<TurnOfRank>(TurnOfRank{std::make_shared<Turn>(world)});
  };
  return world.services().obtain<TurnOfRank>(make).turn;
}

Turn::Turn(TeamCore& world)
    : Waitable(world.scheduler()), world_(world), checks_(world.checks_graphs()) {}

void Turn::acquire() {
  check_may_wait();
  if (!try_acquire()) wait_here();
  sync::observe(this);
  if (checks_) check_taken();
}

bool Turn::try_acquire() {
  const sync::Lock lock(mutex_);
  return !std::exchange(taken_, true);
}

void Turn::release() {
  sync::publish(this);
  sync::Waiter* next = nullptr;
  {
    const sync::Lock lock(mutex_);
    in_use_ = false;
    next = pop_next();
    taken_ = next != nullptr;
  }
  if (next != nullptr) next->wake();
}

// A runner comes after each other task.
sync::Waiter* Turn::pop_next() {
  const bool is_runner = waiters_.empty() || (runner_is_next_ && !runners_.empty());
  runner_is_next_ = !is_runner;
  sync::Waiter* const next = is_runner ? runners_.pop() : waiters_.pop();
  has_waiters_.store(!waiters_.empty(), std::memory_order_relaxed);
  return next;
}

void Turn::give_to(std::unique_ptr<sched::Task> runner) {
  if (try_acquire()) {
    scheduler().submit(std::move(runner));
  } else {
    sched::submit_after(line_, std::move(runner));
  }
}

void Turn::add(Share& share) {
  const sync::Lock lock(mutex_);
  shares_.push_back(&share);
  if (owner_waits_for_room_) share.open_windows(true);
}

void Turn::remove(const Share& share) {
  const sync::Lock lock(mutex_);
  std::erase(shares_, &share);
}

// It is the owner that waits, so no runner has taken invocations: all are in the shares' queues.
void Turn::owner_waits_for_room(bool begins) {
  const sync::Lock lock(mutex_);
  owner_waits_for_room_ = begins;
  for (Share* const share : shares_) share->open_windows(begins);
}

void Turn::begin_runner() {
  sync::observe(this);
  if (checks_) check_taken();
}

bool Turn::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (!std::exchange(taken_, true)) return false;
  waiters_.push(waiter);
  has_waiters_.store(true, std::memory_order_relaxed);
  return true;
}

bool Turn::withdraw(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  const bool was_there = waiters_.remove(waiter);
  has_waiters_.store(!waiters_.empty(), std::memory_order_relaxed);
  return was_there;
}

bool Turn::Line::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(turn_.mutex_);
  if (!std::exchange(turn_.taken_, true)) return false;
  turn_.runners_.push(waiter);
  return true;
}

bool Turn::Line::withdraw(sync::Waiter& waiter) {
  const sync::Lock lock(turn_.mutex_);
  return turn_.runners_.remove(waiter);
}

std::string Turn::describe() const {
  return fmt::format("its turn among the invocations on rank {}", world_.rank().value());
}

void Turn::check_taken() {
  {
    const sync::Lock lock(mutex_);
    if (!std::exchange(in_use_, true)) return;
  }
  if (world_.failed()) return;
  world_.fail("the check of objects",
              std::make_exception_ptr(CheckError(fmt::format(
                  "objects on rank {}: two tasks have the turn", world_.rank().value()))));
}

}  // namespace shoal::object

#include "object/run_queue.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "object/share.hpp"
#include "team/messenger.hpp"

namespace shoal::object {

void RunQueue::push(std::unique_ptr<Invocation> invocation) {
  const std::uint64_t id = invocation->target().context;
  Context& context = id != 0 ? context_of(id) : free_;
  size_ += invocation->left();
  if (has_open_windows_ || context.is_blocked || context.is_parked) [[unlikely]] {
    invocation->leave_window();
  } else if (context.in_window == nullptr) {
    context.in_window = invocation.get();
  }
  context.waiting.push(std::move(invocation));
  if (!context.is_busy && !context.is_blocked) make_ready(context);
}

RunQueue::Context& RunQueue::context_of(std::uint64_t id) {
  if (const auto it = contexts_.find(id); it != contexts_.end()) return it->second;
  if (spare_.empty()) {
    Context& made = contexts_[id];
    made.id = id;
    return made;
  }
  spare_.key() = spare_.mapped().id = id;
  return contexts_.insert(std::move(spare_)).position->second;
}

void RunQueue::make_ready(Context& context, bool first) {
  if (context.is_ready) return;
  context.is_ready = true;
  ready_.insert_before(first ? ready_.first() : nullptr, context);
}

RunQueue::Taken RunQueue::take(MayRun may_run) {
  while (!ready_.empty()) {
    Context& context = *ready_.first();
    ready_.erase(context);
    context.is_ready = false;
    if (!may_run(*context.waiting.first())) {
      if (&context == &free_) {
        block_first_free();
      } else {
        block(context);
      }
      continue;
    }
    Taken taken{{}, &context};
    do {
      taken.list.push(context.pop());
    } while (!context.waiting.empty() &&
             taken.list.size() + context.waiting.first()->left() <= std::size_t{kTakenMax} &&
             may_run(*context.waiting.first()));
    size_ -= taken.list.size();
    context.is_busy = &context != &free_;
    if (&context == &free_ && !free_.waiting.empty()) make_ready(free_);
    return taken;
  }
  return {};
}

void RunQueue::block(Context& context) {
  if (std::exchange(context.is_blocked, true)) return;
  blocked_.push_back(&context);
  context.leave_windows();
}

// The later ones may run nevertheless.
void RunQueue::block_first_free() {
  std::unique_ptr<Invocation> first = free_.pop();
  first->leave_window();
  const std::uint32_t epoch = first->target().epoch;
  Context& held = free_by_epoch_[epoch];
  held.id = epoch;
  held.is_free = true;
  held.waiting.push(std::move(first));
  block(held);
  if (!free_.waiting.empty()) make_ready(free_, true);
}

void RunQueue::put_back(Taken& taken) {
  if (taken.list.empty()) return;
  size_ += taken.list.size();
  taken.context->waiting.prepend(taken.list);
  taken.context->in_window = taken.context->waiting.first();
  if (taken.context == &free_) make_ready(free_);
}

void RunQueue::park(Context& context) {
  if (&context == &free_) return;
  context.is_parked = true;
  context.leave_windows();
}

void RunQueue::open_windows(bool open) {
  has_open_windows_ = open;
  if (!open) return;
  for (auto& [id, context] : contexts_) context.leave_windows();
  free_.leave_windows();
}

void RunQueue::done(Context& context) {
  if (&context == &free_) return;
  context.is_busy = context.is_parked = false;
  if (context.waiting.empty()) {
    spare_ = contexts_.extract(context.id);
  } else {
    make_ready(context, is_draining_ || size_ > kDrainAbove);
  }
}

void RunQueue::retry(std::uint32_t epoch) {
  std::erase_if(blocked_, [&](Context* context) {
    if (!context->is_free) {
      context->is_blocked = false;
      make_ready(*context);
      return true;
    }
    if (context->id > epoch) return false;
    free_.waiting.append(context->waiting);
    make_ready(free_);
    return true;
  });
  free_by_epoch_.erase(free_by_epoch_.begin(), free_by_epoch_.upper_bound(epoch));
}

void RunQueue::clear(InvocationList& cleared) {
  while (!ready_.empty()) ready_.erase(*ready_.first());
  for (auto it = contexts_.begin(); it != contexts_.end();) {
    cleared.append(it->second.waiting);
    it->second.is_ready = it->second.is_blocked = false;
    it->second.in_window = nullptr;
    it = it->second.is_busy ? std::next(it) : contexts_.erase(it);
  }
  cleared.append(free_.waiting);
  free_.is_ready = false;
  free_.in_window = nullptr;
  for (auto& [epoch, context] : free_by_epoch_) cleared.append(context.waiting);
  free_by_epoch_.clear();
  blocked_.clear();
  size_ = 0;
}

const Invocation* RunQueue::example() const {
  if (!free_.waiting.empty()) return free_.waiting.first();
  for (const auto& [id, context] : contexts_) {
    if (!context.is_blocked && !context.waiting.empty()) return context.waiting.first();
  }
  return nullptr;
}

std::size_t RunQueue::blocked_count() const {
  std::size_t count = 0;
  for (const Context* const context : blocked_) count += context->waiting.size();
  return count;
}

namespace {

/// Service of the world. Tables of representatives may outlive it, and keep the turn.
struct TurnOfRank {
  std::shared_ptr<Turn> turn;
};

}  // namespace

std::shared_ptr<Turn> Turn::of(const TeamCore& core) {
  TeamCore& world = core.messenger().world();
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

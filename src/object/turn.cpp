#include "object/turn.hpp"

#include <shoal/base/check.hpp>
#include <shoal/base/key.hpp>
#include <shoal/base/type_name.hpp>
#include <shoal/sync/strand.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace shoal::object {

Turn::Turn(Objects& objects, term::Scope& scope, MakeRunner make_runner)
    : Waitable(scope.scheduler()),
      objects_(objects),
      scope_(scope),
      make_runner_(make_runner),
      where_(fmt::format("of {} on rank {}", scope.describe(), scope.rank().value())),
      check_(scope.checks_graphs() ? std::make_unique<TurnCheck>() : nullptr) {}

std::uint64_t Turn::fresh_context() {
  // relaxed: numbers that differ
  return KeyHash<std::tuple<std::uint64_t, int, std::uint64_t>>{}(
      std::tuple(objects_.channel().team().id(), objects_.channel().team().rank().value(),
                 fresh_.fetch_add(1, std::memory_order_relaxed)));
}

// --- owner of the turn

bool Turn::try_acquire() {
  const sync::Lock lock(mutex_);
  return !std::exchange(taken_, true);
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

std::string Turn::describe() const { return "its turn among the invocations " + where_; }

bool Turn::pass_on(sync::Waiter*& next) {
  if (check_ != nullptr) check_->gives_turn();
  next = pop_waiter();
  if (next != nullptr) return false;
  taken_ = queue_.is_ready() && !is_closed();
  return taken_;
}

void Turn::release() {
  sync::publish(this);
  hand_over();
}

void Turn::hand_over() {
  sync::Waiter* next = nullptr;
  bool has_work = false;
  {
    const sync::Lock lock(mutex_);
    has_work = pass_on(next);
  }
  if (next != nullptr) next->wake();
  if (has_work) submit_runner();
}

void Turn::submit_runner() { scope_.scheduler().submit(make_runner_(shared_from_this(), scope_)); }

void Turn::drop() {
  InvocationList dropped;
  {
    const sync::Lock lock(mutex_);
    clear(dropped);
  }
  while (!dropped.empty()) dropped.pop()->drop(objects_);
  release();
}

// --- invocations

bool Turn::may_run(const Invocation& invocation) const {
  const Target& target = invocation.target();
  return target.epoch <= epoch() && target.number <= last_number_;
}

void Turn::accept(std::unique_ptr<Invocation> invocation) {
  sync::publish(this);
  bool has_work = false;
  bool waits = false;
  {
    const sync::Lock lock(mutex_);
    waits = !may_run(*invocation);
    if (check_ != nullptr) check_->arrives(*invocation);
    queue_.push(std::move(invocation));
    has_work = !std::exchange(taken_, true);
  }
  if (waits) update_source();
  if (has_work) submit_runner();
}

bool Turn::take(Runner& runner) {
  InvocationList dropped;
  sync::Waiter* next = nullptr;
  bool may_be_source = false;
  bool has_work = false;
  {
    const sync::Lock lock(mutex_);
    if (scope_.failed()) clear(dropped);
    if (waiters_.empty()) {
      RunQueue::Taken taken = queue_.take([this](const Invocation& one)
                                              SHOAL_UNCHECKED_LOCKING { return may_run(one); });
      runner.taken_.list.append(taken.list);
      runner.taken_.context = taken.context;
    }
    may_be_source = !queue_.blocked().empty() || entries_.empty();
    has_work = !runner.taken_.list.empty();
    if (!has_work) {
      if (check_ != nullptr) check_->gives_turn();
      next = pop_waiter();
      taken_ = next != nullptr;
    }
  }
  while (!dropped.empty()) dropped.pop()->drop(objects_);
  if (may_be_source) update_source();
  if (next != nullptr) {
    sync::publish(this);
    next->wake();
  }
  return has_work;
}

sync::Waiter* Turn::pop_waiter() {
  sync::Waiter* const waiter = waiters_.pop();
  has_waiters_.store(!waiters_.empty(), std::memory_order_relaxed);
  return waiter;
}

// The next one of a context with an order cannot begin before the runner goes on: it keeps those.
void Turn::put_back(Runner& runner) {
  InvocationList done;
  InvocationList rest;
  if (runner.running_ != nullptr && runner.running_->target().context == 0) {
    if (auto split = runner.running_->split(); split != nullptr) rest.push(std::move(split));
  }
  runner.taken_.list.prepend(rest);
  const sync::Lock lock(mutex_);
  done.append(runner.done_);
  queue_.put_back(runner.taken_);
}

// --- representatives

std::uint32_t Turn::add(void* representative, std::string_view type) {
  std::uint32_t number = 0;
  {
    const sync::Lock lock(mutex_);
    number = ++last_number_;
    Entry& entry = entries_[number];
    entry.representative = representative;
    entry.type = type;
    version_.fetch_add(1, std::memory_order_release);
  }
  advance_epoch();
  return number;
}

void Turn::move(std::uint32_t number, void* representative) {
  const sync::Lock lock(mutex_);
  const auto it = entries_.find(number);
  if (it == entries_.end()) return;
  it->second.representative = representative;
  version_.fetch_add(1, std::memory_order_release);
}

void Turn::remove(std::uint32_t number) noexcept {
  bool in_use = false;
  std::string_view type;
  {
    const sync::Lock lock(mutex_);
    const auto it = entries_.find(number);
    if (it == entries_.end()) return;
    type = it->second.type;
    const Caller* const caller = Caller::find();
    in_use = it->second.running.load(std::memory_order_relaxed) >
             (caller != nullptr && caller->runs(*this, number) ? 1 : 0);
    ended_.emplace_back(number, type);
    if (std::ssize(ended_) >= 2 * kEndedMax)
      ended_.erase(ended_.begin(), ended_.begin() + kEndedMax);
    entries_.erase(it);
    version_.fetch_add(1, std::memory_order_release);
  }
  if (is_closed()) return;
  if (in_use) {
    scope_.fail("a destructor", std::make_exception_ptr(CheckError(fmt::format(
                                    "object {} ({}) was destroyed while an invocation of it waits",
                                    number, naming::readable(type, "T")))));
  }
  update_source();
}

void* Turn::find(std::uint32_t number) const {
  const sync::Lock lock(mutex_);
  const auto it = entries_.find(number);
  return it != entries_.end() ? it->second.representative : nullptr;
}

std::string Turn::describe_missing(std::uint32_t number) const {
  const sync::Lock lock(mutex_);
  return missing_text(number);
}

std::string Turn::missing_text(std::uint32_t number) const {
  if (number == 0) return "the handle is empty";
  if (number > last_number_) return fmt::format("object {} {} was not made yet", number, where_);
  const auto it = std::find_if(ended_.begin(), ended_.end(),
                               [&](const Ended& one) { return one.first == number; });
  const std::string type =
      it != ended_.end() ? fmt::format(" ({})", naming::readable(it->second, "T")) : "";
  return fmt::format("object {}{} {} was destroyed", number, type, where_);
}

void Turn::advance_epoch() {
  bool has_work = false;
  {
    const sync::Lock lock(mutex_);
    epoch_.store(epoch() + 1, std::memory_order_relaxed);
    queue_.retry();
    has_work = queue_.is_ready() && !std::exchange(taken_, true);
  }
  if (has_work) submit_runner();
  update_source();
}

// The scope queries it with its own lock held, under which it learns of sources.
void Turn::update_source() {
  const sync::Lock lock(source_mutex_);
  const bool wanted = [this] {
    const sync::Lock inner(mutex_);
    return !entries_.empty() || queue_.size() > 0;
  }();
  if (wanted == is_source_ || is_closed()) return;
  is_source_ = wanted;
  if (wanted) {
    scope_.add(*this);
  } else {
    scope_.remove(*this);
  }
}

void Turn::close() {
  closed_.store(true, std::memory_order_release);
  InvocationList dropped;
  const sync::Lock lock(mutex_);
  clear(dropped);
}

void Turn::clear(InvocationList& dropped) {
  queue_.clear(dropped);
  if (check_ != nullptr) check_->forget();
}

}  // namespace shoal::object

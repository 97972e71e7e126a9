#include "object/turn.hpp"

#include <shoal/base/check.hpp>
#include <shoal/base/type_name.hpp>
#include <shoal/sync/strand.hpp>
#include <shoal/trace/probes.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace shoal::object {

Turn::Turn(Objects& objects, term::Scope& scope, MakeRunner make_runner)
    : Waitable(scope.scheduler()),
      objects_(objects),
      scope_(scope),
      make_runner_(make_runner),
      where_(fmt::format("of {} on rank {}", scope.describe(), scope.rank().value())),
      check_(scope.checks_graphs() ? std::make_unique<TurnCheck>() : nullptr) {}

// --- owner of the turn

bool Turn::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (!taken_) {
    taken_ = true;
    return false;
  }
  waiters_.push(waiter);
  return true;
}

bool Turn::withdraw(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  return waiters_.remove(waiter);
}

std::string Turn::describe() const { return "its turn among the invocations " + where_; }

bool Turn::pass_on(sync::Waiter*& next) {
  if (check_ != nullptr) check_->gives_turn();
  next = waiters_.pop();
  if (next != nullptr) return false;
  taken_ = queue_.is_ready() && !is_closed();
  return taken_;
}

void Turn::release() {
  sync::publish(this);
  sync::Waiter* next = nullptr;
  bool has_work = false;
  {
    const sync::Lock lock(mutex_);
    has_work = pass_on(next);
  }
  if (next != nullptr) next->wake();
  if (has_work) submit_runner();
}

// --- checks

void Turn::check_taken() {
  std::string violation;
  {
    const sync::Lock lock(mutex_);
    violation = check_->takes_turn();
  }
  fail_check(violation);
}

void Turn::fail_check(const std::string& violation) {
  if (violation.empty() || scope_.failed()) return;
  scope_.fail(
      "the check of objects",
      std::make_exception_ptr(CheckError(fmt::format("objects {}: {}", where_, violation))));
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

Turn::Work Turn::take(Runner& runner) {
  Work work;
  InvocationList dropped;
  sync::Waiter* next = nullptr;
  bool may_be_source = false;
  std::string violation;
  {
    const sync::Lock lock(mutex_);
    if (scope_.failed()) clear(dropped);
    if (waiters_.empty()) {
      work.taken = queue_.take([this](const Invocation& one)
                                   SHOAL_UNCHECKED_LOCKING { return may_run(one); });
    }
    may_be_source = !queue_.blocked().empty() || entries_.empty();
    if (const Invocation* const invocation = work.taken.invocation.get()) {
      runner.current_ = invocation;
      if (check_ != nullptr) violation = check_->begins(*invocation, epoch());
      const auto it = entries_.find(invocation->target().number);
      if (it != entries_.end()) {
        work.representative = it->second.representative;
        ++it->second.running;
      } else {
        work.missing = missing_text(invocation->target().number);
      }
    } else {
      if (check_ != nullptr) check_->gives_turn();
      next = waiters_.pop();
      taken_ = next != nullptr;
    }
  }
  fail_check(violation);
  while (!dropped.empty()) dropped.pop()->drop(objects_);
  if (may_be_source) update_source();
  if (next != nullptr) {
    sync::publish(this);
    next->wake();
  }
  return work;
}

void Turn::finish(Runner& runner, Work& work) {
  const sync::Lock lock(mutex_);
  runner.current_ = nullptr;
  const auto it = entries_.find(work.taken.invocation->target().number);
  if (it != entries_.end() && work.representative != nullptr) --it->second.running;
  if (check_ != nullptr) check_->ends(work.taken.invocation->target().context);
  queue_.done(*work.taken.context);
}

std::uint64_t Turn::begin_span(const Invocation& invocation) {
  const std::uint64_t span = trace::new_id();
  trace::detail::record(trace::Kind::span_begin, span, invocation.target().number,
                        trace::detail::name_of(invocation.method()));
  return span;
}

void Turn::run(Runner& runner, Work& work) {
  Invocation& invocation = *work.taken.invocation;
  std::uint64_t span = 0;
  if (trace::on<trace::Category::event>()) [[unlikely]]
    span = begin_span(invocation);
  runner.caller_->set_context(invocation.target().context);
  sync::observe(this);
  try {
    if (work.representative != nullptr) {
      invocation.run(objects_, work.representative);
    } else {
      invocation.miss(objects_, fmt::format("{} was invoked by {}: {}", invocation.method(),
                                            invocation.caller(), work.missing));
    }
  } catch (...) {
    if (!scope_.failed()) scope_.fail(runner.name(), std::current_exception());
  }
  if (span != 0) trace::detail::record(trace::Kind::span_end, span, 0, 0);
}

void Turn::serve(Runner& runner) {
  if (check_ != nullptr) check_taken();
  for (int served = 0; served < kServedMax; ++served) {
    Work work = take(runner);
    if (work.taken.invocation == nullptr) return;
    run(runner, work);
    finish(runner, work);
  }
  sync::Waiter* next = nullptr;
  bool has_work = false;
  {
    const sync::Lock lock(mutex_);
    has_work = pass_on(next);
  }
  if (next != nullptr) next->wake();
  if (has_work) submit_runner();
}

std::string Turn::name_of(const Runner& runner) const {
  const sync::Lock lock(mutex_);
  const Invocation* const invocation = runner.current_;
  if (invocation == nullptr) return "invocations " + where_;
  return fmt::format("{} of object {}, invoked by {}", invocation->method(),
                     invocation->target().number, invocation->caller());
}

// --- representatives

std::uint32_t Turn::add(void* representative, std::string_view type) {
  std::uint32_t number = 0;
  {
    const sync::Lock lock(mutex_);
    number = ++last_number_;
    entries_[number] = {representative, type, 0};
  }
  advance_epoch();
  return number;
}

void Turn::move(std::uint32_t number, void* representative) {
  const sync::Lock lock(mutex_);
  const auto it = entries_.find(number);
  if (it != entries_.end()) it->second.representative = representative;
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
    in_use = it->second.running > (caller != nullptr && caller->is_runner() ? 1 : 0);
    ended_.emplace_back(number, type);
    if (ended_.size() > kEndedMax) ended_.pop_front();
    entries_.erase(it);
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

// --- term::Unsatisfied: invocations that wait for an object, or an epoch, of this rank

std::uint64_t Turn::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  return queue_.blocked_count();
}

std::vector<std::string> Turn::describe_unsatisfied() const {
  constexpr std::size_t kLinesMax = 16;
  const sync::Lock lock(mutex_);
  std::vector<std::string> lines;
  for (const RunQueue::Context* const context : queue_.blocked()) {
    const Invocation& one = *context->waiting.first();
    const Target& target = one.target();
    const std::string why =
        target.number > last_number_
            ? "which is not made yet"
            : fmt::format("in epoch {}: this rank is in epoch {}", target.epoch, epoch());
    lines.push_back(
        fmt::format("invocation {} from {} waits for object {}, {}{}", one.method(), one.caller(),
                    target.number, why,
                    context->waiting.size() == 1
                        ? ""
                        : fmt::format(" ({} more behind it)", context->waiting.size() - 1)));
    if (lines.size() == kLinesMax) break;
  }
  if (const Invocation* const one = queue_.example(); one != nullptr) {
    lines.push_back(
        fmt::format("invocations that wait for their turn, or for the end of an earlier one: {}; "
                    "one of them {} of object {} from {}",
                    queue_.size() - queue_.blocked_count(), one->method(), one->target().number,
                    one->caller()));
  }
  return lines;
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

#include "object/share.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/key.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace shoal::object {

std::string method_of(const Invocation& invocation) {
  return team::shown_to_users(invocation.method());
}

void OrderCheck::arrives(const Invocation& invocation) {
  if (invocation.target().context == 0) return;
  contexts_[invocation.target().context].waiting.push_back(&invocation);
}

std::string OrderCheck::begins(const Invocation& invocation, std::uint32_t epoch) {
  const Target& target = invocation.target();
  Context free;
  if (target.context == 0) free.waiting.push_back(&invocation);
  Context& context = target.context != 0 ? contexts_[target.context] : free;
  const bool is_first = !context.waiting.empty() && context.waiting.front() == &invocation;
  if (invocation.left() == 1) std::erase(context.waiting, &invocation);
  const char* what = nullptr;
  if (!is_first) what = "overtakes an earlier one of its context";
  if (std::exchange(context.is_running, true)) {
    what = "begins before the one before it in its context has ended";
  }
  if (target.epoch > epoch) what = "comes from a later epoch";
  if (what == nullptr) return "";
  return fmt::format("{} of object {}, invoked by {}, {}", method_of(invocation), target.number,
                     invocation.caller(), what);
}

void OrderCheck::ends(std::uint64_t context) {
  if (context == 0) return;
  const auto it = contexts_.find(context);
  it->second.is_running = false;
  if (it->second.waiting.empty()) contexts_.erase(it);
}

void OrderCheck::forget() {
  for (auto& [id, context] : contexts_) context.waiting.clear();
  std::erase_if(contexts_, [](const auto& context) { return !context.second.is_running; });
}

Share::Share(Objects& objects, TeamCore& core, std::shared_ptr<Turn> turn, MakeRunner make_runner)
    : objects_(objects),
      core_(core),
      turn_(std::move(turn)),
      make_runner_(make_runner),
      where_(fmt::format("of {} on rank {}", core.describe(), core.rank().value())),
      check_(core.checks_graphs() ? std::make_unique<OrderCheck>() : nullptr) {}

std::uint64_t Share::fresh_context() {
  // relaxed: numbers that differ
  return KeyHash<std::tuple<std::uint64_t, int, std::uint64_t>>{}(
      std::tuple(objects_.core().id(), objects_.core().rank().value(),
                 fresh_.fetch_add(1, std::memory_order_relaxed)));
}

// --- invocations

bool Share::may_run(const Invocation& invocation) const {
  const Target& target = invocation.target();
  return target.epoch <= epoch() && target.number <= last_number_;
}

void Share::accept(std::unique_ptr<Invocation> invocation) {
  sync::publish(this);
  bool waits = false;
  bool wants = false;
  {
    const sync::Lock lock(mutex_);
    waits = !may_run(*invocation);
    if (check_ != nullptr) check_->arrives(*invocation);
    queue_.push(std::move(invocation));
    wants = wants_runner();
  }
  if (waits) update_source();
  if (wants) start_runner();
}

// Its caller is counted in the team, or is a handler of it.
void Share::start_runner() { turn_->give_to(make_runner_(shared_from_this(), core_)); }

// Takes invocations to run. A runner that has waited takes none while there is another runner. It
// takes the first ones even if others wait for the turn: otherwise two sections that poll would
// keep it from running any.
bool Share::take(Runner& runner, bool is_first) {
  InvocationList dropped;
  bool may_be_source = false;
  bool has_work = false;
  {
    const sync::Lock lock(mutex_);
    if (core_.failed()) clear(dropped);
    if (!runner.is_taking_) runner.is_taking_ = !std::exchange(has_runner_, true);
    if (runner.is_taking_ && (is_first || !turn_->is_wanted())) {
      RunQueue::Taken taken = queue_.take([this](const Invocation& one)
                                              SHOAL_UNCHECKED_LOCKING { return may_run(one); });
      runner.taken_.list.append(taken.list);
      runner.taken_.context = taken.context;
    }
    may_be_source = !queue_.blocked().empty() || entries_.empty();
    has_work = !runner.taken_.list.empty();
  }
  while (!dropped.empty()) dropped.pop()->drop(objects_);
  if (may_be_source) update_source();
  return has_work;
}

void Share::leave(Runner& runner) {
  bool wants = false;
  {
    const sync::Lock lock(mutex_);
    if (std::exchange(runner.is_taking_, false)) has_runner_ = false;
    wants = wants_runner();
  }
  turn_->release();
  if (wants) start_runner();
}

// Keeps the next invocations of a context with an order, which cannot begin before the runner
// continues.
void Share::park(Runner& runner) {
  InvocationList done;
  InvocationList rest;
  if (runner.running_ != nullptr) {
    runner.running_->leave_window();
    if (runner.running_->target().context == 0) {
      if (auto split = runner.running_->split(); split != nullptr) rest.push(std::move(split));
    }
  }
  runner.taken_.list.prepend(rest);
  {
    const sync::Lock lock(mutex_);
    done.append(runner.done_);
    queue_.put_back(runner.taken_);
    if (runner.running_ != nullptr) queue_.park(*runner.taken_.context);
  }
  leave(runner);
}

void Share::drop() {
  InvocationList dropped;
  {
    const sync::Lock lock(mutex_);
    clear(dropped);
    has_runner_ = false;
  }
  while (!dropped.empty()) dropped.pop()->drop(objects_);
  turn_->release();
}

// --- representatives

std::uint32_t Share::add(void* representative, const ObjectClass& registered,
                         std::atomic<std::uint32_t>& epoch) {
  std::uint32_t number = 0;
  {
    const sync::Lock lock(mutex_);
    number = ++last_number_;
    Entry& entry = entries_[number];
    entry.representative = representative;
    entry.registered = &registered;
    entry.epoch = &epoch;
    version_.fetch_add(1, std::memory_order_release);
  }
  advance_epoch(number);
  return number;
}

void Share::move(std::uint32_t number, void* representative) {
  const sync::Lock lock(mutex_);
  const auto it = entries_.find(number);
  if (it == entries_.end()) return;
  it->second.representative = representative;
  version_.fetch_add(1, std::memory_order_release);
}

void Share::remove(std::uint32_t number) noexcept {
  bool in_use = false;
  const ObjectClass* registered = nullptr;
  {
    const sync::Lock lock(mutex_);
    const auto it = entries_.find(number);
    if (it == entries_.end()) return;
    registered = it->second.registered;
    const Caller* const caller = Caller::find();
    in_use = it->second.running.load(std::memory_order_relaxed) >
             (caller != nullptr && caller->runs(*this, number) ? 1 : 0);
    ended_.emplace_back(number, registered);
    if (std::ssize(ended_) >= 2 * kEndedMax)
      ended_.erase(ended_.begin(), ended_.begin() + kEndedMax);
    entries_.erase(it);
    version_.fetch_add(1, std::memory_order_release);
  }
  if (is_closed()) return;
  if (in_use) {
    core_.fail("a destructor", std::make_exception_ptr(CheckError(fmt::format(
                                   "object {} ({}) was destroyed while an invocation of it waits: "
                                   "call fence() before it ends",
                                   number, class_name(*registered)))));
  }
  update_source();
}

void* Share::find(std::uint32_t number, const ObjectClass& wanted) const {
  const ObjectClass* registered = nullptr;
  {
    const sync::Lock lock(mutex_);
    const auto it = entries_.find(number);
    if (it == entries_.end()) return nullptr;
    if (is_same(*it->second.registered, wanted)) return it->second.representative;
    registered = it->second.registered;
  }
  throw CheckError(fmt::format(
      "object {} {} is a {}, and a {} on the rank that uses it here: all members of a team make "
      "their distributed objects in the same order",
      number, where_, class_name(*registered), class_name(wanted)));
}

std::string Share::describe_missing(std::uint32_t number) const {
  const sync::Lock lock(mutex_);
  return missing_text(number);
}

std::string Share::name_of(std::uint32_t number) const {
  const sync::Lock lock(mutex_);
  return object_text(number);
}

std::string Share::object_text(std::uint32_t number) const {
  const ObjectClass* registered = nullptr;
  if (const auto it = entries_.find(number); it != entries_.end()) {
    registered = it->second.registered;
  } else if (const auto ended = std::ranges::find(ended_, number, &Ended::first);
             ended != ended_.end()) {
    registered = ended->second;
  }
  return registered == nullptr ? fmt::format("object {}", number)
                               : fmt::format("object {} ({})", number, class_name(*registered));
}

std::string Share::missing_text(std::uint32_t number) const {
  if (number == 0) return "the handle is empty";
  if (number > last_number_) return fmt::format("object {} {} was not made yet", number, where_);
  return fmt::format("{} {} was destroyed: call fence() before it ends", object_text(number),
                     where_);
}

// --- invocations through rank 0 of the team

void Share::begin_forwarded(std::uint64_t count) {
  is_direct_.store(false, std::memory_order_relaxed);  // before others see the share
  {
    const sync::Lock lock(mutex_);
    forwarded_ = count;
  }
  update_source();
}

// An invocation that is sent directly could overtake those that travel through rank 0.
bool Share::forward() {
  const sync::Lock lock(mutex_);
  if (forwarded_ == 0) return false;
  ++forwarded_;
  return true;
}

void Share::forward_arrived() {
  {
    const sync::Lock lock(mutex_);
    if (--forwarded_ > 0) return;
    is_direct_.store(true, std::memory_order_release);
  }
  update_source();
}

void Share::advance_epoch(std::uint32_t number) {
  if (run_has_ended_) team::refuse_after_run(name_of(number));
  bool wants = false;
  {
    const sync::Lock lock(mutex_);
    epoch_.store(epoch() + 1, std::memory_order_relaxed);
    if (const auto it = entries_.find(number); it != entries_.end())
      it->second.epoch->store(epoch(), std::memory_order_relaxed);
    queue_.retry(epoch());
    wants = wants_runner();
  }
  if (wants) start_runner();
  update_source();
}

// The team queries it with its own lock held, under which it learns of sources.
void Share::update_source() {
  const sync::Lock lock(source_mutex_);
  const bool wanted = [this] {
    const sync::Lock inner(mutex_);
    return !entries_.empty() || queue_.size() > 0 || forwarded_ > 0;
  }();
  if (wanted == is_source_ || is_closed()) return;
  is_source_ = wanted;
  if (wanted) {
    core_.add(*this);
  } else {
    core_.remove(*this);
  }
}

void Share::close() {
  closed_.store(true, std::memory_order_release);
  InvocationList dropped;
  const sync::Lock lock(mutex_);
  clear(dropped);
}

void Share::clear(InvocationList& dropped) {
  queue_.clear(dropped);
  if (check_ != nullptr) check_->forget();
}

std::string Share::name_of(const Runner& runner) const {
  const sync::Lock lock(mutex_);
  const Invocation* const invocation = runner.current_.load(std::memory_order_acquire);
  if (invocation == nullptr) return "invocations " + where_;
  return fmt::format("{} of object {}, invoked by {}", method_of(*invocation),
                     invocation->target().number, invocation->caller());
}

// --- team::Unsatisfied: invocations that wait for an object, or an epoch, of this rank

std::uint64_t Share::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  return queue_.blocked_count() + (core_.failed() ? 0 : forwarded_);
}

std::vector<std::string> Share::describe_unsatisfied() const {
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
        fmt::format("invocation {} from {} waits for object {}, {}{}", method_of(one), one.caller(),
                    target.number, why,
                    context->waiting.size() == 1
                        ? ""
                        : fmt::format(" ({} more behind it)", context->waiting.size() - 1)));
    if (lines.size() == kLinesMax) break;
  }
  if (forwarded_ > 0 && !core_.failed()) {
    lines.push_back(fmt::format(
        "invocations by rank {} from before it had made the team have not come through rank 0: {}",
        core_.rank().value(), forwarded_));
  }
  if (const Invocation* const one = queue_.example(); one != nullptr) {
    lines.push_back(
        fmt::format("invocations that wait for their turn, or for the end of an earlier one: {}; "
                    "one of them {} of object {} from {}",
                    queue_.size() - queue_.blocked_count(), method_of(*one), one->target().number,
                    one->caller()));
  }
  return lines;
}

// Representatives of the program refer to the share.
bool Share::run_ended() {
  const sync::Lock lock(mutex_);
  run_has_ended_ = true;
  return !entries_.empty();
}

// --- checks

void Share::check_begins(const Invocation& invocation) {
  std::string violation;
  {
    const sync::Lock lock(mutex_);
    violation = check_->begins(invocation, epoch());
  }
  fail_check(violation);
}

void Share::check_ends(const Invocation& invocation) {
  const sync::Lock lock(mutex_);
  check_->ends(invocation.target().context);
}

void Share::fail_check(const std::string& violation) {
  if (violation.empty() || core_.failed()) return;
  core_.fail("the check of objects",
             std::make_exception_ptr(CheckError(fmt::format("objects {}: {}", where_, violation))));
}

}  // namespace shoal::object

#include <shoal/detail/sched/completion.hpp>

#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/dependencies.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/waiter.hpp>
#include <shoal/future.hpp>
#include <shoal/when.hpp>

#include <fmt/core.h>

#include "env/host.hpp"
#include "sched/live.hpp"
#include "sched/worker.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <set>
#include <string>
#include <utility>

namespace shoal::sched {

Completion::~Completion() = default;

bool Completion::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  // Either the value is ready now, or complete() sees the mark and takes the lock. acquire: as in
  // is_ready().
  if ((word_.fetch_or(kAwaited, std::memory_order_acquire) & kReady) != 0) return false;
  waiters_.push(waiter);
  return true;
}

// A task without a name is the one that the promise belongs to.
std::string Completion::name() const {
  if (!name_.empty()) return name_;
  if (static_name_ != nullptr) return static_name_;
  return task_.load(kRelaxed) != 0 ? "task" : fmt::format("promise of {}", value_name());
}

std::string Completion::promise_name() const {
  const bool has_name = !name_.empty() || static_name_ != nullptr || task_.load(kRelaxed) != 0;
  return !has_name ? name() : fmt::format("promise '{}'", name());
}

std::string Completion::describe() const { return fmt::format("get() of '{}'", name()); }

void Completion::await() {
  const Worker* const worker = current_worker();
  const bool polls = worker != nullptr && worker->queues.deque.size_hint() <= 0;  // may nest a task
  if (!polls || !poll_until(scheduler(), [this] { return is_ready(); })) wait_here();
}

FutureStatus Completion::wait_until_ns(std::uint64_t due_ns) {
  if (in_handler()) [[unlikely]]
    refuse_in_handler(describe());
  if (is_ready()) return FutureStatus::ready;
  check_may_wait();
  if (!has_come(due_ns)) static_cast<void>(wait_here_until(due_ns));
  return is_ready() ? FutureStatus::ready : FutureStatus::timeout;
}

// The error may be the failure's doing: a task that was dropped breaks its promise.
void Completion::throw_error() {
  give_up_error();
  tell_main_of_failure(scheduler());
  std::rethrow_exception(error_);
}

void Completion::complete(std::exception_ptr error, bool leaves) {
  if (error != nullptr) [[unlikely]]
    return complete_with(std::move(error), leaves);
  complete(leaves);
}

namespace {

// Scope of the calling task, handler or main function; nullptr on a thread of the program.
TaskScope* scope_here() {
  const Worker* const worker = current_worker();
  if (worker == nullptr) return nullptr;
  TaskScope* const scope = current_scope();
  return scope != nullptr ? scope : &worker->scheduler().scope();
}

}  // namespace

namespace {

/// States of the process that have an error, of all runs. Those that end leave.
struct Failed {
  sync::Mutex mutex;
  std::set<Completion*> states SHOAL_GUARDED_BY(mutex);
};
Failed& failed() {
  static auto* const failed = new Failed;  // futures of globals may end later than any other object
  return *failed;
}

void enlist_failed(Completion& state) {
  const sync::Lock lock(failed().mutex);
  try {
    failed().states.insert(&state);
  } catch (const std::bad_alloc&) {  // the end of its last future reports it
  }
}

}  // namespace

// A scope that has failed drops its tasks and promises, and tells of that itself.
[[gnu::noinline]] void Completion::complete_with(std::exception_ptr error, bool leaves) {
  const TaskScope* const scope = scope_here();
  if (scope != nullptr && scope->failed()) give_up_error();
  error_ = std::move(error);
  enlist_failed(*this);
  complete(leaves);
}

void Completion::complete(bool leaves) {
  const std::uint32_t dropped = leaves ? kReference : 0;
  std::uint32_t word = word_.load(kRelaxed);
  do {
    if ((word & kAwaited) != 0) return complete_awaited(leaves);
    // release pairs with is_ready(); acquire: it may be deleted below. Else nothing of it is
    // touched any more.
  } while (!word_.compare_exchange_weak(word, word + kReady - dropped, std::memory_order_acq_rel,
                                        kRelaxed));
  if (leaves && word < 2 * kReference) delete this;
}

void Completion::complete_awaited(bool leaves) {
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    word_.fetch_or(kReady, std::memory_order_release);
    woken = waiters_.take_all();
  }
  woken.wake_all();
  if (leaves) remove_reference(this);
}

void Completion::remove_future_shared() {
  if (!is_ready()) abandon();
  remove_shared();
}

// A future that goes with the stack of an exception, before its value is there, leaves the report
// to that exception.
void Completion::remove_shared() {
  const std::uint32_t word = word_.load(kRelaxed);
  const bool is_last_future = (word & kReady) == 0 && word < 3 * kReference;
  if (is_last_future && std::uncaught_exceptions() > 0) give_up_error();
  if (word_.fetch_sub(kReference, std::memory_order_acq_rel) < 2 * kReference) delete this;
}

namespace {

// Errors that others tell of.
bool was_reported(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const CancelledError&) {
    return true;
  } catch (const GivenUpError&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string untaken_text(const std::exception_ptr& error) {
  return fmt::format(
      "{}; nobody has taken this error from its future: call get() or then(), or catch it where it "
      "is thrown",
      describe(error));
}

}  // namespace

std::string Completion::take_untaken() {
  const bool is_taken = (word_.load(kRelaxed) & kTaken) != 0;
  if (is_taken || was_reported(error_)) return {};
  give_up_error();
  return fmt::format("{} failed: {}", name(), untaken_text(error_));
}

std::vector<std::string> untaken_errors(const Scheduler& scheduler) {
  std::vector<std::string> texts;
  sync::locked(failed().mutex, [&]() SHOAL_REQUIRES(failed().mutex) {  // so that none of them ends
    for (Completion* const state : failed().states) {
      if (&state->scheduler() != &scheduler) continue;
      std::string text = state->take_untaken();
      if (!text.empty()) texts.push_back(std::move(text));
    }
  });
  return texts;
}

void Completion::report_untaken() noexcept {
  {
    const sync::Lock lock(failed().mutex);
    failed().states.erase(this);
  }
  const bool is_taken = (word_.load(kRelaxed) & kTaken) != 0;
  if (is_taken || std::uncaught_exceptions() > 0) return;
  try {
    if (was_reported(error_)) return;
    TaskScope* const scope = scope_here();
    if (scope == nullptr) {  // perhaps the run is over
      return env::write_to_standard_error(
          {"shoal: error: ", name(), " failed: ", untaken_text(error_), "\n"});
    }
    if (scope->failed()) return;
    current_worker()->scheduler().leave_error(*scope, name(),
                                              std::make_exception_ptr(Error(untaken_text(error_))));
  } catch (const std::bad_alloc&) {
    std::terminate();  // it would be lost
  }
}

AnyPromise::~AnyPromise() {
  if (state_ != nullptr) fail(broken_promise(*state_));
}

void AnyPromise::fail(std::exception_ptr error) {
  state_.detach()->complete(std::move(error), true);
}

namespace {

std::exception_ptr failure_here() {
  const TaskScope* const scope = current_scope();
  return scope != nullptr && scope->failed() ? scope->failure_error() : nullptr;
}

}  // namespace

std::exception_ptr caught_error() {
  std::exception_ptr caught = caught_exception();
  try {
    std::rethrow_exception(caught);
  } catch (const CancelledError&) {
    if (std::exception_ptr failure = failure_here()) return failure;
  } catch (...) {  // any other stays as it is
  }
  return caught;
}

std::exception_ptr broken_promise(Completion& state) {
  state.give_up_error();
  if (std::exception_ptr failure = failure_here()) return failure;
  return std::make_exception_ptr(
      BrokenPromise(fmt::format("{} was destroyed before it was fulfilled", state.promise_name())));
}

void check_may_fulfil(const Completion* state) {
  Attempt* const attempt = find_attempt();
  if (attempt == nullptr) return;
  attempt->refuse(
      fmt::format("the value of {}", state != nullptr ? state->promise_name() : "a promise"));
}

void refuse_promise(const Completion* state, const char* what) {
  throw CheckError(fmt::format("{} cannot be used so: {}",
                               state != nullptr ? state->promise_name() : "a promise", what));
}

void refuse_future(const char* what) {
  throw CheckError(
      fmt::format("a future cannot be used so: {}; get() takes the value, once, and share() "
                  "makes a future for several readers",
                  what));
}

// A part may end, and have enough ended, while others are still to be seen: then the end of this
// function passes the gate.
void Gate::watch(Completion& self, const std::vector<Completion*>& parts, std::size_t needed) {
  self_ = &self;
  places_ = std::make_unique<Place[]>(parts.size());  // NOLINT: see places_
  place_count_ = parts.size();
  join_ = new_join();
  missing_.store(kWatching + static_cast<std::int64_t>(needed), std::memory_order_relaxed);
  const std::int64_t ended = join_ == 0 ? enlist_in<false>(parts) : enlist_in<true>(parts);
  const std::int64_t seen = kWatching + ended;
  // acq_rel: the last one sees the values of the others
  if (missing_.fetch_sub(seen, std::memory_order_acq_rel) <= seen) try_to_pass();
}

// Returns how many have ended.
template <bool kIsRecorded>
std::int64_t Gate::enlist_in(const std::vector<Completion*>& parts) {
  std::int64_t ended = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Place& place = places_[i];
    place.gate = this;
    if (parts[i] == nullptr) {
      ++ended;
      continue;
    }
    if constexpr (kIsRecorded) place.join = parts[i]->join();
    add_reference(self_);
    if (parts[i]->enlist(place)) {
      place.of = parts[i];
      continue;
    }
    if constexpr (kIsRecorded) {
      const std::uint64_t by = parts[i]->join();
      if (by != 0) record_fulfilled(join_, by);
    }
    remove_reference(self_);
    ++ended;
  }
  return ended;
}

void Gate::end_one(std::uint64_t join) {
  Completion* const self = self_;
  if (join_ != 0) record_fulfilled(join_, join);
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) try_to_pass();
  remove_reference(self);
}

void Gate::try_to_pass() {
  if (decided_.exchange(true, std::memory_order_acq_rel)) return;
  leave_lists();
  pass();
}

bool Gate::leave() noexcept {
  if (decided_.exchange(true, std::memory_order_acq_rel)) return false;
  leave_lists();
  return true;
}

// The caller has a reference of its own. A place that is not in its list any more is being woken.
void Gate::leave_lists() noexcept {
  for (std::size_t i = 0; i < place_count_; ++i) {
    Place& place = places_[i];
    if (place.of != nullptr && place.of->withdraw(place)) remove_reference(self_);
  }
}

std::exception_ptr first_error(const std::vector<Completion*>& parts) {
  std::exception_ptr first;
  for (Completion* const part : parts) {
    const std::exception_ptr error = part != nullptr ? part->take_error() : nullptr;
    if (first == nullptr) first = error;
  }
  return first;
}

Scheduler& scheduler_of(const std::vector<Completion*>& parts, const char* what) {
  for (const Completion* const part : parts) {
    if (part != nullptr) return part->scheduler();
  }
  return current_scheduler(what, kUseInTask);
}

}  // namespace shoal::sched

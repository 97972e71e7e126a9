// Running the invocations that a runner has taken.

#include <shoal/detail/sync/strand.hpp>
#include <shoal/detail/trace/probes.hpp>

#include "object/share.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>

namespace shoal::object {

namespace {

// The owner of the turn alone writes.
void count_running(Entry& entry, int count) {
  entry.running.store(entry.running.load(std::memory_order_relaxed) + count,
                      std::memory_order_relaxed);
}

}  // namespace

// --- the representative of the invocations that run

Share::InUse::InUse(Share& share, Runner& runner, const Invocation& invocation)
    : share_(share),
      runner_(runner),
      number_(invocation.target().number),
      wanted_(invocation.object()) {
  begin();
}

// acquire pairs with the release of a change: an entry of this version is there
bool Share::InUse::is_known() const {
  return runner_.number_ == number_ &&
         runner_.version_ == share_.version_.load(std::memory_order_acquire);
}

void Share::InUse::begin() {
  if (!is_known()) look_up();
  is_counted_ = runner_.entry_ != nullptr && is_same(*runner_.entry_->registered, wanted_);
  if (is_counted_) count_running(*runner_.entry_, 1);
}

[[gnu::noinline]] void Share::InUse::look_up() {
  const sync::Lock lock(share_.mutex_);
  const auto it = share_.entries_.find(number_);
  runner_.entry_ = it != share_.entries_.end() ? &it->second : nullptr;
  runner_.number_ = number_;
  runner_.version_ = share_.version_.load(std::memory_order_relaxed);
}

void Share::InUse::end() {
  if (!std::exchange(is_counted_, false)) return;
  if (!is_known()) look_up();
  if (runner_.entry_ != nullptr) count_running(*runner_.entry_, -1);
}

[[gnu::noinline]] void Share::InUse::begin_anew() {
  end();
  begin();
}

[[gnu::always_inline]] inline void Share::InUse::renew() {
  if (!is_known()) [[unlikely]]
    begin_anew();
}

inline void* Share::InUse::representative() const {
  return is_counted_ ? runner_.entry_->representative : nullptr;
}

// --- running

std::uint64_t Share::begin_span(const Invocation& invocation) {
  const std::uint64_t span = trace::new_id();
  trace::detail::record(trace::Kind::span_begin, span, invocation.target().number,
                        trace::detail::name_of(method_of(invocation)));
  return span;
}

// The first one that has not begun.
[[gnu::always_inline]] inline void Share::run(Runner& runner, Invocation& invocation,
                                              void* representative) {
  sync::observe(this);
  try {
    if (representative != nullptr) [[likely]] {
      invocation.run(objects_, representative);
    } else {
      miss(invocation);
    }
  } catch (...) {
    fail(runner);
  }
}

[[gnu::noinline]] void Share::miss(Invocation& invocation) {
  static_cast<void>(find(invocation.target().number, invocation.object()));  // one of its class
  const std::string who = invocation.caller();
  invocation.miss(objects_, fmt::format("{} was invoked by {}: {}", method_of(invocation), who,
                                        describe_missing(invocation.target().number)));
}

[[gnu::noinline]] void Share::fail(const Runner& runner) {
  if (!core_.failed()) core_.fail(runner.name(), sched::caught_exception());
}

// One that is traced, or checked, or has a context of its own.
[[gnu::noinline]] void Share::run_on_strand(Runner& runner, Invocation& invocation,
                                            void* representative) {
  if (check_ != nullptr) check_begins(invocation);
  if (invocation.target().context == 0) runner.caller_->set_context(fresh_context());
  const std::uint64_t span = trace::on<trace::Category::event>() ? begin_span(invocation) : 0;
  run(runner, invocation, representative);
  if (span != 0) trace::detail::record(trace::Kind::span_end, span, 0, 0);
  if (check_ != nullptr) check_ends(invocation);
}

// Until `count_max` have run, there are no more, or the turn is wanted.
int Share::run_some(Runner& runner, Invocation& invocation, int count_max) {
  InUse object(*this, runner, invocation);
  const std::uint64_t context = invocation.target().context;
  if (context != 0) runner.caller_->set_context(context);
  runner.caller_->set_epoch(invocation.target().epoch);
  const bool is_plain = context != 0 && check_ == nullptr;
  int count = 0;
  while (true) {
    if (is_plain && !trace::on<trace::Category::event>()) [[likely]] {
      run(runner, invocation, object.representative());
    } else {
      run_on_strand(runner, invocation, object.representative());
    }
    ++count;
    if (invocation.left() == 0 || count >= count_max || is_wanted()) return count;
    object.renew();
  }
}

int Share::run_taken(Runner& runner) {
  int count = 0;
  do {
    runner.running_ = runner.taken_.list.pop();
    runner.current_.store(runner.running_.get(), std::memory_order_release);
    count += run_some(runner, *runner.running_, RunQueue::kTakenMax - count);
    if (runner.running_->left() == 0) {
      runner.done_.push(std::move(runner.running_));
    } else {
      InvocationList rest;
      rest.push(std::move(runner.running_));
      runner.taken_.list.prepend(rest);
    }
  } while (!runner.taken_.list.empty() && count < RunQueue::kTakenMax && !is_wanted());
  return count;
}

// The invocations that have run are destroyed without the lock.
void Share::finish(Runner& runner) {
  InvocationList done;
  const sync::Lock lock(mutex_);
  runner.current_.store(nullptr, std::memory_order_relaxed);
  done.append(runner.done_);
  queue_.put_back(runner.taken_);
  queue_.done(*runner.taken_.context);
}

void Share::serve(Runner& runner) {
  turn_->begin_runner();
  for (int served = 0; served < kServedMax && take(runner, served == 0);) {
    served += run_taken(runner);
    finish(runner);
  }
  leave(runner);
}

}  // namespace shoal::object

#include <shoal/term/scope.hpp>

#include <shoal/am/archive.hpp>
#include <shoal/base/check.hpp>
#include <shoal/sched/function_task.hpp>
#include <shoal/sync/strand.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace shoal::term {

namespace {

constexpr std::size_t kStuckLinesMax = 256;  // of all ranks together
constexpr std::size_t kReserveBytes = 64UL << 10U;

template <class... Ts>
void send(messaging::Messenger& messenger, const messaging::StaticHandler& handler, Rank target,
          const Ts&... values) {
  std::vector<std::byte> bytes(encoded_size<Ts...>(values...));
  encode<Ts...>(std::span(bytes), values...);
  messenger.send_control(handler, target, bytes);
}

}  // namespace

/// The control messages: each decodes and calls the scope of the rank it arrived on.
struct ScopeMessages {
  using Message = messaging::Message;
  using Handler = messaging::StaticHandler;

  static Scope& scope_of(const Message& message) {
    return static_cast<Scope&>(message.messenger.scope());
  }
  static void on_report(void*, const Message& message) {
    Scope& scope = scope_of(message);
    const auto [report] = decode<Report>(message.arguments);
    const sync::Lock lock(scope.mutex_);
    scope.detector_.on_report(message.source, report);
  }
  static void on_request(void*, const Message& message) {
    Scope& scope = scope_of(message);
    const auto [request] = decode<Request>(message.arguments);
    const sync::Lock lock(scope.mutex_);
    scope.detector_.on_request(request);
  }
  static void on_confirmation(void*, const Message& message) {
    Scope& scope = scope_of(message);
    const auto [confirmation] = decode<Confirmation>(message.arguments);
    const sync::Lock lock(scope.mutex_);
    scope.detector_.on_confirmation(confirmation);
  }
  static void on_done(void*, const Message& message) {
    Scope& scope = scope_of(message);
    const auto [unsatisfied, all_final] = decode<std::uint64_t, bool>(message.arguments);
    const sync::Lock lock(scope.mutex_);
    scope.on_done(unsatisfied, all_final);
  }
  static void on_failure_up(void*, const Message& message) {
    const auto [rank, name, text] = decode<int, std::string, std::string>(message.arguments);
    scope_of(message).on_failure_up(Rank(rank), name, text);
  }
  static void on_failure_down(void*, const Message& message) {
    const auto [rank, name, text] = decode<int, std::string, std::string>(message.arguments);
    scope_of(message).on_failure_down(Rank(rank), name, text);
  }
  static void on_stuck_part(void*, const Message& message) {
    Scope& scope = scope_of(message);
    auto [lines, left_out, tasks_parked] =
        decode<std::vector<Scope::StuckLine>, std::uint64_t, bool>(message.arguments);
    const sync::Lock lock(scope.mutex_);
    scope.add_stuck_lines(std::move(lines), left_out, tasks_parked);
  }
  static void on_verdict(void*, const Message& message) {
    Scope& scope = scope_of(message);
    const auto [text, tasks_parked] = decode<std::string, bool>(message.arguments);
    const sync::Lock lock(scope.mutex_);
    scope.on_verdict(text, tasks_parked);
  }

  static constexpr auto kInlined = Delivery::inlined;
  template <void (*One)(void*, const Message&)>
  static constexpr messaging::Invoke each = &messaging::invoke_each<One>;
  // They register themselves.
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
  static inline Handler report{"shoal::report", 1, kInlined, each<&on_report>};
  static inline Handler request{"shoal::request", 2, kInlined, each<&on_request>};
  static inline Handler confirmation{"shoal::confirmation", 3, kInlined, each<&on_confirmation>};
  static inline Handler done{"shoal::done", 4, kInlined, each<&on_done>};
  static inline Handler failure_up{"shoal::failure_up", 5, kInlined, each<&on_failure_up>};
  static inline Handler failure_down{"shoal::failure_down", 6, kInlined, each<&on_failure_down>};
  static inline Handler stuck_part{"shoal::stuck_part", 7, kInlined, each<&on_stuck_part>};
  static inline Handler verdict{"shoal::verdict", 8, kInlined, each<&on_verdict>};
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
};

Hold::Hold(Scope& scope) : scope_(&scope) { scope.begin_hold(); }

Hold::~Hold() {
  if (scope_ != nullptr) scope_->end_hold();
}

Scope::Scope(messaging::Messenger& messenger, int size)
    : TaskScope(messenger.scheduler().worker_count()),
      messenger_(messenger),
      tree_{messenger.rank(), size},
      children_(tree_.children()),
      detector_(tree_, *this),
      reserve_(std::make_unique_for_overwrite<std::byte[]>(kReserveBytes)),
      out_of_memory_(fmt::format("rank {}: a task, a handler or the main function failed, and "
                                 "there is no memory left to say more, or to end in order",
                                 messenger.rank().value())) {
  messenger.set_scope(*this);
  messenger.scheduler().set_scope(*this);
  messenger.set_idle_listener(*this);
}

Scope::~Scope() = default;

template <class Step>
void Scope::insist(const Step& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    const sync::Lock lock(mutex_);
    reserve_.reset();
  }
  try {
    step();
  } catch (const std::bad_alloc&) {
    messenger_.end_at_once(out_of_memory_);
  }
}

// --- the main function's side

void Scope::check_main(const char* what) {
  SHOAL_CHECK(!sched::in_handler(), "{} was called in a handler; call it in the main function",
              what);
  SHOAL_CHECK(sched::in_main_function(),
              "{} was called in a task or a thread of its own; call it in the main function", what);
}

void Scope::wait() {
  check_main("wait()");
  park("", false, [] {});
}

void Scope::wait_for_end() {
  std::exception_ptr first;
  bool all_ended = false;
  while (!all_ended) {
    const Outcome outcome = stand("", true, [] {});
    if (outcome == Outcome::failed && first == nullptr) insist([&] { first = tell_of_failure(); });
    std::exception_ptr stuck;
    {
      const sync::Lock lock(mutex_);
      // Others may repair it.
      if (outcome == Outcome::stuck && all_final_) {
        stuck = std::make_exception_ptr(StuckError(stuck_text_));
      }
      all_ended = all_final_ && stuck == nullptr;
    }
    if (stuck == nullptr) continue;
    // Nobody is left to repair it: one more round, in which what is held back is dropped.
    if (first == nullptr) first = stuck;
    fail("the end of the main functions", stuck);
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void Scope::end_before_unwinding(FunctionRef<std::string()> text) {
  fail_with("the main function", text);
  const auto ignore_holds = [this](bool ignore) {
    const sync::Lock lock(mutex_);
    ignores_holds_ = ignore;
  };
  ignore_holds(true);
  insist([this] {
    stand("its unwinding, before which all that may use its stack must end", false, [] {});
  });
  ignore_holds(false);
}

void Scope::park_main(const std::string& what, FunctionRef<void()> start) {
  check_main(what.c_str());
  park(what, false, start);
}

void Scope::park(const std::string& what, bool final, FunctionRef<void()> start) {
  const Outcome outcome = stand(what, final, start);
  if (outcome == Outcome::failed) throw_failure();
  if (outcome == Outcome::stuck) throw_stuck();
}

// Without the lock: what is thrown may stand still on its way (end_before_unwinding()).
void Scope::throw_stuck() {
  std::string text;
  {
    const sync::Lock lock(mutex_);
    text = stuck_text_;
  }
  throw StuckError(text);
}

Scope::Outcome Scope::stand(const std::string& what, bool final, FunctionRef<void()> start) {
  messenger_.open_instances();
  const char* const shown = what.empty() ? "wait()" : what.c_str();
  {
    const sync::Lock lock(mutex_);
    parked_in_ = what;
  }
  sched::block(scheduler().env(), shown, [&](sync::Waiter& waiter) {
    {
      const sync::Lock lock(mutex_);
      waiter_ = &waiter;
      final_ = final;
      parked_since_ns_ = scheduler().env().now_ns();
      outcome_ = Outcome::running;
      ++park_count_;
    }
    start();  // may find that there is nothing to wait for, and unpark
    // Only now may detection take the main function for parked: not while start() is to come.
    const sync::Lock lock(mutex_);
    parked_.store(waiter_ != nullptr, std::memory_order_release);
    return true;
  });
  if (what.empty()) sync::observe_all();
  // What this rank has just told others (that all is done, say) leaves now, even if the main
  // function goes on to block this thread outside shoal.
  messenger_.flush();
  const sync::Lock lock(mutex_);
  return outcome_;
}

// Told in any order: a main function may be woken before it is known to stand still.
void Scope::main_parks() {
  messenger_.open_instances();  // what it waits for may be the work of their handlers
  const sync::Lock lock(mutex_);
  ++main_waits_;
  ++park_count_;
  parked_.store(main_waits_ > 0, std::memory_order_release);
}

// Whoever wakes it has not been counted as finished yet, so no snapshot can miss that it runs.
void Scope::main_goes_on() {
  const sync::Lock lock(mutex_);
  --main_waits_;
  parked_.store(false, std::memory_order_release);
}

// What it was taken out for, even if the world has failed meanwhile: all ranks hear the same.
void Scope::throw_to_main() {
  bool is_stuck = false;
  {
    const sync::Lock lock(mutex_);
    is_stuck = outcome_ == Outcome::stuck;
  }
  if (is_stuck) throw_stuck();
  throw_failure();
}

void Scope::unpark_main() {
  const sync::Lock lock(mutex_);
  finish_park(Outcome::done);
}

// The main function counts as running from here on, before it runs again: a handler that unparks it
// has not been counted as processed yet, so no snapshot can miss it.
void Scope::finish_park(Outcome outcome) {
  if (waiter_ == nullptr) {  // it may stand in a wait of its own
    if (outcome == Outcome::done || main_waits_ == 0) return;
    if (!scheduler().cancel_main()) return check_main_goes_on();
    --main_waits_;
    parked_.store(false, std::memory_order_release);
    outcome_ = outcome;
    return;
  }
  parked_.store(false, std::memory_order_release);
  outcome_ = outcome;
  std::exchange(waiter_, nullptr)->wake();
}

// Woken at this very moment, or never: what keeps it should have come before everything ended. The
// process ends without the lock, by a task that is not counted: others are dropped.
void Scope::check_main_goes_on() {
  const std::string where = scheduler().keeps_main();
  if (where.empty()) return;
  std::string text = fmt::format(
      "rank {}: nothing runs any more, but the main function waits in {}, which it cannot be taken "
      "out of",
      tree_.rank.value(), where);
  if (error_.has_value()) text += fmt::format("; the world has failed: {}", error_->what());
  auto task =
      sched::make_function_task(*this, "end", [this, text] { messenger_.end_at_once(text); });
  task->scope = nullptr;
  scheduler().submit(std::move(task));
}

void Scope::throw_failure() {
  std::exception_ptr failure;
  insist([&] { failure = take_failure(); });
  std::rethrow_exception(failure);
}

// What the main function is to hear of the failure.
std::exception_ptr Scope::take_failure() {
  failure_told_ = true;
  const sync::Lock lock(mutex_);
  if (!stuck_told_late_) return std::make_exception_ptr(TaskError(*error_));
  std::exception_ptr stuck = std::make_exception_ptr(StuckError(stuck_text_));
  stuck_told_late_ = false;
  return stuck;
}

// nullptr: it has heard of it.
std::exception_ptr Scope::tell_of_failure() {
  {
    const sync::Lock lock(mutex_);
    if (failure_told_ && !stuck_told_late_) return nullptr;
  }
  return take_failure();
}

// --- detection

void Scope::begin_hold() {
  count_created(scheduler().count_slot());
  holds_.fetch_add(1, std::memory_order_release);
}

// Under the lock: no snapshot finds the hold gone, and so the world does not end, before this has
// done with the scheduler.
void Scope::end_hold() {
  const sync::Lock lock(mutex_);
  holds_.fetch_sub(1, std::memory_order_relaxed);
  count_finished(scheduler().count_slot());
  scheduler().look_again();
}

void Scope::add(Unsatisfied& source) {
  const sync::Lock lock(mutex_);
  sources_.push_back(&source);
}

void Scope::remove(Unsatisfied& source) {
  const sync::Lock lock(mutex_);
  std::erase(sources_, &source);
}

bool Scope::on_idle() {
  // A hint is enough: whoever parks the main function goes idle after it.
  if (!parked_.load(std::memory_order_acquire)) return false;
  const sync::Lock lock(mutex_);
  return detector_.on_idle();
}

std::optional<Snapshot> Scope::snapshot() {
  // relaxed: written under mutex_, which is held
  if (!parked_.load(std::memory_order_relaxed)) return std::nullopt;
  // Read before the totals: what one that begins meanwhile adds to these cannot stand for a task.
  const int ignored = ignores_holds_ ? holds_.load(std::memory_order_acquire) : 0;
  const Totals now = totals();
  if (now.created != now.finished + static_cast<std::uint64_t>(ignored)) return std::nullopt;
  // Read after the counts: a message that is processed in between is missing, never there twice.
  const std::optional<std::uint64_t> at_rest = messenger_.held_at_rest();
  if (!at_rest) return std::nullopt;
  const std::uint64_t held = *at_rest;
  Snapshot result;
  result.counts.queued = now.queued;
  result.counts.processed = now.processed + held;
  result.counts.all_final = waiter_ != nullptr && final_;
  result.tasks = now.created;
  result.parks = park_count_;
  // What waits changes by tasks, messages and the main function only, so a look at each source is
  // due only after those.
  result.counts.unsatisfied = last_snapshot_.counts.unsatisfied;
  if (result != last_snapshot_) {
    const bool in_wait = waiter_ != nullptr && parked_in_.empty();
    result.counts.unsatisfied = held + (in_wait ? 0 : 1) + scheduler().waiting_count();
    for (const Unsatisfied* source : sources_) {
      result.counts.unsatisfied += source->unsatisfied_count();
    }
    last_snapshot_ = result;
  }
  return result;
}

void Scope::send_report(Rank parent, const Report& report) {
  send(messenger_, ScopeMessages::report, parent, report);
}

void Scope::send_request(Rank child, const Request& request) {
  send(messenger_, ScopeMessages::request, child, request);
}

void Scope::send_confirmation(Rank parent, const Confirmation& confirmation) {
  tell_sources_of_rest();
  send(messenger_, ScopeMessages::confirmation, parent, confirmation);
}

void Scope::completed(const Counts& total) {
  if (completion_check_) completion_check_();
  tell_sources_of_rest();
  on_done(total.unsatisfied, total.all_final);
}

// Behind this, but for a wave that fails, only what the next round brings: also what comes before
// this rank has heard that the round is over.
void Scope::tell_sources_of_rest() {
  for (Unsatisfied* source : sources_) source->at_rest();
}

void Scope::on_done(std::uint64_t unsatisfied, bool all_final) {
  for (const Rank child : children_) {
    send(messenger_, ScopeMessages::done, child, unsatisfied, all_final);
  }
  all_final_ = all_final;
  detector_.begin_epoch();
  if (error_.has_value()) {
    finish_park(Outcome::failed);
  } else if (unsatisfied == 0) {
    finish_park(Outcome::done);
  } else {
    stuck_lines_.clear();
    stuck_left_out_ = 0;
    stuck_parts_missing_ = children_.size() + 1;
    stuck_parked_here_ = scheduler().waiting_count() > 0;
    stuck_parked_ = false;
    add_stuck_lines(describe_stuck(), 0, stuck_parked_here_);
  }
}

// --- who is stuck: gathered up the tree, told down the tree

std::vector<Scope::StuckLine> Scope::describe_stuck() const {
  std::vector<StuckLine> lines;
  if (waiter_ != nullptr && !parked_in_.empty()) {
    lines.emplace_back(
        tree_.rank.value(),
        fmt::format("the main function waits in {}, which not every rank called", parked_in_));
  }
  for (std::string& line : describe_waiting()) {
    lines.emplace_back(tree_.rank.value(), std::move(line));
  }
  return lines;
}

std::vector<std::string> Scope::describe_waiting() const {
  std::vector<std::string> lines = messenger_.describe_held();
  for (std::string& line : scheduler().describe_waiting()) lines.push_back(std::move(line));
  for (const Unsatisfied* source : sources_) {
    try {  // names are made by code of the program
      for (std::string& line : source->describe_unsatisfied()) lines.push_back(std::move(line));
    } catch (...) {
      lines.push_back(fmt::format("something waits, but to name it failed: {}",
                                  describe(std::current_exception())));
    }
  }
  return lines;
}

ScopeState Scope::state() const {
  ScopeState state;
  state.held = messenger_.held_count();
  state.holds = holds_.load(std::memory_order_relaxed);
  const sync::Lock lock(mutex_);
  state.totals = totals();
  if (waiter_ != nullptr) {
    state.main_in = parked_in_.empty() ? "wait()" : parked_in_;
    state.main_since_ns = parked_since_ns_;
    state.main_final = final_;
  }
  if (error_.has_value()) state.failure = error_->what();
  state.detection = detector_.state();
  state.waiting = describe_waiting();
  return state;
}

void Scope::add_stuck_lines(std::vector<StuckLine> lines, std::uint64_t left_out,
                            bool tasks_parked) {
  stuck_left_out_ += left_out;
  stuck_parked_ = stuck_parked_ || tasks_parked;
  std::move(lines.begin(), lines.end(), std::back_inserter(stuck_lines_));
  if (--stuck_parts_missing_ > 0) return;
  std::ranges::stable_sort(stuck_lines_, {}, &StuckLine::first);
  if (stuck_lines_.size() > kStuckLinesMax) {
    stuck_left_out_ += stuck_lines_.size() - kStuckLinesMax;
    stuck_lines_.resize(kStuckLinesMax);
  }
  if (!tree_.is_root()) {
    send(messenger_, ScopeMessages::stuck_part, tree_.parent(), stuck_lines_, stuck_left_out_,
         stuck_parked_);
    return;
  }
  std::string text = "nothing runs any more, but tasks still wait:";
  for (const auto& [rank, line] : stuck_lines_) text += fmt::format("\n  rank {}: {}", rank, line);
  if (stuck_left_out_ > 0) text += fmt::format("\n  and {} more lines", stuck_left_out_);
  if (!checks_graphs_ && text.find(" dependencies") != std::string::npos) {
    text +=
        "\n(A task that has fulfilled some of its dependencies lacks one, or it was fulfilled too "
        "often before: --check-graphs names who did that.)";
  }
  on_verdict(text, stuck_parked_);
}

void Scope::on_verdict(const std::string& text, bool tasks_parked) {
  for (const Rank child : children_) {
    send(messenger_, ScopeMessages::verdict, child, text, tasks_parked);
  }
  stuck_text_ = text;
  if (!tasks_parked) {
    finish_park(Outcome::stuck);
    return;
  }
  // Tasks that stand parked may use what is on their main function's stack. They end first, with
  // their scope; then all main functions hear of this, the same on every rank.
  stuck_told_late_ = true;
  if (!stuck_parked_here_) return;
  scheduler().submit(sched::make_function_task(*this, "end", [this, text] {
    fail("the tasks that wait", std::make_exception_ptr(StuckError(text)));
  }));
}

// --- failure: told up the tree to the root, which tells everybody. Both travel on the paths of
// reports and of `done`, ahead of them: when the root finds the scope complete it knows the
// failure, and when a rank hears `done` it knows it too.

void Scope::fail(const std::string& task_name, const std::exception_ptr& error) {
  fail_with(task_name, [&error] { return describe(error); });
}

void Scope::fail_with(std::string_view task_name, FunctionRef<std::string()> text) {
  bool is_first = false;
  insist([&] {
    is_first = is_first || record(TaskError(tree_.rank, std::string(task_name), text()));
  });
  if (is_first) insist([this] { spread(); });
}

std::optional<TaskError> Scope::failure() const {
  const sync::Lock lock(mutex_);
  return error_;
}

bool Scope::record(TaskError error) {
  const sync::Lock lock(mutex_);
  if (error_.has_value()) return false;  // an earlier one was passed on already
  error_.emplace(std::move(error));
  mark_failed();
  return true;
}

void Scope::spread() {
  {
    const sync::Lock lock(mutex_);
    reserve_.reset();
  }
  messenger_.drop_held();
  scheduler().cancel_waiting();
  const sync::Lock lock(mutex_);
  const auto tell = [&messenger = messenger_, &error = *error_](
                        const messaging::StaticHandler& handler, Rank rank) {
    send(messenger, handler, rank, error.rank().value(), error.task_name(), error.text());
  };
  if (tree_.is_root()) failure_from_root_ = true;
  if (failure_from_root_) {
    for (const Rank child : children_) tell(ScopeMessages::failure_down, child);
  } else {
    tell(ScopeMessages::failure_up, tree_.parent());
  }
}

void Scope::on_failure_up(Rank origin, const std::string& task_name, const std::string& text) {
  bool is_first = false;
  insist([&] { is_first = is_first || record(TaskError(origin, task_name, text)); });
  if (is_first) insist([this] { spread(); });
}

// What the root has chosen takes the place of what was known here.
void Scope::on_failure_down(Rank origin, const std::string& task_name, const std::string& text) {
  bool is_first = false;
  insist([&] {
    TaskError error(origin, task_name, text);
    const sync::Lock lock(mutex_);
    is_first = !std::exchange(failure_from_root_, true);
    if (!is_first) return;
    error_.emplace(std::move(error));
    mark_failed();
  });
  if (is_first) insist([this] { spread(); });
}

}  // namespace shoal::term

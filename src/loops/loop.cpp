#include <shoal/detail/loops/loop.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/long_task.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/error.hpp>
#include <shoal/loops.hpp>
#include <shoal/task_group.hpp>

#include "env/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>
#include <utility>

namespace shoal::loops {

void add_reference(Part* part) {
  // relaxed: the caller has a reference
  part->references_.fetch_add(1, std::memory_order_relaxed);
}

void remove_reference(Part* part) {
  // acq_rel: the last one sees what the others did
  if (part->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete part;
}

// --- pace

Pace::Pace(const sched::Scheduler& scheduler, bool single)
    : single_(single), timed_(!single && !scheduler.env().is_simulated()) {}

std::uint64_t Pace::now() {
  return env::read_ticks(env::TickSource::tsc);  // a hint needs no better clock
}

bool Pace::end(std::int64_t count) {
  // Ticks of a processor's counter: half a microsecond to a microsecond, and four to eight.
  constexpr std::int64_t kShort = 2'000;
  constexpr std::int64_t kLong = 16'000;
  if (single_) return true;
  if (!timed_) {
    many_ = std::max(many_, 2 * count);
    return true;
  }
  const auto ticks = std::max<std::int64_t>(static_cast<std::int64_t>(now() - begin_), 1);
  few_ = std::max<std::int64_t>(count * kShort / ticks, 1);
  many_ = std::clamp<std::int64_t>(count * kLong / ticks, 1, count * kGrowth);
  return ticks >= kShort;
}

// --- tickets

/// Offer of a part's work: a task that takes some, if any is left when it runs.
class Loop::Ticket final : public sched::Task {
 public:
  Ticket(Part& part, bool all) : all_(all) {
    add_reference(&part);
    part_ = sync::Ref<Part>(&part);
    trace_id = trace::kHiddenTask;  // in traces only with work
  }
  void run() override {
    const sync::Ref<Part> mine = part_->take(all_);
    if (mine != nullptr) mine->loop.take_part(*this, *part_, *mine, !all_);
  }
  [[nodiscard]] std::string name() const override { return part_->name; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return part_->name; }
  [[nodiscard]] const Part& part() const { return *part_; }

 private:
  sync::Ref<Part> part_;
  const bool all_;
};

void Loop::offer(Part& part, bool all, int home) noexcept {
  try {
    auto ticket = std::make_unique<Ticket>(part, all);
    ticket->scope = &scope_;
    ticket->group = group_;
    ticket->priority = priority_;
    ticket->worker = static_cast<std::int16_t>(home);
    scheduler().submit(std::move(ticket));
  } catch (const std::bad_alloc&) {  // the owner does all of it
    return;
  }
}

// A worker that takes work offers what remains of the part again: its owner may be parked.
void Loop::take_part(Ticket& ticket, Part& from, Part& mine, bool offers) noexcept {
  if (trace::on<trace::Category::task>()) [[unlikely]]
    sched::show_in_trace(ticket, cause_, mine.text());
  if (offers && from.keeps_offer()) offer(from);
  end(work(mine));
}

// --- loop

namespace {

sched::Scheduler& checked(const char* call) {
  sched::Scheduler& scheduler = sched::current_scheduler(call, sched::kUseInTask);
  sched::check_may_wait(call);
  return scheduler;
}

bool is_stopped(const sched::TaskScope& scope, const TaskGroup* group) {
  return scope.failed() || (group != nullptr && group->is_cancelled());
}

[[noreturn]] void throw_cancelled(const std::string& name, const sched::TaskScope& scope) {
  throw CancelledError(name + (scope.failed() ? ": the world has failed"
                                              : ": the task group of its caller was cancelled"));
}

}  // namespace

void check_caller(const char* call) { static_cast<void>(checked(call)); }

void refuse_range(const char* call, const LoopOptions& options, const std::string& range,
                  const char* reason) {
  throw CheckError(fmt::format("{}{}: its range, {}, {}", call,
                               options.name.empty() ? "" : fmt::format(" '{}'", options.name),
                               range, reason));
}

Loop::Loop(const char* call, const LoopOptions& options, std::int64_t count)
    : WaitingRoom(checked(call)),
      call_(call),
      name_(options.name),
      count_(count),
      priority_(options.priority.value_or(sched::current_task()->priority)),
      affinity_(options.affinity),
      scope_(sched::current_scope(scheduler())),
      group_(sched::current_task()->group),
      cause_(sched::current_task()->trace_id),
      left_(count) {}

void Loop::run(Part* first, std::span<const Placed> others) {
  for (const Placed& other : others) offer(*other.part, true, other.worker);
  std::int64_t done = first != nullptr ? work(*first) : 0;
  for (const Placed& other : others) {
    sync::Ref<Part> mine = other.part->take(false);
    for (; mine != nullptr; mine = other.part->take(false)) done += work(*mine);
  }
  // At zero all others have ended: they do not touch the loop any more. acq_rel: with the releases
  // of end()
  if (left_.fetch_sub(done, std::memory_order_acq_rel) != done) wait();
  finish();
}

std::int64_t Loop::work(Part& part) noexcept {
  if (part.begins_offer()) offer(part);
  const std::int64_t done = part.run();
  sched::drop_newest([&part](const sched::Task& task) {
    return typeid(task) == typeid(Ticket) && &static_cast<const Ticket&>(task).part() == &part;
  });
  return done;
}

// The last access to the loop. Only the last work of others than the caller's ends it under the
// lock, so that the caller, which takes the lock when it has read zero, is alone then.
void Loop::end(std::int64_t count) {
  std::int64_t left = left_.load(std::memory_order_relaxed);
  while (left > count) {
    // release: the writes of the work come before the end of the loop
    if (left_.compare_exchange_weak(left, left - count, std::memory_order_release)) return;
  }
  sync::TakenWaiters woken;
  {
    const sync::Lock lock(mutex_);
    if (left_.fetch_sub(count, std::memory_order_acq_rel) == count) woken = waiters_.take_all();
  }
  woken.wake_all();
}

// Iterations refer to the caller's stack, so an error of the wait, such as that of a main function
// of which an iteration never ends, fails the world: that ends the iterations.
void Loop::wait() {
  const auto is_zero = [this] { return left_.load(std::memory_order_acquire) == 0; };
  if (sched::poll_until(scheduler(), is_zero)) {
    const sync::Lock lock(mutex_);  // the last worker has left
    return;
  }
  for (;;) {
    try {
      return wait_here();
    } catch (...) {
      const std::exception_ptr error = sched::caught_exception();
      if (interrupted_ == nullptr) interrupted_ = error;
      if (is_over()) return;
      if (!scope_.failed()) scheduler().leave_error(scope_, name(), error);
    }
  }
}

bool Loop::is_over() const {
  if (left_.load(std::memory_order_acquire) != 0) return false;
  const sync::Lock lock(mutex_);
  return true;
}

bool Loop::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(mutex_);
  if (left_.load(std::memory_order_acquire) == 0) return false;
  waiters_.push(waiter);
  return true;
}

bool Loop::needs(const sched::Task& task) const {
  return typeid(task) == typeid(Ticket) && &static_cast<const Ticket&>(task).part().loop == this;
}

std::string Loop::describe() const {
  return fmt::format("{} iterations that have not ended", left_.load(std::memory_order_relaxed));
}

std::string Loop::trace_text() const { return "the end of " + name(); }

bool Loop::skips() {
  // relaxed: to skip a piece later does no harm; the error is read at the end of the loop
  if (stopped_.load(std::memory_order_relaxed)) return true;
  if (!is_stopped(scope_, group_)) return false;
  stopped_.store(true, std::memory_order_relaxed);
  return true;
}

void Loop::fail(std::exception_ptr error) {
  {
    const sync::Lock lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  stopped_.store(true, std::memory_order_relaxed);
}

void Loop::note(std::int64_t begin, std::int64_t end) {
  if (affinity_ == nullptr || begin == end) return;
  const sync::Lock lock(mutex_);
  done_.push_back({begin, end, scheduler().count_slot()});
}

void Loop::finish() {
  std::exception_ptr error;
  {
    const sync::Lock lock(mutex_);
    error = std::exchange(error_, nullptr);
    if (affinity_ != nullptr && error == nullptr && !skipped_.load(std::memory_order_relaxed)) {
      affinity_->remember(count_, std::move(done_));
    }
  }
  if (interrupted_ != nullptr) std::rethrow_exception(interrupted_);
  if (scope_.failed()) {
    sched::tell_main_of_failure(scheduler());
    if (error == nullptr) throw_cancelled(name(), scope_);
  }
  if (error != nullptr) std::rethrow_exception(error);
  if (skipped_.load(std::memory_order_relaxed)) throw_cancelled(name(), scope_);
}

std::vector<Run> Loop::remembered() const {
  return affinity_ == nullptr ? std::vector<Run>() : affinity_->runs_of(count_);
}

// --- stops

Stop::Stop(const char* call, const LoopOptions& options)
    : scheduler_(checked(call)),
      scope_(sched::current_scope(scheduler_)),
      group_(sched::current_task()->group),
      call_(call),
      name_(options.name) {}

void Stop::check() const {
  // acquire pairs with the release in keep(): the error is there
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(error_);
  if (!is_stopped(scope_, group_)) return;
  if (scope_.failed()) sched::tell_main_of_failure(scheduler_);
  throw_cancelled(name_of(call_, name_), scope_);
}

void Stop::keep(const std::exception_ptr& error) {
  const sync::Lock lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  error_ = error;
  failed_.store(true, std::memory_order_release);
}

Watch::Watch(const Stop& stop, std::int64_t blocks)
    : stop_(stop),
      pace_(stop.scheduler(), false),
      size_(blocks == 1 ? 1 : INT64_MAX),
      left_(size_) {
  if (blocks == 1) pace_.begin();
}

void Watch::end_piece() {
  static_cast<void>(pace_.end(size_));
  stop_.check();
  size_ = pace_.next(INT64_MAX);
  left_ = size_;
  pace_.begin();
}

// --- ranges

namespace {

/// Iterations of a loop: its owner takes pieces from the front, others take from the back.
class RangePart final : public Part {
 public:
  /// Number of iterations at most.
  static constexpr std::int64_t kMost = 0x7fffffff;

  RangePart(Loop& of, std::string named, const Block& block, bool single)
      : Part(of, std::move(named)), block_(block), single_(single) {}
  /// Sets the iterations, before another worker may see them. `begun`: the first one is kept for
  /// the owner, which runs the part.
  void set(std::int64_t begin, std::int64_t end, bool begun) {
    begin_ = begin;
    range_.store(packed(begun ? begin + 1 : begin, end), std::memory_order_relaxed);
  }

  sync::Ref<Part> take(bool all) override {
    // relaxed: it hands out numbers. The data of the loop are visible to whoever has a ticket.
    std::uint64_t range = range_.load(std::memory_order_relaxed);
    if (begin_of(range) == end_of(range)) return {};
    sync::Ref<RangePart> mine(new RangePart(loop, name, block_, single_));
    std::int64_t middle = 0;
    do {
      const std::int64_t left = end_of(range) - begin_of(range);
      if (left == 0) return {};
      middle = all ? begin_of(range) : begin_of(range) + left / 2;
    } while (!range_.compare_exchange_weak(range, packed(begin_of(range), middle),
                                           std::memory_order_relaxed));
    mine->set(middle, end_of(range), true);
    return mine;
  }

  [[nodiscard]] bool begins_offer() override { return left() > 0; }
  [[nodiscard]] bool keeps_offer() override { return left() > 0; }

  // The first piece is that which is kept: what others have taken and done meanwhile does not end
  // the loop.
  std::int64_t run() override {
    Pace pace(loop.scheduler(), single_);
    std::int64_t next = begin_;
    std::int64_t end = begin_ + 1;
    for (;;) {
      if (loop.skips()) {
        loop.note_skipped();
        const std::uint64_t rest = range_.exchange(packed(end, end), std::memory_order_relaxed);
        return finished(end_of(rest));
      }
      pace.begin();
      loop.attempt([&] { block_(next, end); });
      if (left() == 0) return finished(end);
      if (pace.end(end - next)) sched::between_pieces();
      std::uint64_t range = range_.load(std::memory_order_relaxed);
      next = end;
      do {
        if (end_of(range) == next) return finished(next);
        end = next + pace.next(end_of(range) - next);
      } while (!range_.compare_exchange_weak(range, packed(end, end_of(range)),
                                             std::memory_order_relaxed));
    }
  }

  [[nodiscard]] std::string text() const override {
    const std::uint64_t range = range_.load(std::memory_order_relaxed);
    return fmt::format("{} to {}", begin_, end_of(range) - 1);
  }

 private:
  static std::uint64_t packed(std::int64_t begin, std::int64_t end) {
    return (static_cast<std::uint64_t>(begin) << 32U) | static_cast<std::uint64_t>(end);
  }
  static std::int64_t begin_of(std::uint64_t range) {
    return static_cast<std::int64_t>(range >> 32U);
  }
  static std::int64_t end_of(std::uint64_t range) {
    return static_cast<std::int64_t>(range & 0xffffffffU);
  }
  [[nodiscard]] std::int64_t left() const {
    const std::uint64_t range = range_.load(std::memory_order_relaxed);
    return end_of(range) - begin_of(range);
  }
  std::int64_t finished(std::int64_t end) {
    loop.note(begin_, end);
    return end - begin_;
  }

  const Block block_;  // of the stack of the loop's caller
  const bool single_;
  std::int64_t begin_ = 0;  // first iteration of the owner
  // Iterations that nobody has begun: the first one, and the end. Changed by the owner and takers.
  std::atomic<std::uint64_t> range_{0};
};

void run_short_range(const char* call, const LoopOptions& options, std::int64_t count,
                     const Block& block, bool single) {
  Loop loop(call, options, count);
  const auto part_of = [&](std::int64_t begin, std::int64_t end, bool begun) {
    sync::Ref<RangePart> part(new RangePart(loop, loop.name(), block, single));
    part->set(begin, end, begun);
    return part;
  };
  const std::vector<Run> runs = loop.remembered();
  if (runs.empty()) return loop.run(part_of(0, count, true).get());
  sync::Ref<Part> first;
  std::vector<Loop::Placed> others;
  for (const Run& run : runs) {
    const bool is_first = first == nullptr && run.worker == loop.scheduler().count_slot();
    sync::Ref<Part> part = part_of(run.begin, run.end, is_first);
    if (is_first) {
      first = std::move(part);
    } else {
      others.push_back({std::move(part), run.worker % loop.scheduler().worker_count()});
    }
  }
  loop.run(first.get(), others);
}

}  // namespace

void run_range(const char* call, const LoopOptions& options, std::int64_t count, Block block,
               bool single) {
  const sched::LongCall here(call, options.name);
  share_range(call, options, count, block, single);
}

void share_range(const char* call, const LoopOptions& options, std::int64_t count, Block block,
                 bool single) {
  if (count <= 1) {
    sched::Scheduler& scheduler = checked(call);
    if (count <= 0) return;
    if (!is_stopped(sched::current_scope(scheduler), sched::current_task()->group)) {
      return block(0, 1);
    }
  }
  for (std::int64_t base = 0; base < count; base += RangePart::kMost) {
    const auto shifted = [base, &block](std::int64_t begin, std::int64_t end) {
      block(base + begin, base + end);
    };
    const std::int64_t here = std::min(count - base, RangePart::kMost);
    run_short_range(call, options, here, base == 0 ? block : Block(shifted), single);
  }
}

}  // namespace shoal::loops

namespace shoal {

namespace loops {

Grid make_grid(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlocks = 4096;  // as many as that allows, up to these
  Grid grid;
  const auto divide = [&] {
    grid.down = (rows + grid.edge - 1) / grid.edge;
    grid.across = (columns + grid.edge - 1) / grid.edge;
    // without overflow
    return grid.down != 0 && grid.across > kBlocks / grid.down;
  };
  while (divide() && grid.edge < Grid::kMost) grid.edge *= 2;
  return grid;
}

// So many columns that a division costs nothing beside them, and that a piece is short.
RowParts::RowParts(const char* call, const LoopOptions& options, const Range2D& range,
                   std::int64_t rows, std::int64_t columns)
    : range_(range), rows_(rows) {
  constexpr std::int64_t kLongest = 1024;
  if (rows == 0 || columns == 0) return;
  const std::int64_t wanted =
      Blocks::kMost / rows + (Blocks::kMost % rows != 0 ? 1 : 0);  // in a row
  length_ = std::clamp(columns / wanted, std::int64_t{1}, kLongest);
  per_row_ = columns / length_ + (columns % length_ != 0 ? 1 : 0);
  if (rows > INT64_MAX / per_row_) {
    refuse_range(call, options, fmt::format("{} rows of {} columns", rows, columns),
                 "has more than 2^63 - 1 parts");
  }
}

}  // namespace loops

// --- affinity

std::optional<WorkerId> Affinity::worker_of(std::int64_t iteration) const {
  const sync::Lock lock(mutex_);
  for (const loops::Run& run : runs_) {
    if (run.begin <= iteration && iteration < run.end) return WorkerId(run.worker);
  }
  return std::nullopt;
}

std::vector<loops::Run> Affinity::runs_of(std::int64_t count) const {
  const sync::Lock lock(mutex_);
  return count == count_ ? runs_ : std::vector<loops::Run>();
}

// Many short runs would cost more than they save: then the next loop begins anew.
void Affinity::remember(std::int64_t count, std::vector<loops::Run> runs) {
  constexpr std::size_t kMost = 256;
  std::sort(runs.begin(), runs.end(),
            [](const loops::Run& a, const loops::Run& b) { return a.begin < b.begin; });
  std::vector<loops::Run> joined;
  for (const loops::Run& run : runs) {
    if (!joined.empty() && joined.back().worker == run.worker) {
      joined.back().end = run.end;
    } else {
      joined.push_back(run);
    }
  }
  if (joined.size() > kMost) joined.clear();
  const sync::Lock lock(mutex_);
  count_ = count;
  runs_ = std::move(joined);
}

}  // namespace shoal

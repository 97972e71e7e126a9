#pragma once
// Work that the workers of a rank share: a loop of which an idle worker takes half of what is left.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/long_task.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/ref.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace loops {

class Loop;

/// Iterations begin to end - 1, done by a worker.
struct Run {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int worker = 0;
};

}  // namespace loops

/// Memory of loops that repeat: which worker ran which iterations. Loops over as many iterations
/// that have it in their options begin with these, so that data stay in the caches of a worker;
/// a worker without work still takes some of another one's. It is for one loop at a time.
class Affinity {
 public:
  Affinity() = default;
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;

  /// Returns the worker that ran an iteration in the last loop; nullopt: it is not remembered.
  /// **Caller**: any thread. **Blocks**: never.
  [[nodiscard]] std::optional<WorkerId> worker_of(std::int64_t iteration) const;

 private:
  friend class loops::Loop;
  [[nodiscard]] std::vector<loops::Run> runs_of(std::int64_t count) const;
  void remember(std::int64_t count, std::vector<loops::Run> runs);

  mutable sync::Mutex mutex_;
  std::int64_t count_ SHOAL_GUARDED_BY(mutex_) = 0;        // iterations of that loop
  std::vector<loops::Run> runs_ SHOAL_GUARDED_BY(mutex_);  // in their order
};

/// Options of a loop.
struct LoopOptions {
  /// Name in reports and traces. Empty: that of the function.
  std::string_view name = {};
  /// Priority of the tasks in which other workers take part; nullopt: that of the calling task.
  std::optional<int> priority = {};
  /// Remembers which worker ran which iterations, for the next loop with it.
  Affinity* affinity = nullptr;
};

}  // namespace shoal

namespace shoal::loops {

class Loop;
class Part;

void add_reference(Part* part);
void remove_reference(Part* part);

/// Work that one worker, its owner, does piece by piece, and of which others take some. It is
/// shared by its owner and by the ticket that offers it; it may outlive its loop, but then it is
/// empty. **Invariant**: an owner that has taken work has some that nobody takes, until it has told
/// the loop what it did: so it may use the loop, which ends when all work is done.
class Part : public sync::Pooled {
 public:
  Part(Loop& loop, std::string name) : loop(loop), name(std::move(name)) {}
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  /// Takes work: half of what is left, or all. nullptr: nothing is left. **Caller**: any worker.
  [[nodiscard]] virtual sync::Ref<Part> take(bool all) = 0;
  /// Returns whether the part is to be offered, as its owner begins. **Caller**: the owner.
  [[nodiscard]] virtual bool begins_offer() = 0;
  /// Returns whether it is to be offered again. **Caller**: a worker that has taken work.
  [[nodiscard]] virtual bool keeps_offer() = 0;
  /// Does the work until nothing is left; returns how much it did. **Caller**: the owner.
  [[nodiscard]] virtual std::int64_t run() = 0;
  /// Work of the part, for traces: "0 to 99".
  [[nodiscard]] virtual std::string text() const = 0;

  Loop& loop;  // while work is left, or was taken and is not done
  const std::string name;

 private:
  friend void add_reference(Part* part);
  friend void remove_reference(Part* part);
  std::atomic<std::int32_t> references_{1};
};

/// Number of iterations that a worker runs at once, so that others may take the rest early, and
/// sharing costs little. It follows the time that they take: a few microseconds, fewer near the
/// end of the part. No worker shares what takes less than a microsecond.
class Pace {
 public:
  /// `single`: one at a time.
  explicit Pace(const sched::Scheduler& scheduler, bool single);
  /// Number for the next piece, of `left` iterations.
  [[nodiscard]] std::int64_t next(std::int64_t left) const {
    const std::int64_t share = left / kShares > few_ ? left / kShares : few_;
    const std::int64_t count = share < many_ ? share : many_;
    return count < left ? count : left;
  }
  void begin() {
    if (timed_) begin_ = now();
  }
  /// `count` iterations have run since begin(). Returns whether that took long enough to look for
  /// messages, or the world is simulated.
  [[nodiscard]] bool end(std::int64_t count);

 private:
  static constexpr std::int64_t kShares = 8;  // pieces of what is left, at least
  static constexpr std::int64_t kGrowth = 8;  // of pieces, at most
  [[nodiscard]] static std::uint64_t now();

  const bool single_;
  const bool timed_;  // not in simulated worlds: their results do not depend on clocks
  std::uint64_t begin_ = 0;
  std::int64_t few_ = 1;
  std::int64_t many_ = 1;
};

/// Name of a call in texts: that of its options, if they have one.
inline std::string name_of(const char* call, std::string_view name) {
  return name.empty() ? call : std::string(name);
}

/// A loop under way, on the stack of its caller. Counts its work: zero is its end.
class Loop final : public sched::WaitingRoom {
 public:
  /// `call`: the name of the function that the program has called. `count`: of iterations.
  /// **Errors**: CheckError in a handler, and on a thread that is no worker.
  Loop(const char* call, const LoopOptions& options, std::int64_t count);
  ~Loop() = default;

  /// Part for a worker.
  struct Placed {
    sync::Ref<Part> part;
    int worker = 0;
  };
  /// Does the work of `first`, if that is there, and of the other parts unless their workers do,
  /// and waits for what others have taken. **Errors**: the first exception of the work;
  /// CancelledError when the world has failed or the caller's TaskGroup was cancelled, and work was
  /// skipped.
  void run(Part* first, std::span<const Placed> others = {});

  // --- Parts, while they have work.

  /// Iterations that its Affinity remembers, if there are as many.
  [[nodiscard]] std::vector<Run> remembered() const;

  /// Name for its parts.
  [[nodiscard]] std::string name() const { return name_of(call_, name_); }
  /// Adds work. **Caller**: work that is not done.
  void add(std::int64_t count) { left_.fetch_add(count, std::memory_order_relaxed); }
  /// Returns whether work that has not begun is to be skipped.
  [[nodiscard]] bool skips();
  /// Notes that work was skipped.
  void note_skipped() { skipped_.store(true, std::memory_order_relaxed); }
  /// Runs work(); keeps its exception, and then skips the rest.
  template <class Work>
  void attempt(Work&& work) noexcept {
    try {
      work();
    } catch (...) {
      fail(sched::caught_exception());
    }
  }
  /// Offers work of the part to other workers, if there is memory for that.
  void offer(Part& part, bool all = false, int home = sched::Task::kAnyWorker) noexcept;
  /// Notes that the calling worker did these iterations, for an Affinity.
  void note(std::int64_t begin, std::int64_t end);

  [[nodiscard]] bool enlist(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string trace_text() const override;
  [[nodiscard]] sched::Cancellable cancellable() const override { return sched::Cancellable::no; }
  [[nodiscard]] bool is_over() const override;
  [[nodiscard]] bool needs(const sched::Task& task) const override;

 private:
  class Ticket;
  void take_part(Ticket& ticket, Part& from, Part& mine, bool offers) noexcept;
  [[nodiscard]] std::int64_t work(Part& part) noexcept;
  void end(std::int64_t count);
  void wait();
  void fail(std::exception_ptr error);
  void finish();

  const char* const call_;
  const std::string_view name_;
  const std::int64_t count_;
  const int priority_;
  Affinity* const affinity_;
  sched::TaskScope& scope_;
  TaskGroup* const group_;
  const std::uint64_t cause_;  // of its tasks, in traces
  // Work that is not done. Reaches zero under the lock, if a worker waits: see end().
  std::atomic<std::int64_t> left_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> skipped_{false};
  std::exception_ptr interrupted_;  // of the caller's wait
  std::exception_ptr error_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Run> done_ SHOAL_GUARDED_BY(mutex_);
};

/// Whether a call is to stop, asked where its pieces are long or its loops nest: a Loop looks only
/// before pieces of its own.
class Stop {
 public:
  /// **Errors**: as those of Loop.
  Stop(const char* call, const LoopOptions& options);
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  /// Runs work(), whose exception stops the call.
  template <class Work>
  void guard(Work&& work) {
    try {
      work();
    } catch (...) {
      keep(sched::caught_exception());
      throw;
    }
  }
  /// **Errors**: the first exception of guarded work; CancelledError when the world has failed, in
  /// the main function TaskError, or when the caller's TaskGroup was cancelled.
  void check() const;
  [[nodiscard]] const sched::Scheduler& scheduler() const { return scheduler_; }

 private:
  void keep(const std::exception_ptr& error);

  sched::Scheduler& scheduler_;
  const sched::TaskScope& scope_;
  const TaskGroup* const group_;
  const char* const call_;
  const std::string_view name_;
  sync::Mutex mutex_;
  std::exception_ptr error_;  // set before failed_, and not changed after that
  std::atomic<bool> failed_{false};
};

/// Divides long work into pieces that follow the time of their iterations, and checks the Stop of
/// the call after each.
class Watch {
 public:
  /// `blocks`: how many the caller runs in turn. Several are short together, since its loop follows
  /// their time, and are not divided.
  Watch(const Stop& stop, std::int64_t blocks);
  /// Calls run(begin, end) for pieces that together are `begin` to `end` - 1. **Errors**: as those
  /// of Stop::check().
  template <class Run>
  void divide(std::int64_t begin, std::int64_t end, Run&& run) {
    while (begin != end) {
      const std::int64_t stop = end - begin < left_ ? end : begin + left_;
      run(begin, stop);
      left_ -= stop - begin;
      begin = stop;
      if (left_ == 0 && begin != end) end_piece();
    }
  }

 private:
  void end_piece();

  const Stop& stop_;
  Pace pace_;
  std::int64_t size_;  // of the piece
  std::int64_t left_;  // of its iterations
};

// A small function is copied for each piece: then its captures are in registers, and the loop is
// vectorized as one that is written in place.
template <class F, class Run>
void with_local(const F& f, Run&& run) {
  if constexpr (std::is_trivially_copyable_v<F> && sizeof(F) <= 128) {
    const F local = f;
    run(local);
  } else {
    run(f);
  }
}

/// Iterations begin to end - 1 of a loop.
using Block = FunctionRef<void(std::int64_t begin, std::int64_t end)>;

/// Calls `block` for pieces that together are 0 to count - 1. `single`: pieces of one iteration.
/// **Errors**: see Loop.
void run_range(const char* call, const LoopOptions& options, std::int64_t count, Block block,
               bool single = false);
/// Calls `block` as run_range() does, within a call that does more and has its own sched::LongCall.
void share_range(const char* call, const LoopOptions& options, std::int64_t count, Block block,
                 bool single = false);
/// Refuses a range, "-1 to 5", with the reason. **Errors**: CheckError.
[[noreturn]] void refuse_range(const char* call, const LoopOptions& options,
                               const std::string& range, const char* reason);
/// Throws CheckError where no loop may run: for one without iterations.
void check_caller(const char* call);

}  // namespace shoal::loops

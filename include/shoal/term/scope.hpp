#pragma once
// The scope of a world on one rank: completion, failure, and who is stuck.

#include <shoal/am/messenger.hpp>
#include <shoal/base/error.hpp>
#include <shoal/base/function.hpp>
#include <shoal/sync/mutex.hpp>
#include <shoal/term/detector.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::term {

/// Something that may be left waiting when nothing runs any more: a task graph.
class Unsatisfied {
 public:
  /// How many wait now. Any thread.
  [[nodiscard]] virtual std::uint64_t unsatisfied_count() const = 0;
  /// A few lines that name them.
  [[nodiscard]] virtual std::vector<std::string> describe_unsatisfied() const = 0;
  /// Nothing runs or travels any more: a wait() may be about to return. With a lock of the scope
  /// held.
  virtual void at_rest() {}

 protected:
  ~Unsatisfied() = default;
};

/// What a scope looks like on one rank at one moment, for reports.
struct ScopeState {
  sched::TaskScope::Totals totals;
  std::uint64_t held = 0;   // messages for handlers that do not exist here yet
  int holds = 0;            // they count as created tasks
  std::string main_in;      // what the main function stands in: "wait()", a collective; "": nothing
  bool main_final = false;  // it has ended, and takes part in the others' waits
  std::uint64_t main_since_ns = 0;
  std::string failure;  // of the scope, if it has failed
  DetectionState detection;
  std::vector<std::string> waiting;  // lines that name what waits
};

class Scope;

/// Keeps wait() from completing: for threads that are not workers and will still submit or send.
class Hold {
 public:
  explicit Hold(Scope& scope);
  ~Hold();
  Hold(Hold&& other) noexcept : scope_(std::exchange(other.scope_, nullptr)) {}
  Hold& operator=(Hold&&) = delete;

 private:
  Scope* scope_;
};

/// Created and used by one rank; ranks talk by control messages along a tree.
class Scope final : public sched::TaskScope, public messaging::IdleListener, private DetectorHost {
 public:
  Scope(messaging::Messenger& messenger, int size);
  ~Scope() override;

  [[nodiscard]] messaging::Messenger& messenger() const { return messenger_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return messenger_.scheduler(); }

  /// Collective over the main functions of all ranks: returns when no task and no message exists
  /// or can exist. **Caller**: main function. **Blocks**: suspends it. **Errors**: TaskError, the
  /// same on every rank, when a task or handler threw; StuckError when nothing runs any more and
  /// something still waits; CheckError outside the main function.
  void wait();
  /// The main function has ended: takes part in waits until those of all ranks have. Errors as
  /// wait(), for what was still going on; but no TaskError that this rank's main function was told.
  void wait_for_end();
  /// The main function has thrown, and its stack still stands: fails the scope, unless it has
  /// failed, and returns when no task and no message exists that may use that stack. Holds of this
  /// rank are left out: the objects that end them may stand there. **Caller**: main function.
  /// **Blocks**: suspends it, until every main function is parked.
  void end_before_unwinding(FunctionRef<std::string()> text);

  /// Parks the main function in a collective operation that is called `what`; `start` runs once it
  /// is parked and may unpark it. Errors as wait().
  void park_main(const std::string& what, FunctionRef<void()> start);
  /// Ends park_main(). Called by the handler of the message that completes the operation.
  void unpark_main();

  /// Begins the count of a Hold, which end_hold() ends. Any thread.
  void begin_hold();
  void end_hold();

  /// Before the first task graph is made.
  void set_checks_graphs(bool checks) { checks_graphs_ = checks; }
  /// Task graphs remember the tasks that ran.
  [[nodiscard]] bool checks_graphs() const { return checks_graphs_; }

  void add(Unsatisfied& source);
  void remove(Unsatisfied& source);

  void fail(const std::string& task_name, const std::exception_ptr& error) override;
  void main_parks() override;
  void main_goes_on() override;
  void thread_parks() override { end_hold(); }
  void thread_goes_on() override { begin_hold(); }
  [[noreturn]] void throw_to_main() override;
  bool on_idle() override;
  /// **Caller**: any thread. Runs the functions of graphs that name tasks.
  [[nodiscard]] ScopeState state() const;
  /// The failure that all ranks were told of, if there was one.
  [[nodiscard]] std::optional<TaskError> failure() const;
  /// Called on the root when detection has found the scope complete, before anybody hears of it.
  /// Set before the first step; may throw nothing.
  void set_completion_check(Function<void()> check) { completion_check_ = std::move(check); }

  /// Throws CheckError unless the main function is calling.
  static void check_main(const char* what);

 private:
  friend class Hold;
  friend struct ScopeMessages;                    // the control messages' handlers
  using StuckLine = std::pair<int, std::string>;  // rank, and what waits there
  enum class Outcome { running, done, failed, stuck };

  // DetectorHost; called with mutex_ held.
  std::optional<Snapshot> snapshot() override SHOAL_REQUIRES(mutex_);
  void send_report(Rank parent, const Report& report) override SHOAL_REQUIRES(mutex_);
  void send_request(Rank child, const Request& request) override SHOAL_REQUIRES(mutex_);
  void send_confirmation(Rank parent, const Confirmation& confirmation) override
      SHOAL_REQUIRES(mutex_);
  void completed(const Counts& total) override SHOAL_REQUIRES(mutex_);

  void park(const std::string& what, bool final, FunctionRef<void()> start);
  Outcome stand(const std::string& what, bool final, FunctionRef<void()> start);
  void finish_park(Outcome outcome) SHOAL_REQUIRES(mutex_);
  void check_main_goes_on() SHOAL_REQUIRES(mutex_);
  void tell_sources_of_rest() SHOAL_REQUIRES(mutex_);
  /// Of the sources; each line is about this rank.
  [[nodiscard]] std::vector<std::string> describe_waiting() const SHOAL_REQUIRES(mutex_);
  [[noreturn]] void throw_failure();
  [[noreturn]] void throw_stuck();
  [[nodiscard]] std::exception_ptr take_failure();
  [[nodiscard]] std::exception_ptr tell_of_failure();
  void on_done(std::uint64_t unsatisfied, bool all_final) SHOAL_REQUIRES(mutex_);
  void fail_with(std::string_view task_name, FunctionRef<std::string()> text);
  /// Keeps the first failure. False: there was one.
  bool record(TaskError error);
  /// Ends what waits, and passes the failure on. May be repeated.
  void spread();
  /// Runs `step` again, with the reserve given back, if it throws std::bad_alloc. If it does so
  /// again, the process ends.
  template <class Step>
  void insist(const Step& step);
  void on_failure_up(Rank origin, const std::string& task_name, const std::string& text);
  void on_failure_down(Rank origin, const std::string& task_name, const std::string& text);
  void add_stuck_lines(std::vector<StuckLine> lines, std::uint64_t left_out, bool tasks_parked)
      SHOAL_REQUIRES(mutex_);
  void on_verdict(const std::string& text, bool tasks_parked) SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::vector<StuckLine> describe_stuck() const SHOAL_REQUIRES(mutex_);

  messaging::Messenger& messenger_;
  const Tree tree_;
  const std::vector<Rank> children_;

  Function<void()> completion_check_;
  bool checks_graphs_ = false;

  mutable sync::Mutex mutex_;
  Detector detector_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Unsatisfied*> sources_ SHOAL_GUARDED_BY(mutex_);
  Snapshot last_snapshot_ SHOAL_GUARDED_BY(mutex_);

  // The main function's state.
  // In park(), or in a wait_for() like a task. Written under mutex_; a hint outside.
  std::atomic<bool> parked_{false};
  sync::Waiter* waiter_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  std::string parked_in_ SHOAL_GUARDED_BY(mutex_);  // a collective's name, or "" in wait()
  bool final_ SHOAL_GUARDED_BY(mutex_) = false;
  int main_waits_ SHOAL_GUARDED_BY(mutex_) = 0;  // 1: it stands in a wait_for()
  std::uint64_t parked_since_ns_ SHOAL_GUARDED_BY(mutex_) = 0;
  bool all_final_ SHOAL_GUARDED_BY(mutex_) = false;
  std::uint64_t park_count_ SHOAL_GUARDED_BY(mutex_) = 0;
  Outcome outcome_ SHOAL_GUARDED_BY(mutex_) = Outcome::running;

  // Those that are counted as created, or fewer. Lowered under mutex_. A release pairs with the
  // acquire in snapshot().
  std::atomic<int> holds_{0};
  bool ignores_holds_ SHOAL_GUARDED_BY(mutex_) = false;

  bool failure_told_ = false;  // to the main function, which alone uses this

  // Given back when the world fails, for want of memory perhaps: to record and tell that takes
  // some, a packet for each peer in the tree most of all.
  std::unique_ptr<std::byte[]> reserve_ SHOAL_GUARDED_BY(mutex_);
  const std::string out_of_memory_;  // the last words

  // Failure: the first one known here, replaced by the one that the root chose.
  std::optional<TaskError> error_ SHOAL_GUARDED_BY(mutex_);
  bool failure_from_root_ SHOAL_GUARDED_BY(mutex_) = false;

  // The report of a scope that is stuck, while it is gathered.
  std::size_t stuck_parts_missing_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::vector<StuckLine> stuck_lines_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t stuck_left_out_ SHOAL_GUARDED_BY(mutex_) = 0;
  bool stuck_parked_ SHOAL_GUARDED_BY(mutex_) = false;  // tasks stand parked, here or below
  bool stuck_parked_here_ SHOAL_GUARDED_BY(mutex_) = false;
  std::string stuck_text_ SHOAL_GUARDED_BY(mutex_);
  bool stuck_told_late_ SHOAL_GUARDED_BY(mutex_) = false;  // the failure is that one
};

}  // namespace shoal::term

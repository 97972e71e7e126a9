#pragma once
// An inserter of tasks: their order, counters and limits.

#include <shoal/codelet.hpp>
#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/flow_data.hpp>
#include <shoal/flow_options.hpp>
#include <shoal/flow_scheduler.hpp>
#include <shoal/recipients.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace shoal::flow {

/// Any thread, except where said otherwise.
class SequenceProgress {
 public:
  SequenceProgress(sched::Scheduler& scheduler, const sched::TaskScope& team, std::string flow);
  ~SequenceProgress();
  SequenceProgress(const SequenceProgress&) = delete;
  SequenceProgress& operator=(const SequenceProgress&) = delete;

  // The inserter.
  void count_created(std::uint64_t count) {
    created_.store(created() + count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t created() const { return created_.load(std::memory_order_relaxed); }
  /// Parks the caller until no more than `count` are under way.
  void wait_until(std::uint64_t count, const char* what);

  void count_finished();
  [[nodiscard]] std::uint64_t under_way() const;

 private:
  class Wait;
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value{0};
    std::atomic<std::uint32_t> inside{0};  // threads in count_finished(), for the destructor
  };

  void check_waits();

  sched::Scheduler& scheduler_;
  const sched::TaskScope& team_;
  const std::string flow_;  // for reports
  const bool asymmetric_;
  // relaxed: written by the inserter; a wait that ends reads what it wrote itself
  std::atomic<std::uint64_t> created_{0};
  std::unique_ptr<Counter[]> finished_;  // by worker; the last one is for other threads

  sync::Mutex mutex_;
  std::atomic<int> wait_count_{0};
  // The largest count that a caller has waited for. relaxed: written before wait_count_ is raised
  std::atomic<std::uint64_t> wait_limit_{0};
  Wait* waits_ SHOAL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace shoal::flow

namespace shoal::sched {

class Scheduler;

}  // namespace shoal::sched

namespace shoal {

namespace flow {

class Core;
class Instance;
class ProgramLog;
struct Handle;

/// Inserter of the tasks of a flow, without types. **Caller**: one thread or task at a time, except
/// where said otherwise.
class Sequence {
 public:
  /// `log` is nullptr if the ranks' programs are not compared.
  Sequence(Core& core, std::string name, const FlowOptions& options, ProgramLog* log);
  ~Sequence() = default;
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  /// Sets the place of the next insertion in the program, for traces. **Cost**: two instructions.
  void set_place(std::source_location place) { task_place_ = place; }
  /// First half of an insertion: waits while the limits are exceeded, finds the rank that runs the
  /// task, and inserts its transfers. Returns true if the task runs on this rank, and the requests
  /// have instances; then submit() must follow.
  [[nodiscard]] bool begin(const std::shared_ptr<CodeletCore>& codelet, std::span<Request> requests,
                           const InsertOptions& options);
  /// Second half of an insertion: `task`, which owns itself from now on, has one access for each
  /// request, in their order.
  void submit(FlowTask* task, std::span<const Request> requests);

  /// Parks the caller until at most `count` tasks and transfers of this rank have not ended.
  void wait_until(std::uint64_t count, const char* what);
  /// Sends the record of insertions, so that the ranks' programs can be compared: called before a
  /// wait that may never end.
  void report();
  /// Records an operation of all ranks that is no task, for the comparison, with a rank, or -1, and
  /// a count that must be equal on all ranks.
  void note(const char* what, const Handle* handle, int rank = -1, std::uint64_t count = 0);

  // Any thread.
  [[nodiscard]] Core& core() const { return core_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Refuses a value for a task that is larger than its parameter.
  [[noreturn]] void refuse_number(std::string_view codelet, detail::TextValue number,
                                  std::string_view type) const;
  void count_finished() { progress_.count_finished(); }
  [[nodiscard]] std::uint64_t under_way() const { return progress_.under_way(); }
  [[nodiscard]] const FlowOptions& options() const { return options_; }
  /// Returns whether something runs before and after each task: a check, or a FlowScheduler.
  [[nodiscard]] bool watches() const { return watches_; }

  /// Marks the end of the run: begin() throws from now on.
  void end_run() { finished_seen_ = progress_.created() + 1; }

  /// Counts transfers and other operations beside tasks.
  void count_created(std::uint64_t count = 1) { progress_.count_created(count); }
  /// Lets `task` enter the queues of its accesses; it runs when all are granted.
  void enter_all(FlowTask& task);
  /// Lets `task`, which holds `held` already, enter the queues of its accesses, and records its
  /// dependencies and the place of its insertion if there is a recording.
  void enter_watched(FlowTask& task, std::span<Instance* const> held = {},
                     std::source_location place = {});
  /// Ends an open reduction before an access of `mode`.
  void settle(Handle& handle, Mode mode);
  /// Brings the current value of the datum to `rank`, which needs it: sends or receives it.
  void bring(Handle& handle, int rank);
  /// Records that the value changes on the owner: copies are out of date.
  void renew(Handle& handle);
  void send(Handle& handle, Instance& instance, int rank);
  /// Receives a value from `source` into `instance`, in the order of its accesses.
  void receive(Handle& handle, Instance& instance, int source, bool combines);
  /// Makes `rank` the owner of the value from now on.
  void migrate(Handle& handle, int rank);

 private:
  void check(std::span<const Request> requests, const CodeletCore* codelet) const;
  [[nodiscard]] int place(std::span<const Request> requests, const InsertOptions& options);
  [[nodiscard]] int cheapest(std::span<const Request> requests);
  void infer(std::span<Request> requests, int rank);
  void infer_one(Request& request, int rank);
  /// Sends values that were not written on their owner back to it.
  void bring_back(std::span<const Request> requests, int rank);
  void combine(Handle& handle);
  void throttle();

  Core& core_;
  const std::string name_;
  const FlowOptions options_;
  const int rank_;
  const int size_;
  const bool watches_;
  const bool is_plain_;  // one rank, and nothing records insertions
  ProgramLog* const log_;
  int task_rank_ = 0;  // of the insertion between begin() and submit()
  int task_priority_ = 0;
  std::source_location task_place_;
  std::uint64_t count_ = 0;
  std::uint64_t finished_seen_ = 0;
  std::vector<std::uint32_t> load_;  // tasks of each rank, as far as this one knows
  std::uint64_t without_data_ = 0;   // tasks of a pruned flow whose ranks take turns
  SequenceProgress progress_;
};

}  // namespace flow

}  // namespace shoal

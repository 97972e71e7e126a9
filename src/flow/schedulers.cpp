#include <shoal/detail/base/check.hpp>
#include <shoal/detail/env/env.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/flow_scheduler.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "flow/dispatcher.hpp"
#include "flow/instance.hpp"
#include "flow/performance_models.hpp"
#include "sched/traced.hpp"

namespace shoal {

std::size_t ReadyTask::bytes_elsewhere(int worker) const {
  std::size_t bytes = 0;
  for (const flow::Access& access : task->accesses()) {
    if (!flow::reads(access.mode)) continue;
    const int last = access.instance->last_worker();
    if (last >= 0 && last != worker) bytes += access.instance->handle().size_bytes();
  }
  return bytes;
}

namespace flow {

/// Runs nothing itself: it makes its worker take the next task.
class Dispatcher::Ticket final : public sched::Task {
 public:
  Ticket(sched::Scheduler& scheduler, std::shared_ptr<FlowScheduler> order)
      : scheduler_(scheduler), order_(std::move(order)) {
    trace_id = trace::kHiddenTask;
  }
  // Not run: the team has failed, or push() has named a wrong worker.
  ~Ticket() override {
    if (!used_) delete order_->pop(bound ? worker : 0, 0).task;
  }

  void run() override {
    used_ = true;
    const int here = scheduler_.count_slot();
    const ReadyTask next = order_->pop(here, scheduler_.env().now_ns());
    SHOAL_CHECK(next.task != nullptr,
                "pop() of a flow's scheduler has returned no task: it is called once for each "
                "push(), by the worker that push() has returned");
    next.task->worker = static_cast<std::int16_t>(here);
    next.task->bound = true;
    next.task->priority = std::numeric_limits<int>::max();
    const bool is_traced = trace::on<trace::Category::task>();
    const std::uint64_t trace_id = next.task->trace_id;
    if (is_traced) [[unlikely]]
      next.task->trace_id = trace::kHiddenTask;  // it has been ready since push()
    scheduler_.submit(std::unique_ptr<sched::Task>(next.task));
    next.task->priority = next.priority;  // this worker will run it, and not before this returns
    if (is_traced) [[unlikely]]
      next.task->trace_id = trace_id;
    sync::publish(next.task);  // what was written behind submit()
  }
  [[nodiscard]] std::string name() const override { return "choice of the next task"; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "next"; }

 private:
  sched::Scheduler& scheduler_;
  const std::shared_ptr<FlowScheduler> order_;
  bool used_ = false;
};

Dispatcher::Dispatcher(sched::Scheduler& scheduler, std::shared_ptr<FlowScheduler> order)
    : scheduler_(scheduler), order_(std::move(order)) {
  order_->begin(scheduler_.worker_count());
}

ReadyTask Dispatcher::describe(FlowTask& task) {
  ReadyTask ready;
  ready.name = task.plain_name();
  ready.priority = task.priority;
  ready.task = &task;
  for (const Access& access : task.accesses()) {
    ready.size_bytes += access.instance->handle().size_bytes();
  }
  return ready;
}

void Dispatcher::push(FlowTask& task) {
  ReadyTask ready = describe(task);
  ready.number = count_.fetch_add(1, std::memory_order_relaxed);
  ready.ready_ns = scheduler_.env().now_ns();
  if (trace::on<trace::Category::task>()) [[unlikely]]
    sched::traced::submitted(task);  // by the ticket that takes it, it may have waited for long
  sched::TaskScope* const scope = task.scope;
  const int worker = order_->push(ready);  // another ticket may run the task from here on
  auto ticket = std::make_unique<Ticket>(scheduler_, order_);
  SHOAL_CHECK(worker >= FlowScheduler::kAnyWorker && worker < scheduler_.worker_count(),
              "push() of a flow's scheduler has returned worker {}: there are 0 to {}", worker,
              scheduler_.worker_count() - 1);
  ticket->scope = scope;
  ticket->worker = static_cast<std::int16_t>(worker);
  ticket->bound = worker != FlowScheduler::kAnyWorker;
  scheduler_.submit(std::move(ticket));
}

Dispatcher::Running::Running(Dispatcher& dispatcher, FlowTask& task)
    : dispatcher_(dispatcher), task_(task), begin_ns_(dispatcher.scheduler_.env().now_ns()) {}

Dispatcher::Running::~Running() {
  const int worker = dispatcher_.scheduler_.count_slot();
  for (const Access& access : task_.accesses()) access.instance->set_last_worker(worker);
  dispatcher_.order_->ended(describe(task_), worker, begin_ns_,
                            dispatcher_.scheduler_.env().now_ns());
}

}  // namespace flow

namespace {

class Fifo final : public FlowScheduler {
 public:
  int push(const ReadyTask& task) override {
    const sync::Lock lock(mutex_);
    tasks_.push_back(task);
    return kAnyWorker;
  }
  ReadyTask pop(int /*worker*/, std::uint64_t /*now_ns*/) override {
    const sync::Lock lock(mutex_);
    const ReadyTask task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

 private:
  sync::Mutex mutex_;
  std::deque<ReadyTask> tasks_ SHOAL_GUARDED_BY(mutex_);
};

/// Higher priorities first, then those that became ready first.
struct ByPriority {
  bool operator()(const ReadyTask& a, const ReadyTask& b) const {
    return a.priority != b.priority ? a.priority < b.priority : a.number > b.number;
  }
};

class Priority final : public FlowScheduler {
 public:
  int push(const ReadyTask& task) override {
    const sync::Lock lock(mutex_);
    tasks_.push(task);
    return kAnyWorker;
  }
  ReadyTask pop(int /*worker*/, std::uint64_t /*now_ns*/) override {
    const sync::Lock lock(mutex_);
    const ReadyTask task = tasks_.top();
    tasks_.pop();
    return task;
  }

 private:
  sync::Mutex mutex_;
  std::priority_queue<ReadyTask, std::vector<ReadyTask>, ByPriority> tasks_
      SHOAL_GUARDED_BY(mutex_);
};

class Completion final : public FlowScheduler {
 public:
  explicit Completion(const CompletionOptions& options)
      : transfer_ns_per_byte_(options.transfer_ns_per_byte),
        models_(options.models != nullptr ? options.models
                                          : std::make_shared<PerformanceModels>()) {}

  void begin(int workers) override {
    const sync::Lock lock(mutex_);
    workers_.resize(static_cast<std::size_t>(workers));
  }

  int push(const ReadyTask& task) override {
    const double work_ns = models_->predict(task.name, task.size_bytes).value_or(0);
    const sync::Lock lock(mutex_);
    std::size_t best = 0;
    double best_end = 0;
    double best_ns = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const double ns =
          work_ns +
          transfer_ns_per_byte_ * static_cast<double>(task.bytes_elsewhere(static_cast<int>(i)));
      const double end = workers_[i].free_at(task.ready_ns) + ns;
      // Equal ends go by the number of tasks: nothing may be known of the times yet.
      const bool fewer = end == best_end && workers_[i].load() < workers_[best].load();
      if (i > 0 && end >= best_end && !fewer) continue;
      best = i;
      best_end = end;
      best_ns = ns;
    }
    workers_[best].tasks.push({task, best_ns});
    workers_[best].queued_ns += best_ns;
    return static_cast<int>(best);
  }

  ReadyTask pop(int worker, std::uint64_t now_ns) override {
    const sync::Lock lock(mutex_);
    Worker& mine = workers_[static_cast<std::size_t>(worker)];
    const Planned next = mine.tasks.top();
    mine.tasks.pop();
    mine.queued_ns -= next.ns;
    mine.ends_ns = static_cast<double>(now_ns) + next.ns;
    mine.running = 1;
    return next.task;
  }

  void ended(const ReadyTask& task, int worker, std::uint64_t begin_ns,
             std::uint64_t end_ns) override {
    models_->add(task.name, task.size_bytes, static_cast<double>(end_ns - begin_ns));
    const sync::Lock lock(mutex_);
    Worker& mine = workers_[static_cast<std::size_t>(worker)];
    mine.ends_ns = static_cast<double>(end_ns);
    mine.running = 0;
  }

 private:
  struct Planned {
    ReadyTask task;
    double ns = 0;  // expected
  };
  struct ByTask {
    bool operator()(const Planned& a, const Planned& b) const {
      return ByPriority()(a.task, b.task);
    }
  };
  struct Worker {
    std::priority_queue<Planned, std::vector<Planned>, ByTask> tasks;
    double queued_ns = 0;
    double ends_ns = 0;  // the task that runs
    std::size_t running = 0;

    [[nodiscard]] double free_at(std::uint64_t now_ns) const {
      return std::max(ends_ns, static_cast<double>(now_ns)) + queued_ns;
    }
    [[nodiscard]] std::size_t load() const { return tasks.size() + running; }
  };

  const double transfer_ns_per_byte_;
  const std::shared_ptr<PerformanceModels> models_;
  sync::Mutex mutex_;
  std::vector<Worker> workers_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<FlowScheduler> fifo_scheduler() { return std::make_shared<Fifo>(); }

std::shared_ptr<FlowScheduler> priority_scheduler() { return std::make_shared<Priority>(); }

std::shared_ptr<FlowScheduler> completion_scheduler(const CompletionOptions& options) {
  return std::make_shared<Completion>(options);
}

std::shared_ptr<FlowScheduler> make_flow_scheduler(std::string_view name,
                                                   std::shared_ptr<PerformanceModels> models) {
  if (name == "locality") return nullptr;
  if (name == "fifo") return fifo_scheduler();
  if (name == "priority") return priority_scheduler();
  SHOAL_CHECK(name == "completion",
              "flow scheduler '{}' is unknown; there are locality, fifo, priority, completion",
              name);
  return completion_scheduler({.models = std::move(models)});
}

}  // namespace shoal

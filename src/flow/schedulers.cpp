#include <shoal/flow_scheduler.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <algorithm>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "flow/performance_models.hpp"

namespace shoal {

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

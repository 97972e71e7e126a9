#include <shoal/executor.hpp>

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace shoal {

namespace object {

/// The tasks of one executor on one rank. All queues of a hierarchy share the lock of the outermost
/// one. For each task, the outermost section has a task of the scheduler, which takes the first one
/// of the hierarchy: it need not be the same.
class ExecutorQueue final : public std::enable_shared_from_this<ExecutorQueue>,
                            private team::Unsatisfied {
 public:
  ExecutorQueue(Team& section, std::shared_ptr<ExecutorQueue> parent, Policy policy, int priority)
      : section_(section),
        core_(section.core()),
        parent_(std::move(parent)),
        root_(parent_ != nullptr ? parent_->root_ : *this),
        policy_(policy),
        priority_(priority),
        tree_(parent_ != nullptr ? parent_->tree_ : std::make_shared<sync::Mutex>()) {}

  /// The executor is ready.
  void begin(const Executor& executor) {
    {
      const sync::Lock lock(*tree_);
      executor_ = &executor;
    }
    core_.add(*this);
  }
  /// It ends. Tasks that have not run are an error, and dropped first: an error waits until the
  /// section has nothing left, and each task of an inner executor has a Hold of it.
  void end() {
    drop(false);
    core_.remove(*this);
    drop(true);
  }

  void add(std::unique_ptr<ExecutorTask> task) {
    std::optional<Rank> thief;
    if (policy_ == Policy::stealing && task->may_move()) {
      const sync::Lock lock(*tree_);
      if (!hungry_.empty() && !entries_.empty()) {
        thief = hungry_.front();
        hungry_.pop_front();
      }
    }
    if (thief.has_value()) return task->send(*executor_, *thief);
    push(std::move(task));
  }

  void push(std::unique_ptr<ExecutorTask> task) {
    in_use_.store(true, std::memory_order_relaxed);
    task->queue = shared_from_this();
    if (parent_ != nullptr) task->hold.emplace(section_.hold());
    {
      const sync::Lock lock(*tree_);
      has_asked_ = false;
      insert({std::move(task), nullptr});
      for (ExecutorQueue* one = this; one->parent_ != nullptr && !one->is_listed_;
           one = one->parent_.get()) {
        one->is_listed_ = true;
        one->parent_->insert({nullptr, one->shared_from_this()});
      }
    }
    root_.section_.spawn([root = root_.shared_from_this()] { root->run_first(); },
                         {.name = "a task of an executor"});
  }

  /// Gives a rank half of the tasks that may move, the last ones; if there is none, the next one
  /// that is submitted.
  void feed(Rank thief) {
    std::vector<std::unique_ptr<ExecutorTask>> given;
    {
      const sync::Lock lock(*tree_);
      std::size_t movable = 0;
      for (const auto& [place, entry] : entries_) movable += may_move(entry) ? 1 : 0;
      for (auto it = entries_.end(); it != entries_.begin() && given.size() < (movable + 1) / 2;) {
        --it;
        if (!may_move(it->second)) continue;
        given.push_back(std::move(it->second.task));
        it = entries_.erase(it);
      }
      if (given.empty()) hungry_.push_back(thief);
    }
    for (auto it = given.rbegin(); it != given.rend(); ++it) (*it)->send(*executor_, thief);
  }

  /// Asks other ranks for tasks if this rank has none, once until some arrive. It asks the ranks at
  /// distances of powers of two, so that tasks reach all ranks in few steps.
  void ask() {
    if (policy_ != Policy::stealing) return;
    {
      const sync::Lock lock(*tree_);
      if (executor_ == nullptr || !entries_.empty() || std::exchange(has_asked_, true)) return;
    }
    const int size = section_.size();
    for (int distance = 1; distance < size; distance *= 2) {
      executor_->async<&Executor::starve>(Rank((section_.rank() + distance) % size),
                                          section_.rank());
    }
  }

  [[nodiscard]] std::size_t size() const {
    const sync::Lock lock(*tree_);
    return entries_.size();
  }

 private:
  void drop(bool for_good) {
    Entries dropped;
    const sync::Lock lock(*tree_);
    if (for_good) executor_ = nullptr;
    dropped.swap(entries_);
    dropped_count_ += dropped.size();
  }
  // Each entry has a task of the scheduler, so none is left when the section is at rest.
  [[nodiscard]] std::uint64_t unsatisfied_count() const override {
    const sync::Lock lock(*tree_);
    return entries_.size() + dropped_count_;
  }
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override {
    const std::uint64_t count = unsatisfied_count();
    if (count == 0) return {};
    return {fmt::format("{}: {} of its tasks have not begun", title(), count)};
  }
  void at_rest() override { in_use_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool is_in_use() const override { return in_use_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string title() const override {
    return fmt::format("an executor of {}", core_.describe());
  }
  bool run_ended() override { return true; }

  struct Entry {
    std::unique_ptr<ExecutorTask> task;
    std::shared_ptr<ExecutorQueue> child;  // instead, one that has tasks
  };
  using Place = std::pair<int, std::uint64_t>;  // negative priority, number
  using Entries = std::map<Place, Entry>;

  static bool may_move(const Entry& entry) {
    return entry.task != nullptr && entry.task->may_move();
  }

  // The functions below that touch entries run under the lock.
  void insert(Entry entry) {
    const int priority = entry.task != nullptr ? entry.task->priority : entry.child->priority_;
    const Place place(policy_ == Policy::priority ? -priority : 0, ++last_number_);
    entries_.emplace(place, std::move(entry));
  }
  std::unique_ptr<ExecutorTask> take() {
    while (!entries_.empty()) {
      Entry entry = std::move(entries_.extract(entries_.begin()).mapped());
      if (entry.child == nullptr) return std::move(entry.task);
      ExecutorQueue& child = *entry.child;
      std::unique_ptr<ExecutorTask> task = child.take();
      child.is_listed_ = !child.entries_.empty();
      if (child.is_listed_) insert(std::move(entry));
      if (task != nullptr) return task;
    }
    return nullptr;
  }

  void run_first() {
    std::unique_ptr<ExecutorTask> task;
    {
      const sync::Lock lock(*tree_);
      task = take();
    }
    if (task == nullptr) return;  // it was given away
    const std::shared_ptr<ExecutorQueue> queue = std::move(task->queue);
    TeamCore& core = queue->section_.core();
    if (core.failed()) return;
    try {
      task->run();
      queue->ask();
    } catch (...) {
      if (!core.failed()) core.fail("a task of an executor", sched::caught_exception());
    }
  }  // the hold of the section ends last

  Team& section_;
  TeamCore& core_;  // of the section
  // relaxed: a task that submits ends before at_rest() is called, or before the executor ends
  std::atomic<bool> in_use_{false};
  const std::shared_ptr<ExecutorQueue> parent_;
  ExecutorQueue& root_;
  const Policy policy_;
  const int priority_;
  const std::shared_ptr<sync::Mutex> tree_;
  // under the lock:
  const Executor* executor_ = nullptr;
  Entries entries_;
  std::uint64_t dropped_count_ = 0;  // as it ends
  std::uint64_t last_number_ = 0;
  bool is_listed_ = false;   // it is an entry of its parent
  bool has_asked_ = false;   // other ranks know that there are no tasks here
  std::deque<Rank> hungry_;  // ranks without tasks
};

}  // namespace object

using object::ExecutorQueue;
using object::ExecutorTask;

Executor::Executor(Team& section, std::shared_ptr<ExecutorQueue> parent, Policy policy,
                   int priority)
    : DistributedObject(section),
      queue_(std::make_shared<ExecutorQueue>(section, std::move(parent), policy, priority)) {
  queue_->begin(*this);
}

Executor::Executor(Team& section, Policy policy) : Executor(section, nullptr, policy, 0) {}

Executor::Executor(Team& section, Executor& parent, Policy policy, int priority)
    : Executor(section, parent.queue_, policy, priority) {}

Executor::~Executor() { queue_->end(); }

void Executor::add(std::unique_ptr<ExecutorTask> task) { queue_->add(std::move(task)); }

void Executor::accept(std::unique_ptr<ExecutorTask> task) { queue_->push(std::move(task)); }

void Executor::starve(Rank thief) { queue_->feed(thief); }

std::size_t Executor::waiting_count() const { return queue_->size(); }

void Executor::wait() {
  queue_->ask();
  fence();
}

}  // namespace shoal

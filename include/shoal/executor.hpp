#pragma once
// Executors: the tasks of a section, in the order of its policy.

#include <shoal/detail/base/number.hpp>
#include <shoal/detail/object/applied.hpp>
#include <shoal/distributed_object.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shoal {

/// Order in which an Executor starts its tasks.
enum class Policy : std::uint8_t {
  fifo,      // in the order of submission
  priority,  // larger priorities first, equal ones in the order of submission
  stealing,  // as fifo; ranks that run out of tasks get some of other ranks
};

class Executor;

namespace object {

class ExecutorQueue;

/// A task that waits in an executor.
class ExecutorTask {
 public:
  explicit ExecutorTask(int priority_of_it) : priority(priority_of_it) {}
  virtual ~ExecutorTask() = default;
  ExecutorTask(const ExecutorTask&) = delete;
  ExecutorTask& operator=(const ExecutorTask&) = delete;

  virtual void run() = 0;
  [[nodiscard]] virtual bool may_move() const { return false; }
  /// Submits the task on another rank; it does not run on this one afterwards.
  virtual void send(const Executor& /*executor*/, Rank /*to*/) {}

  const int priority;
  std::shared_ptr<ExecutorQueue> queue;  // of its executor
  std::optional<Hold> hold;              // of its section
};

/// A function object, which stays on its rank.
template <class F>
class LocalExecutorTask final : public ExecutorTask {
 public:
  LocalExecutorTask(int priority, F function)
      : ExecutorTask(priority), function_(std::move(function)) {}
  void run() override { function_(); }

 private:
  F function_;
};

/// A function with arguments that travel.
template <auto Function, class... Args>
class MovableExecutorTask final : public ExecutorTask {
 public:
  template <class... Values>
  explicit MovableExecutorTask(int priority, Values&&... values)
      : ExecutorTask(priority), arguments_(std::forward<Values>(values)...) {}
  void run() override { std::apply(Function, std::move(arguments_)); }
  [[nodiscard]] bool may_move() const override { return true; }
  void send(const Executor& executor, Rank to) override;
  /// Takes a task that moves, on the rank that will run it.
  static void receive(Executor& executor, int priority, Args... args);

 private:
  std::tuple<Args...> arguments_;
};

}  // namespace object

/// Runs the tasks of a section: a part of the program that a team runs. Each rank has a queue of
/// its own; `policy` orders it, and the workers of the rank take tasks from it. (So with several
/// workers, tasks start in this order and run at the same time.)
///
/// Executors form a hierarchy. One with a parent is an entry of the parent's queue while it has
/// tasks, with its `priority` there, and takes turns with equal ones. So a section's policy orders
/// what runs within it, and the policy of the section around it orders the sections.
///
/// **Caller**: made as every distributed object. **Lifetime**: until wait() has returned; a parent
/// ends after its children. **Errors**: an exception of a task fails the section's team.
/// **Source**: stapl-rts thesis, sections 3.2.2 and 7.9.
class Executor : public DistributedObject<Executor> {
 public:
  /// Makes the outermost executor of a section.
  explicit Executor(Team& section, Policy policy = Policy::fifo);
  /// Makes an executor of a section within the section of `parent`, or of a part of the same one,
  /// with its `priority` in the queue of `parent`.
  Executor(Team& section, Executor& parent, Policy policy = Policy::fifo, int priority = 0);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  Executor(Executor&&) = delete;
  Executor& operator=(Executor&&) = delete;

  /// Adds a task, which stays on this rank. **Caller**: any task or main function of a member.
  template <class F>
    requires std::is_invocable_v<F&>
  void spawn(F function, int priority = 0) {
    add(std::unique_ptr<object::ExecutorTask>(
        new object::LocalExecutorTask<F>(priority, std::move(function))));
  }
  /// Refused when it is compiled: priorities are integers.
  template <class F, std::floating_point Number>
    requires std::is_invocable_v<F&>
  void spawn(F /*function*/, Number /*priority*/) {
    check_priority<Number>();
  }
  /// Adds a task `Function(args...)`, which runs on another rank if that has no task and the policy
  /// is `stealing`. `Function` is a function, or a lambda without captures. The arguments travel as
  /// in messages; a handle of a distributed object gives access to the representative on the rank
  /// that runs the task.
  template <auto Function, class... Args>
  void spawn_with_priority(int priority, Args... args) {
    object::check_applied<Function, 0>(place_of_object(), args...);
    add(std::unique_ptr<object::ExecutorTask>(
        new object::MovableExecutorTask<Function, wire::Owner<Args>...>(
            priority, wire::own<wire::Owner<Args>>(std::move(args))...)));
  }
  /// Refused when it is compiled: priorities are integers.
  template <auto Function, std::floating_point Number, class... Args>
  void spawn_with_priority(Number /*priority*/, Args... /*args*/) {
    check_priority<Number>();
  }
  /// Adds a task `Function(args...)` with priority 0, which may run on another rank. See
  /// spawn_with_priority().
  template <auto Function, class... Args>
  void spawn(Args... args) {
    spawn_with_priority<Function>(0, std::move(args)...);
  }

  /// @cond deprecated
  template <class F>
    requires std::is_invocable_v<F&>
  [[deprecated("its name is spawn()")]] void submit(F function, int priority = 0) {
    spawn(std::move(function), priority);
  }
  template <auto Function, class... Args>
  [[deprecated("its name is spawn()")]] void submit(Args... args) {
    spawn<Function>(std::move(args)...);
  }
  template <auto Function, class... Args>
  [[deprecated("its name is spawn_with_priority()")]] void submit_with_priority(int priority,
                                                                                Args... args) {
    spawn_with_priority<Function>(priority, std::move(args)...);
  }
  /// @endcond

  /// Returns the number of tasks of this rank that have not begun; it may be out of date at once.
  [[nodiscard]] std::size_t waiting_count() const;

  /// Returns when all tasks have run on all ranks; a fence() of the section. Collective.
  /// **Blocks**: parks the caller.
  void wait();

 private:
  template <auto Function, class... Args>
  friend class object::MovableExecutorTask;
  friend class object::ExecutorQueue;

  Executor(Team& section, std::shared_ptr<object::ExecutorQueue> parent, Policy policy,
           int priority);
  void add(std::unique_ptr<object::ExecutorTask> task);
  /// Invoked by a rank that has run out of tasks.
  void starve(Rank thief);
  /// Takes a task of another rank.
  void accept(std::unique_ptr<object::ExecutorTask> task);

  const std::shared_ptr<object::ExecutorQueue> queue_;
};

/// @cond internals
template <auto Function, class... Args>
void object::MovableExecutorTask<Function, Args...>::send(const Executor& executor, Rank to) {
  std::apply(
      [&](Args&... each) {
        executor.async<&MovableExecutorTask::receive>(to, priority, std::move(each)...);
      },
      arguments_);
}

template <auto Function, class... Args>
void object::MovableExecutorTask<Function, Args...>::receive(Executor& executor, int priority,
                                                             Args... args) {
  executor.accept(
      std::unique_ptr<ExecutorTask>(new MovableExecutorTask(priority, std::move(args)...)));
}
/// @endcond

}  // namespace shoal

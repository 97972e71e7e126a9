#pragma once
// Threads that run the functions of tasks written in other languages.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/env/env.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "env/alarm.hpp"

namespace shoal::edat_api {

/// A thread of the operating system that runs the function of one task at a time, while the task's
/// worker waits.
///
/// An interpreter keeps its state by thread, and may check where the stack of the thread ends.
/// Tasks that take turns on one worker, on stacks of their own, would mix that state up. So the
/// function stays on this thread, and the task makes its calls.
///
/// One of the two runs at any time: the task from in_task() on until the call has returned, the
/// thread otherwise. Both fields change hands with it; unpark() is a release, park() an acquire.
class TaskThread {
 public:
  /// Starts the thread. **Errors**: Error when the system refuses a thread.
  explicit TaskThread(env::Env& env);
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Runs the function on this thread. **Caller**: a task. **Blocks**: its worker, until the
  /// function returns; not while a call of it waits.
  void run(FunctionRef<void()> function);
  /// Lets the task make a call, which may park it and throws nothing. **Caller**: the function.
  void in_task(FunctionRef<void()> call);
  /// The one that the caller runs on; nullptr: another thread.
  static TaskThread* current();

 private:
  void run_functions();

  const std::unique_ptr<env::Parker> task_;  // on which the worker waits
  const std::unique_ptr<env::Parker> mine_;
  const FunctionRef<void()>* function_ = nullptr;  // nullptr while mine_ is unparked: the end
  const FunctionRef<void()>* call_ = nullptr;      // nullptr while task_ is unparked: it is done
  std::optional<env::Thread> thread_;              // the last member: it uses the others
};

/// The threads of a program: one for each function that has begun and not returned.
class TaskThreads {
 public:
  explicit TaskThreads(env::Env& env) : env_(env) {}
  /// Runs the function on the thread of the task, see TaskThread::run().
  void run(FunctionRef<void()> function);

 private:
  TaskThread& take();

  env::Env& env_;
  sync::Mutex mutex_;
  std::vector<std::unique_ptr<TaskThread>> all_ SHOAL_GUARDED_BY(mutex_);
  std::vector<TaskThread*> idle_ SHOAL_GUARDED_BY(mutex_);
};

/// Returns `call()`, made by the task that the calling thread runs for, if there is one.
template <class Call>
auto in_task_of_caller(const Call& call) {
  TaskThread* const thread = TaskThread::current();
  if (thread == nullptr) return call();
  using Result = decltype(call());
  if constexpr (std::is_void_v<Result>) {
    thread->in_task([&] { call(); });
  } else {
    std::optional<Result> result;
    thread->in_task([&] { result.emplace(call()); });
    return *std::move(result);
  }
}

}  // namespace shoal::edat_api

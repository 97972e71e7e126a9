#pragma once
// A task that calls a function.

#include <shoal/detail/sched/task.hpp>
#include <shoal/task_options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace shoal::sched {

/// Queues a task with these options, except for its name and retries, which it has. **Errors**:
/// CheckError for a worker that does not exist, and for a bound task without one.
void submit(Scheduler& scheduler, std::unique_ptr<Task> task, const TaskOptions& options);

template <class F>
consteval bool check_task_function() {
  static_assert(std::is_invocable_v<F&>,
                "shoal: the function of a task takes no parameters: let it capture what it needs");
  return std::is_invocable_v<F&>;
}

template <class F>
class FunctionTask : public Task {
 public:
  explicit FunctionTask(F function) : function_(std::move(function)) {}
  void run() override { function_(); }
  [[nodiscard]] std::string name() const override { return "task"; }

 private:
  F function_;
};

/// A task of type T that has a name of its own, for reports and traces.
template <class T>
class Named final : public T {
 public:
  template <class... Args>
  explicit Named(std::string name, Args&&... args)
      : T(std::forward<Args>(args)...), name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return name_; }

 private:
  const std::string name_;
};

/// Reports call it "task".
template <class F>
std::unique_ptr<Task> make_function_task(TaskScope& scope, F function) {
  std::unique_ptr<Task> task(new FunctionTask<F>(std::move(function)));
  task->scope = &scope;
  return task;
}
template <class F>
std::unique_ptr<Task> make_function_task(TaskScope& scope, std::string name, F function) {
  std::unique_ptr<Task> task(new Named<FunctionTask<F>>(std::move(name), std::move(function)));
  task->scope = &scope;
  return task;
}

}  // namespace shoal::sched

#pragma once
// A task that calls a function.

#include <shoal/sched/task.hpp>

#include <memory>
#include <string>
#include <utility>

namespace shoal::sched {

template <class F>
class FunctionTask final : public Task {
 public:
  FunctionTask(F function, std::string name)
      : function_(std::move(function)), name_(std::move(name)) {}
  void run() override { function_(); }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  F function_;
  std::string name_;
};

template <class F>
std::unique_ptr<Task> make_function_task(TaskScope& scope, std::string name, F function) {
  auto task = std::make_unique<FunctionTask<F>>(std::move(function), std::move(name));
  task->scope = &scope;
  return task;
}

}  // namespace shoal::sched

#pragma once
// A task that fulfils a promise.

#include <shoal/sched/future.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal::sched {

/// Fulfils its promise with what `function` returns or throws. What that has captured is gone
/// before: it may need what only who waits gives up.
template <class F>
class AsyncTask : public Task {
 public:
  using Result = std::invoke_result_t<F&>;

  /// Reports call it "task".
  AsyncTask(Scheduler& scheduler, TaskScope& in, F function)
      : AsyncTask(in, new ValueState<Result>(scheduler), std::move(function)) {}

  /// Once, before it is submitted.
  [[nodiscard]] Future<Result> future() {
    Future<Result> future = promise_.future();
    future.shared_state()->set_task(*this);
    return future;
  }
  void run() override {
    promise_.set_from([this]() -> Result {
      struct Gone {
        std::optional<F>& function;
        ~Gone() { function.reset(); }
      } const gone{function_};
      return (*function_)();
    });
  }
  [[nodiscard]] std::string name() const override { return "task"; }

 protected:
  AsyncTask(TaskScope& in, ValueState<Result>* state, F&& function)
      : promise_(state), function_(std::move(function)) {
    scope = &in;
  }

 private:
  Promise<Result> promise_;
  std::optional<F> function_;
};

template <class F>
class NamedAsyncTask final : public AsyncTask<F> {
 public:
  NamedAsyncTask(Scheduler& scheduler, TaskScope& in, const std::string& name, F function)
      : AsyncTask<F>(in, new ValueState<typename AsyncTask<F>::Result>(scheduler, name),
                     std::move(function)),
        name_(name) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return name_; }

 private:
  const std::string name_;
};

}  // namespace shoal::sched

#pragma once
// A task that fulfils a promise.

#include <shoal/future.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal::sched {

/// Fulfils its promise with the result or exception of `function`. Destroys the captures before
/// fulfilling the promise: a capture's destructor may need a lock that the waiter holds.
template <class F>
class AsyncTask : public Task {
 public:
  using Result = std::invoke_result_t<F&>;
  static_assert(!refers_v<Result>,
                "shoal: the result of a task outlives the function: return a value that owns its "
                "elements, not a view or a reference");

  /// Reports call it "task".
  AsyncTask(Scheduler& scheduler, TaskScope& in, F function)
      : AsyncTask(in, new CompletionOf<Result>(scheduler), std::move(function)) {}
  /// Its future is called `name` in reports; see Named for the task.
  AsyncTask(Scheduler& scheduler, TaskScope& in, const std::string& name, F function)
      : AsyncTask(in, new CompletionOf<Result>(scheduler, name), std::move(function)) {}

  /// Once, before it is submitted.
  [[nodiscard]] Future<Result> future() {
    Future<Result> future = promise_.future();
    FutureAccess::completion(future)->set_task(*this);
    return future;
  }
  void run() override {
    promise_.set_from([this]() -> Result {
      struct Reset {
        std::optional<F>& function;
        ~Reset() { function.reset(); }
      } const reset{function_};
      return (*function_)();
    });
  }
  [[nodiscard]] std::string name() const override { return "task"; }
  bool begin_recorded() override {
    promise_.state_->set_trace_id(trace_id);
    return false;
  }

 private:
  AsyncTask(TaskScope& in, CompletionOf<Result>* state, F&& function)
      : promise_(state), function_(std::move(function)) {
    scope = &in;
  }

  Promise<Result> promise_;
  std::optional<F> function_;
};

}  // namespace shoal::sched

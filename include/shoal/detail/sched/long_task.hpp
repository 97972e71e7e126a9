#pragma once
// Calls of a task that does much work in pieces and shares it with other workers.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/task.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal::sched {

/// Lets the calling worker handle messages and timers that are due, between two pieces of the work
/// of its task. In simulated worlds the worker's step ends here, so that others continue.
/// **Caller**: a task or the main function. **Blocks**: never. **Cost**: a few nanoseconds.
void between_pieces();

/// Destroys the newest task of the calling worker's deque in place of running it, if `is_it(task)`.
/// **Caller**: a task that submitted it, and knows that nothing is left for it to do.
void drop_newest(FunctionRef<bool(const Task&)> is_it);

/// Shows a task in traces from now on that was submitted with the id trace::kHiddenTask: made ready
/// by the task `cause`, with `key` as its key. **Caller**: the task.
void show_in_trace(Task& task, std::uint64_t cause, std::string_view key) noexcept;

/// A call of the running task that runs code of the program and may wait: an interval in traces,
/// under its name, from construction to destruction, and named in reports by the waits of the task
/// meanwhile. Calls nest. **Caller**: a task or the main function, on its stack; elsewhere it does
/// nothing.
class LongCall {
 public:
  /// `call`: the function that the program has called. `name`: by the program, or empty; both last
  /// as long as this.
  LongCall(const char* call, std::string_view name) noexcept;
  ~LongCall();
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

  /// Text for reports: "parallel_for 'sweep'". **Caller**: any thread, while the task is parked.
  [[nodiscard]] std::string describe() const;

 private:
  const char* const call_;
  const std::string_view name_;
  const LongCall* outer_ = nullptr;
  std::uint64_t span_ = 0;  // in the recording; 0: none
  bool is_known_ = false;   // to the stack of its task
};

}  // namespace shoal::sched

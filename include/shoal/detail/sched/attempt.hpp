#pragma once
// Attempts of tasks that run again when they have thrown.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sched/task.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::sched {

/// Effect of an attempt that is withheld. Its destructor drops it, unless it was released.
class Effect {
 public:
  Effect() = default;
  virtual ~Effect() = default;
  Effect(const Effect&) = delete;
  Effect& operator=(const Effect&) = delete;
  /// Called by the task after the attempt has succeeded, once. May wait.
  virtual void release() = 0;
};

/// One run of a task that may run again (docs/design/retries.md). Tasks, messages and other effects
/// are withheld until it has returned, and dropped if it throws. To everything else it is like a
/// handler: a call that waits is refused, so it begins and ends on one thread.
class Attempt {
 public:
  /// Number `number`, from 1, of `count` at most.
  Attempt(Task& task, int number, int count);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  [[nodiscard]] Task& task() const { return task_; }
  /// Runs the body; returns its exception, or that of a call that was refused in it.
  [[nodiscard]] std::exception_ptr run(FunctionRef<void()> body);
  /// Lets the withheld effects happen: messages first, since a task that starts may send others
  /// behind them, then all others in their order.
  void release();

  // --- called by the body

  /// Withholds `effect`, a function void().
  template <class F>
  void withhold(F effect) {
    effects_.push_back(std::make_unique<EffectOf<F>>(std::move(effect)));
  }
  /// The withheld messages, an object of the layer that sends them; nullptr: there are none yet.
  [[nodiscard]] Effect* messages() const { return messages_.get(); }
  void set_messages(std::unique_ptr<Effect> messages) { messages_ = std::move(messages); }
  /// Refuses something that cannot be withheld. The attempt fails even if its body catches the
  /// error. **Errors**: CheckError.
  [[noreturn]] void refuse(std::string_view what);

 private:
  template <class F>
  class EffectOf final : public Effect {
   public:
    explicit EffectOf(F effect) : effect_(std::move(effect)) {}
    void release() override { effect_(); }

   private:
    F effect_;
  };

  Task& task_;
  const std::string name_;
  std::exception_ptr refused_;
  std::unique_ptr<Effect> messages_;
  std::vector<std::unique_ptr<Effect>> effects_;
};

/// Returns the attempt that the calling worker runs, or nullptr.
[[nodiscard]] Attempt* find_attempt();
/// Returns the attempt that the caller is part of, or nullptr: then it costs no call.
[[nodiscard]] __attribute__((no_sanitize("thread"))) inline Attempt* current_attempt() {
  return t_handlers != 0 ? find_attempt() : nullptr;
}
/// Refuses `what`, which cannot be withheld, in an attempt. **Errors**: CheckError.
inline void refuse_in_attempt(const char* what) {
  if (Attempt* const attempt = current_attempt()) [[unlikely]]
    attempt->refuse(what);
}

/// Runs `body`, the body of the calling task, until it has returned, and again at most `retries`
/// times after it has thrown. **Errors**: RetryError after the last one; the exception of the body
/// if it is not to be tried again: CheckError, a cancellation, or any in a scope that has failed.
void run_attempts(int retries, FunctionRef<void()> body);
/// Refuses a negative number of retries. **Errors**: CheckError.
void check_retries(int retries, const std::string& task);
/// Refuses a function that may not run twice. **Errors**: CheckError.
[[noreturn]] void refuse_function(const std::string& task);

/// Whether each call of the function can begin with the same captures: it does not change them, or
/// it can be copied.
template <class F, class... Args>
inline constexpr bool may_repeat_v =
    std::is_invocable_v<const F&, Args...> || std::is_copy_constructible_v<F>;

/// Calls the function with the captures that it was made with: those of a `mutable` one are copied.
template <class F, class... Args>
  requires may_repeat_v<F, Args...>
decltype(auto) call_afresh(const F& function, Args&&... args) {
  if constexpr (std::is_invocable_v<const F&, Args...>) {
    return function(std::forward<Args>(args)...);
  } else {
    F copy(function);
    return copy(std::forward<Args>(args)...);
  }
}

/// Function of a task that runs in attempts.
template <class F>
class Retried {
 public:
  using Result = std::invoke_result_t<F&>;

  Retried(F function, int retries, const std::string& task)
      : function_(std::move(function)), retries_(retries) {
    check_retries(retries, task);
    if constexpr (!may_repeat_v<F>) refuse_function(task);
  }
  Result operator()() {
    if constexpr (!may_repeat_v<F>) {
      return function_();  // refused before
    } else if constexpr (std::is_void_v<Result>) {
      run_attempts(retries_, [this] { call_afresh(function_); });
    } else {
      std::optional<Result> result;
      run_attempts(retries_, [this, &result] { result.emplace(call_afresh(function_)); });
      return std::move(*result);
    }
  }

 private:
  F function_;
  int retries_;
};

}  // namespace shoal::sched

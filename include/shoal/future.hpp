#pragma once
// Values that are still to come.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/number.hpp>
#include <shoal/detail/sched/completion.hpp>
#include <shoal/detail/sched/function_task.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

template <class T>
class Future;
template <class T>
class Promise;
template <class T>
class SharedFuture;

/// The promise behind a future was destroyed before it was fulfilled.
class BrokenPromise : public Error {
 public:
  using Error::Error;
};

/// Error of a future that will not be fulfilled, since the team that was to do so has failed.
class GivenUpError : public TaskError {
 public:
  /// `failure`: the error of the team, which the team reports as well.
  explicit GivenUpError(const TaskError& failure) : TaskError(failure) {}
};

namespace sched {

/// Task that resumes a coroutine, and destroys it if the task is dropped.
class CoroutineTask final : public Task {
 public:
  CoroutineTask(TaskScope& in, std::coroutine_handle<> handle) : handle_(handle) { scope = &in; }
  ~CoroutineTask() override {
    if (handle_) handle_.destroy();
  }
  void run() override { std::exchange(handle_, nullptr).resume(); }
  [[nodiscard]] std::string name() const override { return "a coroutine"; }

 private:
  std::coroutine_handle<> handle_;
};

/// Parts of futures and transfers that operations on all of them use.
struct FutureAccess {
  /// Returns the completion of `source`; nullptr if it is complete without an error. **Errors**:
  /// CheckError if `source` refers to no value.
  template <class Source>
  static Completion* completion(const Source& source)
    requires requires { source.is_ready(); }
  {
    return source.completion();
  }
  /// Takes the value, which is there, or throws the exception.
  template <class Source>
  static decltype(auto) take(Source& source) {
    return source.take();
  }
  /// Moves the state out of a future.
  template <class T>
  static ValueRef<T> detach(Future<T>& future) {
    return ValueRef<T>(future.detach());
  }
};

/// Lets a coroutine wait for a future, and then get its value.
template <class Source, class Result>
struct Awaiter {
  Source source;
  [[nodiscard]] bool await_ready() const {
    const Completion* const state = FutureAccess::completion(source);
    return state == nullptr || state->is_ready();
  }
  // The coroutine, and this in it, may be gone before it returns.
  void await_suspend(std::coroutine_handle<> handle) const {
    Completion& state = *FutureAccess::completion(source);
    TaskScope& scope = current_scope(state.scheduler());
    submit_after(state, std::make_unique<CoroutineTask>(scope, handle));
  }
  Result await_resume() { return FutureAccess::take(source); }
};

template <class T>
struct CoroutinePromise;
template <class T>
struct CoroutinePromiseBase;
template <class F>
class AsyncTask;
class AnyPromise;

}  // namespace sched

/// The receiving end of a value that is still to come. Movable; it has one owner, which takes the
/// value. share() makes a SharedFuture of it, for several.
///
/// **Errors**: an exception that the promise was given, and that nobody has taken when the last
/// future of it is gone, fails the team of the task or handler that drops the future, or that gives
/// the exception if the future was dropped before; on a thread of the program it is written to
/// standard error. get(), then(), co_await and when_all() take it. It need not be taken when the
/// future is dropped while another exception unwinds the stack, when the team has failed, for the
/// end of a task by CancelledError, and for a BrokenPromise. A future that outlives run() may be
/// read; an error that nobody has taken before run() returns is written then, and the exit code of
/// the run is at least 1.
///
/// A function that returns a Future may be a coroutine: it starts at once in its caller, and the
/// code after a co_await of a future that is not ready runs as a task of its own.
template <class T>
class [[nodiscard]] Future {
 public:
  /// Type of the value.
  using value_type = T;
  /// Makes functions that return a Future coroutines.
  using promise_type = sched::CoroutinePromise<T>;

  /// Makes a future without a value to come.
  Future() = default;
  Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Gives up the value that it replaces.
  Future& operator=(Future&& other) noexcept {
    if (this != &other) {
      release();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~Future() { release(); }
  Future(const Future& other) = delete;  // get() moves the value out: use share() for several
  Future& operator=(const Future& other) = delete;  // use share()

  /// Whether a value is still to come, or to be taken.
  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  /// Returns whether get() would return at once. **Caller**: any thread. **Blocks**: never.
  [[nodiscard]] bool is_ready() const { return state().is_ready() || sched::poll_missed(); }

  /// Waits for the value or the exception.
  /// **Caller**: a task, the main function, a thread of the program. **Blocks**: parks the task;
  /// its worker goes on. **Errors**: CheckError in a handler, even if the value is there, and for a
  /// future without a value to come; as sched::wait_for().
  void wait() const { state().wait(); }
  /// Waits for the value or the exception, at most for `delay`, a std::chrono::duration: virtual
  /// time in the simulator. It takes nothing: get() still returns the value, also if that comes
  /// after the deadline. **Caller**, **Blocks**, **Errors**: as wait(); the caller counts as
  /// running, as in sleep_for().
  template <sched::Duration D>
  [[nodiscard]] FutureStatus wait_for(D delay) const {
    return state().wait_until(delay);
  }
  /// Waits for the value or the exception, at most until `time`, a std::chrono::time_point or a
  /// time of Team::now_ns(). See wait_for().
  template <sched::Deadline D>
  [[nodiscard]] FutureStatus wait_until(D time) const {
    return state().wait_until(time);
  }
  /// Waits for the value and returns it, or throws the exception that the promise was given.
  /// Afterwards the future is not valid. **Caller**, **Blocks**, **Errors**: as wait().
  T get() {
    wait();
    return take();
  }

  /// Runs f(value), or f() for void, as a task once the value is there; returns the future of its
  /// result. If the promise was given an exception, f does not run, and that future gets the
  /// exception. Afterwards this future is not valid. **Blocks**: never. If the value never comes,
  /// StuckError names `name`.
  template <class F>
  auto then(F f, std::string name = "a continuation");

  /// Makes a future that can be copied, and read many times, of this one, which is not valid
  /// afterwards. **Errors**: CheckError without a value to come.
  [[nodiscard]] SharedFuture<T> share() &&;

  /// Suspends a coroutine until the value is there, and returns the value or throws the exception
  /// as get() does. The code after it may run as another task, unless the value is there already.
  /// So nothing that belongs to a task lasts across it: no Mutex that is locked, no named lock of
  /// Events, no TaskGroup, and no membership in one (is_cancelled()).
  [[nodiscard]] auto operator co_await() && {
    static_cast<void>(state());
    return sched::Awaiter<Future, T>{std::move(*this)};
  }
  /// Suspends a coroutine until the value of a named future is there, and returns the value or
  /// throws the exception. Afterwards the future is not valid. See co_await of a temporary.
  [[nodiscard]] auto operator co_await() & { return std::move(*this).operator co_await(); }

  /// @cond internals
  /// Returns the shared state, for code that is built on futures. **Errors**: CheckError without a
  /// value to come.
  [[nodiscard]] sched::ValueRef<T> shared_state() const {
    add_reference(static_cast<sched::Completion*>(&state()));
    return sched::ValueRef<T>(state_);
  }
  /// @endcond

 private:
  friend class Promise<T>;
  friend class sched::CompletionOf<T>;
  friend struct sched::FutureAccess;
  using State = sched::CompletionOf<T>;
  /// Takes over a reference that was counted already.
  explicit Future(State* state) : state_(state) {}
  State& state() const {
    if (state_ == nullptr) sched::refuse_future("it has no value to come, or it was taken already");
    return *state_;
  }
  [[nodiscard]] sched::Completion* completion() const { return &state(); }
  void release() noexcept {
    if (state_ != nullptr) remove_future(static_cast<sched::Completion*>(state_));
  }
  /// Moves the state out, with its reference.
  State* detach() {
    static_cast<void>(state());
    return std::exchange(state_, nullptr);
  }
  /// Takes the value, which is there, or throws the exception.
  T take() {
    const sched::ValueRef<T> state(std::exchange(state_, nullptr));
    state->rethrow_error();
    if constexpr (!std::is_void_v<T>) return std::move(*state->value);
  }

  State* state_ = nullptr;  // with a reference
};

/// The sending end of a value that is still to come: any thread or task fulfils it, once. Movable.
/// If it is destroyed unfulfilled, the future gets a BrokenPromise.
template <class T>
class Promise {
 public:
  /// Type of the value.
  using value_type = T;

  /// Makes a promise on the caller's rank. **Caller**: a task, handler or main function; other
  /// threads give a team. Error reports call a promise without a name by the type of its value:
  /// "promise of int".
  explicit Promise(std::string name = {})
      : Promise(sched::current_scheduler("a promise"), std::move(name)) {}
  /// Makes a promise on the rank of a team: `Promise<int> promise(world)`. **Caller**: any thread.
  explicit Promise(const sched::OnRank& team, std::string name = {})
      : Promise(new State(team.scheduler(), std::move(name))) {}
  /// @cond internals
  /// Makes a promise on the rank of a team, with a name that lives as long as the program and is
  /// not copied. **Caller**: any thread.
  Promise(const sched::OnRank& team, sched::StaticName name)
      : Promise(new State(team.scheduler(), name)) {}
  /// @endcond
  ~Promise() { break_off(); }
  Promise(Promise&& other) noexcept = default;
  /// Breaks the promise that it replaces.
  Promise& operator=(Promise&& other) noexcept {
    if (this != &other) {
      break_off();
      state_ = std::move(other.state_);
      future_taken_ = other.future_taken_;
      fulfilled_ = other.fulfilled_;
    }
    return *this;
  }

  /// Returns the future of the promise; called once, before or after it is fulfilled. **Errors**:
  /// CheckError the second time.
  [[nodiscard]] Future<T> future() {
    check(!future_taken_ && state_ != nullptr, "its future was taken already");
    future_taken_ = true;
    if (fulfilled_) return Future<T>(state_.detach());
    state_->add_second();
    return Future<T>(state_.get());
  }

  /// Fulfils the promise: waiters continue. **Caller**: any thread, task or handler; a thread of
  /// the program holds a Hold. **Blocks**: never. **Errors**: CheckError the second time, and in a
  /// task with retries: let it return the value, from async() or by Team::fulfill().
  /// **Ordering**: writes before it are visible to all that get the value.
  template <class... Args>
  void set_value(Args&&... args) {
    check_may_fulfil();
    keep(std::forward<Args>(args)...);
    finish();
  }
  /// Fulfils the promise with an exception. **Caller**, **Blocks**, **Errors**, **Ordering**: as
  /// set_value().
  void set_exception(std::exception_ptr error) {
    check_may_fulfil();
    static_cast<void>(fresh());
    finish(std::move(error));
  }
  /// Calls f(), and fulfils the promise with the value that it returns or the exception that it
  /// throws. **Errors**: CheckError if the promise was fulfilled before.
  template <class F>
  void set_from(F&& f) {
    std::exception_ptr error;
    try {
      if constexpr (std::is_void_v<T>) {
        std::forward<F>(f)();
        set_value();
      } else {
        set_value(std::forward<F>(f)());
      }
      return;
    } catch (...) {
      if (fulfilled_) throw;
      error = sched::caught_error();
    }
    // Behind the catch clause, which owns the exception as well.
    set_exception(std::move(error));
  }

 private:
  template <class>
  friend struct sched::CoroutinePromiseBase;
  template <class>
  friend class sched::AsyncTask;
  friend class sched::AnyPromise;
  using State = sched::CompletionOf<T>;
  explicit Promise(State* state, bool taken = false) : state_(state), future_taken_(taken) {}
  void check(bool good, const char* what) const {
    if (!good) sched::refuse_promise(state_.get(), what);
  }
  void check_may_fulfil() const {
    if (sched::t_handlers != 0) [[unlikely]]
      sched::check_may_fulfil(state_.get());
  }
  State* fresh() const {
    check(state_ != nullptr && !fulfilled_, "it was fulfilled already");
    return state_.get();
  }
  template <class... Args>
  void keep(Args&&... args) {
    static_assert(!(loses_fraction_v<Args, T> || ...),
                  "shoal: a floating-point value for the promise of an integer would lose its "
                  "fraction: convert it, or promise a floating-point number");
    (check_number(args), ...);
    fresh()->value.emplace(std::forward<Args>(args)...);
  }
  template <class Value>
  void check_number(const Value& value) const {
    if constexpr (may_cut_v<Value, T>) {
      check(holds<T>(value),
            "the value is too large for its type: promise a larger one, or convert the value where "
            "its upper bits may go");
    }
  }
  // A woken task may destroy the promise: complete() is the last access to its state.
  void finish(std::exception_ptr error) {
    fulfilled_ = true;
    State* const state = future_taken_ ? state_.detach() : state_.get();
    state->complete(std::move(error), future_taken_);
  }
  void finish() {
    fulfilled_ = true;
    State* const state = future_taken_ ? state_.detach() : state_.get();
    state->complete(future_taken_);
  }
  void break_off() {
    if (state_ != nullptr && !fulfilled_) finish(sched::broken_promise(*state_));
  }

  sched::ValueRef<T> state_;  // nullptr: fulfilled, and the future was taken
  bool future_taken_ = false;
  bool fulfilled_ = false;
};

namespace sched {

/// A promise without its type, whose future has been taken, for tables of promises. Destroying it
/// breaks the promise.
class AnyPromise {
 public:
  AnyPromise() = default;
  /// **Errors**: CheckError if it was fulfilled already.
  template <class T>
  explicit AnyPromise(Promise<T>&& promise) : state_(promise.fresh()) {
    if (!promise.future_taken_) static_cast<void>(promise.future());
    static_cast<void>(promise.state_.detach());
  }
  ~AnyPromise();
  AnyPromise(AnyPromise&&) noexcept = default;
  /// **Precondition**: this is empty.
  AnyPromise& operator=(AnyPromise&&) noexcept = default;

  /// Returns whether there is a promise.
  [[nodiscard]] explicit operator bool() const { return state_ != nullptr; }
  /// Returns the promise with its type. **Precondition**: it was made from one of this type.
  template <class T>
  [[nodiscard]] Promise<T> as() && {
    return Promise<T>(static_cast<CompletionOf<T>*>(state_.detach()), true);
  }
  /// Fulfils the promise with an exception, see Promise::set_exception(). **Precondition**: there
  /// is a promise.
  void fail(std::exception_ptr error);

 private:
  sync::Ref<Completion> state_;
};

template <class T>
struct CoroutinePromiseBase {
  static_assert(!refers_v<T>,
                "shoal: the result of a coroutine outlives its variables: return a value that owns "
                "its elements, not a view or a reference");
  /// Ends the coroutine, and only then wakes its waiters: its variables may refer to objects of the
  /// waiters.
  struct Last {
    static bool await_ready() noexcept { return false; }
    template <class P>
    static void await_suspend(std::coroutine_handle<P> handle) noexcept {
      Promise<T> promise = std::move(handle.promise().promise);
      std::exception_ptr error = std::move(handle.promise().error);
      handle.destroy();
      promise.finish(std::move(error));
    }
    static void await_resume() noexcept {}
  };

  Promise<T> promise{std::string("a coroutine")};
  std::exception_ptr error;

  Future<T> get_return_object() { return promise.future(); }
  static std::suspend_never initial_suspend() noexcept { return {}; }
  static Last final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = caught_error(); }

 protected:
  template <class... Args>
  void keep(Args&&... args) {
    promise.keep(std::forward<Args>(args)...);
  }
};
template <class T>
struct CoroutinePromise : CoroutinePromiseBase<T> {
  template <class Value>
  void return_value(Value&& value) {
    this->keep(std::forward<Value>(value));
  }
};
template <>
struct CoroutinePromise<void> : CoroutinePromiseBase<void> {
  void return_void() { keep(); }
};

/// Result of f(argument), or f() for void.
template <class Argument, class F>
struct ThenResult {
  using type = std::invoke_result_t<F&, Argument>;
};
template <class Argument, class F>
  requires std::is_void_v<Argument>
struct ThenResult<Argument, F> {
  using type = std::invoke_result_t<F&>;
};

/// Runs f(value), or f() for void, as a task once the value of `source` is there; returns the
/// future of the result.
template <class Source, class F>
auto run_after(Source source, F f, std::string name) {
  using Argument = decltype(FutureAccess::take(source));
  using Result = typename ThenResult<Argument, F>::type;
  static_assert(!refers_v<Result>,
                "shoal: the result of a continuation outlives the function: return a value that "
                "owns its elements, not a view or a reference");
  Completion* const awaited = FutureAccess::completion(source);
  Scheduler& scheduler = awaited != nullptr ? awaited->scheduler() : current_scheduler("then()");
  Promise<Result> promise(scheduler, name);
  Future<Result> result = promise.future();
  // `source` ends before what `f` has captured, into which it may still write.
  auto run = [promise = std::move(promise), f = std::move(f),
              source = std::move(source)]() mutable {
    Completion* const state = FutureAccess::completion(source);
    std::exception_ptr error = state != nullptr ? state->take_error() : nullptr;
    if (error != nullptr) {
      promise.set_exception(std::move(error));
    } else if constexpr (std::is_void_v<Argument>) {
      FutureAccess::take(source);
      promise.set_from(f);
    } else {
      promise.set_from([&]() -> Result { return f(FutureAccess::take(source)); });
    }
  };
  auto task = make_function_task(current_scope(scheduler), std::move(name), std::move(run));
  if (awaited != nullptr) {
    submit_after(*awaited, std::move(task));
  } else {
    scheduler.submit(std::move(task));
  }
  return result;
}

template <class T>
Future<T> CompletionOf<T>::make_future() {
  add_reference(static_cast<Completion*>(this));
  return Future<T>(this);
}

}  // namespace sched

template <class T>
template <class F>
auto Future<T>::then(F f, std::string name) {
  static_cast<void>(state());
  return sched::run_after(std::move(*this), std::move(f), std::move(name));
}

}  // namespace shoal

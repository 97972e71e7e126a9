#pragma once
// Values that are still to come, for several readers.

#include <shoal/future.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

/// Receiving end of a value that is still to come, for several readers:
/// `std::move(future).share()`. Copyable; the value lives until the last copy is destroyed.
/// **Caller**: each copy has one owner; copies may be used on several threads at once.
template <class T>
class [[nodiscard]] SharedFuture {
 public:
  /// Type of the value.
  using value_type = T;

  /// Makes a future without a value to come.
  SharedFuture() = default;
  /// Takes over the value of a Future, which is not valid afterwards. **Errors**: CheckError
  /// without a value to come.
  SharedFuture(Future<T>&& future)  // NOLINT(google-explicit-constructor): as std::shared_future
      : state_(sched::FutureAccess::detach(future)) {}

  /// Returns whether there is a value, now or to come.
  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  /// Returns whether get() would return at once. **Caller**: any thread. **Blocks**: never.
  [[nodiscard]] bool is_ready() const { return state().is_ready() || sched::poll_missed(); }

  /// Waits for the value or the exception; any number of tasks may wait. **Caller**, **Blocks**,
  /// **Errors**: as Future::wait().
  void wait() const { state().wait(); }
  /// Waits for the value or the exception, at most for `delay`, a std::chrono::duration. See
  /// Future::wait_for().
  template <sched::Duration D>
  [[nodiscard]] FutureStatus wait_for(D delay) const {
    return state().wait_until(delay);
  }
  /// Waits for the value or the exception, at most until `time`, a std::chrono::time_point or a
  /// time of Team::now_ns(). See Future::wait_for().
  template <sched::Deadline D>
  [[nodiscard]] FutureStatus wait_until(D time) const {
    return state().wait_until(time);
  }
  /// Waits for the value and returns a reference to it, or throws the exception that the promise
  /// was given, at each call. **Caller**, **Blocks**, **Errors**: as Future::wait(). **Lifetime**:
  /// the reference is valid as long as a copy of this future exists.
  std::add_lvalue_reference_t<const T> get() const& {
    wait();
    return take();
  }
  /// Waits for the value and returns a copy of it, for a temporary future, with which the value may
  /// end; or throws the exception. **Caller**, **Blocks**, **Errors**: as Future::wait().
  T get() const&& {
    constexpr bool can_copy = std::is_void_v<T> || std::is_copy_constructible_v<T>;
    static_assert(can_copy,
                  "shoal: get() of a temporary SharedFuture copies the value: name the future");
    if constexpr (can_copy) return static_cast<T>(std::as_const(*this).get());
  }

  /// Runs f(const value&), or f() for void, as a task once the value is there; returns the future
  /// of its result, and does not block. This future stays valid, and takes any number of
  /// continuations. Exceptions are passed on as by Future::then().
  template <class F>
  auto then(F f, std::string name = "a continuation") const {
    static_cast<void>(state());
    return sched::run_after(*this, std::move(f), std::move(name));
  }

  /// Suspends a coroutine until the value is there, and returns a reference to it or throws the
  /// exception, as get() does. See Future about objects that must not last across a co_await.
  [[nodiscard]] auto operator co_await() const& {
    static_cast<void>(state());
    return sched::Awaiter<SharedFuture, std::add_lvalue_reference_t<const T>>{*this};
  }
  /// Suspends a coroutine until the value of a temporary future is there, and returns a copy of it
  /// or throws the exception.
  [[nodiscard]] auto operator co_await() && {
    static_cast<void>(state());
    return sched::Awaiter<SharedFuture, T>{std::move(*this)};
  }

  /// @cond internals
  /// Returns the shared state, for code that is built on futures. **Errors**: CheckError without a
  /// value to come.
  [[nodiscard]] const sched::ValueRef<T>& shared_state() const {
    static_cast<void>(state());
    return state_;
  }
  /// @endcond

 private:
  friend struct sched::FutureAccess;

  [[nodiscard]] sched::Completion* completion() const { return &state(); }
  sched::CompletionOf<T>& state() const {
    if (state_ == nullptr) sched::refuse_future("it has no value to come");
    return *state_;
  }
  /// Returns the value, which is there, or throws the exception.
  std::add_lvalue_reference_t<const T> take() const {
    state_->rethrow_error();
    if constexpr (!std::is_void_v<T>) return *state_->value;
  }

  sched::ValueRef<T> state_;
};

template <class T>
SharedFuture<T> Future<T>::share() && {
  return SharedFuture<T>(std::move(*this));
}

}  // namespace shoal

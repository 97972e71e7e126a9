#pragma once
// Values that are still to come, for several readers.

#include <shoal/future.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

/// A value that is still to come, and that several read: `std::move(future).share()`. Copyable; the
/// value lives until its last copy is gone. **Caller**: each copy has one owner; copies may be used
/// on several threads at once.
template <class T>
class [[nodiscard]] SharedFuture {
 public:
  /// Type of the value.
  using value_type = T;

  /// Has no value to come.
  SharedFuture() = default;
  /// Takes over what the future waits for. **Errors**: CheckError without a value to come.
  SharedFuture(Future<T>&& future)  // NOLINT(google-explicit-constructor): as std::shared_future
      : state_(future.shared_state()) {
    future = Future<T>();
  }

  /// Whether there is a value, now or to come.
  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  /// get() would not wait. Any thread.
  [[nodiscard]] bool is_ready() const { return state().is_ready() || sched::poll_missed(); }

  /// As Future::wait(), for any number of waiters.
  void wait() const {
    if (!state().is_ready()) return state_->await();
    if (sched::in_handler()) [[unlikely]]
      sched::refuse_in_handler(state_->describe());
  }
  /// The same, and returns the value, or throws the error that the promise was given, each time.
  /// **Lifetime**: of the reference: as long as a copy of this future exists.
  std::add_lvalue_reference_t<const T> get() const& {
    wait();
    return take();
  }
  /// The same for a temporary, whose value may end with it: returns a copy of the value.
  T get() const&& {
    constexpr bool can_copy = std::is_void_v<T> || std::is_copy_constructible_v<T>;
    static_assert(can_copy,
                  "shoal: get() of a temporary SharedFuture copies the value: name the future");
    if constexpr (can_copy) return static_cast<T>(std::as_const(*this).get());
  }

  /// Runs f(const value&), or f() for void, as a task once the value is there; else as
  /// Future::then(). This future stays valid, and takes any number of continuations.
  template <class F>
  auto then(F f, std::string name = "a continuation") const {
    return sched::run_after<std::add_lvalue_reference_t<const T>>(shared_state(), std::move(f),
                                                                  std::move(name));
  }

  /// In a coroutine: as Future's, and then as get().
  [[nodiscard]] auto operator co_await() const& {
    static_cast<void>(state());
    return sched::Awaiter<SharedFuture, std::add_lvalue_reference_t<const T>>{*this};
  }
  /// The same for a temporary: gives a copy of the value.
  [[nodiscard]] auto operator co_await() && {
    static_cast<void>(state());
    return sched::Awaiter<SharedFuture, T>{std::move(*this)};
  }

  /// For what is built on futures. **Errors**: CheckError without a value to come.
  [[nodiscard]] const sched::ValueRef<T>& shared_state() const {
    static_cast<void>(state());
    return state_;
  }

 private:
  template <class, class>
  friend struct sched::Awaiter;

  sched::ValueState<T>& state() const {
    if (state_ == nullptr) sched::refuse_future("it has no value to come");
    return *state_;
  }
  /// get() of a value that is there.
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

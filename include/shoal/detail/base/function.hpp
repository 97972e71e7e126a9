#pragma once
// Functions of the program, kept or passed on without their type. The public headers use these in
// place of std::function, since <functional> would double what a program has to compile.

#include <shoal/detail/base/number.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace shoal {

/// `F` can be called with arguments of types Args, and its result converts to R (any result, if R
/// is void) without the loss of a fraction.
template <class F, class R, class... Args>
concept CallableAs = std::is_invocable_r_v<R, F&, Args...> &&
                     !loses_fraction_v<std::invoke_result_t<F&, Args...>, R>;

template <class Signature>
class Function;

/// A copy of a callable object, or empty.
/// **Errors**: an empty one that is called ends the program. **Cost**: one indirect call; one
/// allocation to make it.
template <class R, class... Args>
class Function<R(Args...)> {
 public:
  Function() = default;
  /// Empty.
  Function(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): as std::function
  /// Empty if `f` is a null pointer or an empty function object.
  template <class F>
    requires(!std::same_as<F, Function> && CallableAs<F, R, Args...>)
  Function(F f) {  // NOLINT(google-explicit-constructor): as std::function
    if constexpr (requires { f == nullptr; }) {
      if (f == nullptr) return;
    }
    object_ = new F(std::move(f));
    call_ = &call<F>;
    manage_ = &manage<F>;
  }
  ~Function() {
    if (object_ != nullptr) manage_(object_, Action::destroy);
  }
  /// Copies the callable object.
  Function(const Function& other)
      : object_(other.object_ == nullptr ? nullptr : other.manage_(other.object_, Action::copy)),
        call_(other.call_),
        manage_(other.manage_) {}
  /// Leaves `other` empty.
  Function(Function&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        call_(std::exchange(other.call_, &call_none)),
        manage_(other.manage_) {}
  /// Replaces the callable object.
  Function& operator=(Function other) noexcept {
    std::swap(object_, other.object_);
    std::swap(call_, other.call_);
    std::swap(manage_, other.manage_);
    return *this;
  }

  /// Returns whether there is a callable object.
  explicit operator bool() const { return object_ != nullptr; }
  /// Calls the object.
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  enum class Action { copy, destroy };

  template <class F>
  static R call(void* object, Args... args) {
    if constexpr (std::is_void_v<R>) {
      static_cast<void>((*static_cast<F*>(object))(std::forward<Args>(args)...));
    } else {
      return (*static_cast<F*>(object))(std::forward<Args>(args)...);
    }
  }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the signature of call()
  [[noreturn]] static R call_none(void* /*object*/, Args... /*args*/) { std::terminate(); }
  template <class F>
  static void* manage(void* object, Action action) {
    if (action == Action::copy) return new F(*static_cast<F*>(object));
    delete static_cast<F*>(object);
    return nullptr;
  }

  void* object_ = nullptr;  // its type is known to the other two
  R (*call_)(void* object, Args... args) = &call_none;
  void* (*manage_)(void* object, Action action) = nullptr;
};

template <class Signature>
class FunctionRef;

/// A callable object of the caller, for the time of a call. **Lifetime**: it outlives this.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  /// Refers to `f`.
  template <class F>
    requires(!std::same_as<F, FunctionRef> && CallableAs<const F, R, Args...>)
  FunctionRef(const F& f)  // NOLINT(google-explicit-constructor): made for an argument
      : object_(std::addressof(f)), call_([](const void* object, Args... args) -> R {
          return static_cast<R>((*static_cast<const F*>(object))(std::forward<Args>(args)...));
        }) {}

  /// Calls the object.
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  const void* object_;
  R (*call_)(const void* object, Args... args);
};

}  // namespace shoal

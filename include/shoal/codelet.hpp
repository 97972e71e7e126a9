#pragma once
// Codelets: functions of tasks of one kind.

#include <shoal/compute.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/detail/base/number.hpp>
#include <shoal/detail/base/signature.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

namespace flow {

/// Properties of a codelet that do not depend on its parameters.
struct CodeletCore {
  explicit CodeletCore(std::string text);

  const std::string name;
  const std::uint64_t hash;
  int priority = 0;
  bool memory_bound = false;
  std::uint32_t colour = 0;    // 0xRRGGBB, for pictures; 0: chosen by the viewer
  std::source_location place;  // of its definition
  // The flow that knows that it keeps the codelet. relaxed: a flow that finds another one here
  // looks it up.
  std::atomic<const void*> keeper{nullptr};
};

/// A codelet with parameters Ps...
template <class... Ps>
struct TypedCodelet : CodeletCore {
  using CodeletCore::CodeletCore;

  void call(Ps... parameters) const {
    if (cost && sched::costs_count()) [[unlikely]] {
      if (!sched::spend(cost(parameters...))) return;
    }
    const std::size_t which = choose ? choose(parameters...) : 0;
    SHOAL_CHECK(which < implementations.size(), "codelet '{}' has {} implementations, not {}", name,
                implementations.size(), which + 1);
    implementations[which](parameters...);
  }

  std::vector<Function<void(Ps...)>> implementations;
  Function<Cost(Ps...)> cost;
  Function<std::size_t(Ps...)> choose;
};

/// Name of TypeList in 0.1.
template <class... Ps>
using ParameterList [[deprecated("use shoal::TypeList")]] = TypeList<Ps...>;

}  // namespace flow

/// A kind of task: its name, its function, and its properties. The parameters of the function are
/// those of Flow::insert() in the same order: const T& or T& for a datum, `std::span<const U>` or
/// `std::span<U>` for a vector, `MatrixView<const U>` or `MatrixView<U>` for a matrix, and values.
///
/// If there are several implementations, the first one runs unless set_choice() names another.
/// **Caller**: the set_ functions before the first insertion. Copies refer to the same codelet.
template <class Parameters>
class Codelet;

/// The codelet of a function with parameters Ps..., made as Codelet c("name", function).
template <class... Ps>
class Codelet<TypeList<Ps...>> {
 public:
  /// `name` and `place` are used in reports and traces.
  template <class F>
  Codelet(std::string name, F function,
          const std::source_location& place = std::source_location::current())
      : core_(std::make_shared<flow::TypedCodelet<Ps...>>(std::move(name))) {
    core_->implementations.emplace_back(std::move(function));
    core_->place = place;
  }

  /// Adds another implementation of the task; implementations are numbered from 0 in the order in
  /// which they were added.
  template <class F>
  Codelet& add_implementation(F function) {
    core_->implementations.emplace_back(std::move(function));
    return *this;
  }
  /// Sets the function std::size_t(parameters...) that returns the number of the implementation to
  /// run.
  template <class F>
  Codelet& set_choice(F function) {
    constexpr bool fits = CallableAs<F, std::size_t, Ps...>;
    static_assert(
        fits,
        "shoal: set_choice() takes a function std::size_t(parameters...) of the codelet's "
        "parameters, which returns the number of an implementation");
    if constexpr (fits) core_->choose = std::move(function);
    return *this;
  }
  /// Sets the function Cost(parameters...) that returns how long the task takes in a simulated
  /// world. In runs with a limit for memory-bound tasks (--memory-bound-max) it is also called when
  /// a task without scratch memory and reductions is ready, and marks the task if
  /// Cost::is_memory_bound().
  template <class F>
  Codelet& set_cost(F function) {
    core_->cost = std::move(function);
    return *this;
  }
  /// Sets the priority of its tasks: larger ones run first. Default: 0.
  Codelet& set_priority(int priority) {
    core_->priority = priority;
    return *this;
  }
  /// Refused when it is compiled: priorities are integers.
  template <std::floating_point Number>
  Codelet& set_priority(Number /*priority*/) {
    check_priority<Number>();
    return *this;
  }
  /// Marks its tasks as memory-bound; see TaskOptions::memory_bound.
  Codelet& set_memory_bound(bool memory_bound = true) {
    core_->memory_bound = memory_bound;
    return *this;
  }
  /// Sets the colour of its tasks in pictures of traces, 0xRRGGBB.
  Codelet& set_colour(std::uint32_t colour) {
    core_->colour = colour;
    return *this;
  }
  /// Name in reports.
  [[nodiscard]] const std::string& name() const { return core_->name; }

  /// @cond internals
  /// Returns the core of the codelet, for the flow.
  [[nodiscard]] const std::shared_ptr<flow::TypedCodelet<Ps...>>& core() const { return core_; }
  /// @endcond

 private:
  std::shared_ptr<flow::TypedCodelet<Ps...>> core_;
};

/// @cond internals
template <class F>
Codelet(std::string, F) -> Codelet<ParametersOf<F>>;
template <class F>
Codelet(const char*, F) -> Codelet<ParametersOf<F>>;
/// @endcond

}  // namespace shoal

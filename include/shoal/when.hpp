#pragma once
// Futures of several futures.

#include <shoal/detail/base/function.hpp>
#include <shoal/future.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal {

namespace sched {

using FutureStates = std::vector<sync::Ref<FutureState>>;

/// Returns the first error, in order, among the futures that are ready; nullptr without one. It
/// stands for the others, which nobody has to take. For code that forwards the error: unlike get(),
/// it does not count as reporting a failure to the main function.
[[nodiscard]] std::exception_ptr first_error(const FutureStates& futures);

/// Calls `done` once, in the context that makes the last of `needed` futures ready. Lives until all
/// of them are.
class ReadyGate {
 public:
  static void watch(const FutureStates& futures, std::size_t needed, Function<void()> done);
};

}  // namespace sched

/// Returns a future that is ready when all `futures` are: it has their values in order, or the
/// first exception in that order; for futures of void, no values. **Blocks**: never.
template <class T>
auto when_all(std::vector<Future<T>> futures) {
  using Values = std::conditional_t<std::is_void_v<T>, void, std::vector<sched::Stored<T>>>;
  sched::Scheduler& scheduler =
      futures.empty() ? sched::current_scheduler("when_all() of no futures", sched::kUseInTask)
                      : futures.front().shared_state()->scheduler();
  auto promise = std::make_shared<Promise<Values>>(scheduler, "when_all()");
  Future<Values> result = promise->future();
  std::vector<sched::ValueRef<T>> states;
  states.reserve(futures.size());
  for (const Future<T>& future : futures) states.push_back(future.shared_state());
  const sched::FutureStates all(states.begin(), states.end());
  sched::ReadyGate::watch(all, all.size(), [promise, states] {
    if (const std::exception_ptr error = sched::first_error({states.begin(), states.end()})) {
      return promise->set_exception(error);
    }
    promise->set_from([&] {
      if constexpr (!std::is_void_v<T>) {
        Values values;
        values.reserve(states.size());
        for (const auto& state : states) values.push_back(std::move(*state->value));
        return values;
      }
    });
  });
  return result;
}

/// Returns a future that is ready when all `futures`, of different types and none of them void,
/// are: it has a tuple of their values, or the first exception in that order. **Blocks**: never.
template <class... Ts>
Future<std::tuple<Ts...>> when_all(Future<Ts>... futures) {
  static_assert(sizeof...(Ts) > 0 && (!std::is_void_v<Ts> && ...));
  const std::tuple<sched::ValueRef<Ts>...> states{futures.shared_state()...};
  const sched::FutureStates all{futures.shared_state()...};
  auto promise =
      std::make_shared<Promise<std::tuple<Ts...>>>(all.front()->scheduler(), "when_all()");
  auto result = promise->future();
  sched::ReadyGate::watch(all, all.size(), [promise, states, all] {
    if (const std::exception_ptr error = sched::first_error(all)) {
      return promise->set_exception(error);
    }
    promise->set_from([&states] {
      return std::apply(
          [](const auto&... each) { return std::tuple<Ts...>{std::move(*each->value)...}; },
          states);
    });
  });
  return result;
}

/// Result of when_any(): a future that is ready, and all of them.
template <class T>
struct AnyReady {
  /// Position of the future that is ready.
  std::size_t index = 0;
  /// All futures, in the order given.
  std::vector<Future<T>> futures;
};

/// Returns a future that is ready when one of `futures` is. **Errors**: CheckError when there is
/// none. **Blocks**: never.
template <class T>
Future<AnyReady<T>> when_any(std::vector<Future<T>> futures) {
  SHOAL_CHECK(!futures.empty(), "when_any() of no futures would never be ready");
  sched::FutureStates states;
  for (const Future<T>& future : futures) states.push_back(future.shared_state());
  auto promise = std::make_shared<Promise<AnyReady<T>>>(states.front()->scheduler(), "when_any()");
  auto result = promise->future();
  auto kept = std::make_shared<AnyReady<T>>(AnyReady<T>{0, std::move(futures)});
  sched::ReadyGate::watch(states, 1, [promise, kept] {
    while (!kept->futures[kept->index].is_ready()) ++kept->index;
    promise->set_value(std::move(*kept));
  });
  return result;
}

}  // namespace shoal

#pragma once
// Calls: functions that run on another rank, and whose results come back as futures.

#include <shoal/detail/sched/function_task.hpp>
#include <shoal/future.hpp>
#include <shoal/remote_promise.hpp>

#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shoal {

namespace team {

/// Calls function(values...), with its context before them if it takes one.
template <class F, class... Values>
decltype(auto) invoke_in(F& function, const MessageContext& context, Values&&... values) {
  using Traits = FunctionTraits<std::remove_cvref_t<F>>;
  if constexpr (Traits::has_context) {
    return function(ContextOf<typename Traits::Context>::get(context),
                    std::forward<Values>(values)...);
  } else {
    return function(std::forward<Values>(values)...);
  }
}

/// Calls `run`, and sends the result or the exception to the promise, with the name of the running
/// task or handler.
template <class Result, class Run>
void reply_with(const MessageContext& context, const RemotePromise<Result>& reply, Run run) {
  TeamCore& core = context.core();
  try {
    if constexpr (std::is_void_v<Result>) {
      run();
      fulfill(core, reply);
    } else {
      fulfill(core, reply, run());
    }
  } catch (const CancelledError&) {
    throw;  // the team has failed, and the caller hears of that
  } catch (...) {
    const std::string text = describe(sched::caught_exception());
    fail(core, reply, sched::current_activity(), text);
  }
}

template <class Named, class... Values>
using CallResult = wire::Owner<std::remove_cvref_t<decltype(invoke_in(
    std::declval<decltype(Named::function())&>(), std::declval<const MessageContext&>(),
    std::declval<Values>()...))>>;

/// Task of a call: reports and errors name the called function.
template <class Named, class F>
class CallTask final : public sched::FunctionTask<F> {
 public:
  using sched::FunctionTask<F>::FunctionTask;
  [[nodiscard]] std::string name() const override {
    return naming::readable(Named::pretty(), Named::kKey);
  }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "a call"; }
};
template <class Named, class F>
std::unique_ptr<sched::Task> make_call_task(sched::TaskScope& scope, F function) {
  std::unique_ptr<sched::Task> task(new CallTask<Named, F>(std::move(function)));
  task->scope = &scope;
  return task;
}

/// Handler of call(): runs the function as a task.
template <class Named, class... Values>
void accept_call(const MessageContext& context, RemotePromise<CallResult<Named, Values...>> reply,
                 Values... values) {
  TeamCore& core = context.core();
  core.scheduler().submit(make_call_task<Named>(
      core, [context, reply, values = std::tuple<Values...>(std::move(values)...)]() mutable {
        reply_with(context, reply, [&]() -> decltype(auto) {
          auto function = Named::function();
          return std::apply(
              [&](Values&... each) -> decltype(auto) {
                return invoke_in(function, context, std::move(each)...);
              },
              values);
        });
      }));
}

/// Static handler of accept_call(), with a name that tells the called function.
template <class Named, class... Values>
struct CallHandler {
  using Traits = FunctionTraits<decltype(&accept_call<Named, Values...>)>;
  static constexpr const char* name() { return __PRETTY_FUNCTION__; }
  static void invoke(void* /*self*/, Batch& batch) {
    auto function = &accept_call<Named, Values...>;
    handle_all(function, batch, typename Traits::Wires{});
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler handler{name(), signature_of(typename Traits::Wires{}),
                                      Delivery::inlined, &invoke};
};

/// A promise that is published, and its future.
template <class Result>
struct PendingCall {
  explicit PendingCall(TeamCore& core)
      : PendingCall(core, Promise<Result>(core.scheduler(), sched::StaticName{"a call"})) {}
  PendingCall(TeamCore& core, Promise<Result>&& promise)
      : future(promise.future()), reply(publish(core, std::move(promise))) {}
  Future<Result> future;
  RemotePromise<Result> reply;
};

template <class Named, class... Ws, class... Args>
auto call_as(TeamCore& core, Rank target, TypeList<Ws...> /*wires*/, Args&&... args) {
  static_assert(sizeof...(Ws) == sizeof...(Args),
                "shoal: the number of arguments differs from the function's parameters");
  (check_fraction<std::remove_cvref_t<Args>, Ws>(), ...);
  [[maybe_unused]] const std::uint32_t handler =
      CallHandler<Named, Storage<Ws>...>::handler.index();
  (check_number<Ws>(core, handler, args), ...);
  PendingCall<CallResult<Named, Storage<Ws>...>> awaited(core);
  send_static<CallHandler<Named, Storage<Ws>...>>(
      core, target, awaited.reply, wire::own<Storage<Ws>>(std::forward<Args>(args))...);
  return std::move(awaited.future);
}

/// Names a function by its type.
template <auto Function>
struct NamedFunction {
  static constexpr std::string_view kKey = "Function";  // in pretty()
  static constexpr std::string_view pretty() { return __PRETTY_FUNCTION__; }
  static auto function() { return Function; }
};
template <class Closure>
struct NamedClosure {
  static constexpr std::string_view kKey = "Closure";
  static constexpr std::string_view pretty() { return __PRETTY_FUNCTION__; }
  static Closure function() { return {}; }
};

/// Runs the named function as a task on `target`; returns the future of its result, which gets a
/// RemoteError when the function throws.
template <class Named, class... Args>
auto call(TeamCore& core, Rank target, Args&&... args) {
  using Traits = FunctionTraits<decltype(Named::function())>;
  return call_as<Named>(core, target, typename Traits::Wires{}, std::forward<Args>(args)...);
}

}  // namespace team

/// A function with captures that other ranks call and that returns a result; made by
/// Team::make_function() on all ranks in the same order.
///
/// **Guarantees**: as ActiveMessage; each call brings back the result. **Lifetime**: keep it, and
/// all that the function captures, until wait() has returned.
template <class Result, class... Wires>
class RemoteFunction {
 public:
  /// @cond internals
  /// Made by Team::make_function().
  template <class F>
  RemoteFunction(TeamCore& core, F function, const AmOptions& options,
                 const std::source_location& place)
      : core_(&core),
        ask_(core, wrap(std::move(function), typename team::FunctionTraits<F>::Parameters{}),
             options, place) {}
  /// @endcond

  /// Runs the function on `target` with copies of the arguments; returns the future of its result.
  /// **Caller**, **Blocks**, **Errors**: as ActiveMessage::send(). **Future**: gets a RemoteError
  /// when the function throws; the team does not fail then.
  template <class... Args>
  [[nodiscard]] Future<Result> call(Rank target, Args&&... args) const {
    team::PendingCall<Result> awaited(*core_);
    ask_.send(target, awaited.reply, std::forward<Args>(args)...);
    return std::move(awaited.future);
  }

 private:
  template <class F, class... Ps>
  static auto wrap(F function, TypeList<Ps...> /*parameters*/) {
    return
        [function = std::move(function)](const MessageContext& context,
                                         const RemotePromise<Result>& reply, Ps... values) mutable {
          team::reply_with(context, reply, [&]() -> decltype(auto) {
            return team::invoke_in(function, context, std::forward<Ps>(values)...);
          });
        };
  }

  TeamCore* core_;
  ActiveMessage<RemotePromise<Result>, Wires...> ask_;
};

namespace team {

template <class F, class Wires, class Parameters>
struct RemoteFunctionTypeOf;
template <class F, class... Ws, class... Ps>
struct RemoteFunctionTypeOf<F, TypeList<Ws...>, TypeList<Ps...>> {
  using Result = wire::Owner<std::remove_cvref_t<decltype(invoke_in(
      std::declval<F&>(), std::declval<const MessageContext&>(), std::declval<Ps>()...))>>;
  using type = RemoteFunction<Result, Ws...>;
};

}  // namespace team

/// The type that Team::make_function returns for a function of type F.
template <class F>
using RemoteFunctionFor =
    typename team::RemoteFunctionTypeOf<F, typename team::FunctionTraits<F>::Wires,
                                        typename team::FunctionTraits<F>::Parameters>::type;

}  // namespace shoal

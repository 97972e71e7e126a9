#pragma once
// Items that go through stages: a pipeline.

#include <shoal/detail/loops/tokens.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// A stage of a pipeline, made by parallel(), serial_in_order() or serial_out_of_order().
template <class F>
struct Stage {
  /// @cond internals
  /// Calls that may run at once, and their order.
  loops::StageMode mode;
  /// @endcond
  /// Takes the result of the stage before, and returns that of this one.
  F function;
};

/// A stage that works on several items at once.
template <class F>
[[nodiscard]] Stage<F> parallel(F function) {
  return {loops::StageMode::parallel, std::move(function)};
}
/// A stage that works on one item at a time, in the order of the source.
template <class F>
[[nodiscard]] Stage<F> serial_in_order(F function) {
  return {loops::StageMode::serial_in_order, std::move(function)};
}
/// A stage that works on one item at a time, in the order in which they come.
template <class F>
[[nodiscard]] Stage<F> serial_out_of_order(F function) {
  return {loops::StageMode::serial_out_of_order, std::move(function)};
}

/// Settings of a pipeline.
struct PipelineOptions {
  /// Items under way at most: so much memory is in use. A few for each worker keep all busy.
  int tokens = 8;
  /// Name in reports and traces.
  std::string name = "pipeline";
  /// Priority of its tasks; nullopt: that of the calling task.
  std::optional<int> priority = {};
};

namespace loops {

/// A value after a stage; one that returns nothing leaves this.
struct Nothing {};

template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, Nothing, std::decay_t<T>>;

/// Types of the values before each stage, and after the last one; void if a stage does not take
/// what comes.
template <class T, class... Fs>
struct Chain {
  using Types = std::tuple<std::optional<T>>;
};
template <class T, class F, class... Fs>
  requires std::is_invocable_v<F&, T>
struct Chain<T, F, Fs...> {
  using Result = std::invoke_result_t<F&, T>;
  static_assert(!std::is_void_v<Result> || sizeof...(Fs) == 0,
                "shoal: a stage that returns nothing is the last one of its pipeline");
  template <class... Ts>
  static std::tuple<std::optional<T>, Ts...> behind(std::tuple<Ts...>*);
  static void behind(void*);
  using Types =
      decltype(behind(static_cast<typename Chain<Stored<Result>, Fs...>::Types*>(nullptr)));
};
template <class T, class F, class... Fs>
  requires(!std::is_invocable_v<F&, T>)
struct Chain<T, F, Fs...> {
  using Types = void;
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class Source>
consteval bool check_source() {
  constexpr bool kFits = [] {
    if constexpr (std::is_invocable_v<Source&>) {
      return kIsOptional<std::decay_t<std::invoke_result_t<Source&>>>;
    } else {
      return false;
    }
  }();
  static_assert(kFits,
                "shoal: the source of a pipeline is a function without arguments that returns a "
                "std::optional: its next item, or an empty one at the end");
  return kFits;
}

template <class Source, class... Fs>
consteval bool check_stages() {
  using Item = typename std::decay_t<std::invoke_result_t<Source&>>::value_type;
  constexpr bool kFits = !std::is_void_v<typename Chain<Item, Fs...>::Types>;
  static_assert(kFits,
                "shoal: each stage of a pipeline takes what the stage before it returns, and the "
                "first what the source has");
  return kFits;
}

template <class Source, class... Fs>
class Pipeline final : public Tokens {
 public:
  using Item = typename std::decay_t<std::invoke_result_t<Source&>>::value_type;
  Pipeline(const PipelineOptions& options, Source& source, Stage<Fs>&... stages)
      : Tokens(options.name, options.priority, {stages.mode...}),
        source_(source),
        stages_(stages.function...) {
    const std::size_t count = checked_tokens(options.tokens, options.name);
    for (std::size_t i = 0; i < count; ++i) items_.push_back(std::make_unique<TypedToken>());
  }
  void run() {
    std::vector<Token*> tokens;
    for (const auto& one : items_) tokens.push_back(one.get());
    Tokens::run(std::move(tokens));
  }

 private:
  struct TypedToken : Token {
    typename Chain<Item, Fs...>::Types values;
  };
  bool produce(Token& token) override {
    std::optional<Item> item = source_();
    if (!item) return false;
    std::get<0>(static_cast<TypedToken&>(token).values).emplace(std::move(*item));
    return true;
  }
  void run_stage(Token& token) override {
    run_stage_of(static_cast<TypedToken&>(token), std::index_sequence_for<Fs...>());
  }
  template <std::size_t... n>
  void run_stage_of(TypedToken& token, std::index_sequence<n...> /*stages*/) {
    static_cast<void>(((token.stage == n ? (run_one<n>(token), true) : false) || ...));
  }
  template <std::size_t n>
  void run_one(TypedToken& token) {
    auto& function = std::get<n>(stages_);
    auto value = std::move(*std::get<n>(token.values));
    std::get<n>(token.values).reset();
    if constexpr (std::is_void_v<decltype(function(std::move(value)))>) {
      function(std::move(value));
    } else {
      std::get<n + 1>(token.values).emplace(function(std::move(value)));
    }
    if constexpr (n + 1 == sizeof...(Fs)) std::get<n + 1>(token.values).reset();
  }

  Source& source_;
  std::tuple<Fs&...> stages_;
  std::vector<std::unique_ptr<TypedToken>> items_;
};

}  // namespace loops

/// Calls `source` until it returns an empty std::optional, one call at a time, and each stage with
/// each item, on which stages work in parallel. Returns when all items are through.
///
/// **Caller**: a task or the main function. **Blocks**: parks the caller. **Errors**: the first
/// exception of a function; items under way are dropped. CancelledError when the caller's TaskGroup
/// was cancelled, or the world has failed. CheckError in a handler, on a thread that is no worker,
/// and for less than one token. **Ordering**: a stage happens after the one before it for the same
/// item; calls of a serial stage, and of the source, happen one after the other. Functions may
/// wait: other items go on.
template <class Source, class... Fs>
  requires(sizeof...(Fs) > 0)
void pipeline(const PipelineOptions& options, Source source, Stage<Fs>... stages) {
  if constexpr (loops::check_source<Source>()) {
    if constexpr (loops::check_stages<Source, Fs...>()) {
      loops::Pipeline<Source, Fs...>(options, source, stages...).run();
    }
  }
}

}  // namespace shoal

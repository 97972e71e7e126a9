#pragma once
// Futures of several futures and transfers.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/completion.hpp>
#include <shoal/future.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Result of when_any(): a future that is ready, and all of them.
template <class T, class Source = Future<T>>
struct AnyReady {
  /// Position of the future that is ready.
  std::size_t index = 0;
  /// All futures, in the order given.
  std::vector<Source> futures;
};

namespace sched {

/// Whether Source is a Future, a SharedFuture or a Transfer.
template <class Source>
concept Awaited = requires(const Source& source) {
  typename Source::value_type;
  { source.is_ready() } -> std::same_as<bool>;
  FutureAccess::completion(source);
};

template <class Source>
using ValueOf = std::remove_cvref_t<decltype(FutureAccess::take(std::declval<Source&>()))>;

/// The completion of several others, which it owns until it is complete itself. If its future is
/// dropped before, it leaves their lists and gives them up.
template <class Result, class Parts>
class CompletionOfParts : public CompletionOf<Result>, private Gate {
 public:
  CompletionOfParts(Scheduler& scheduler, StaticName name, Parts parts)
      : CompletionOf<Result>(scheduler, name), parts_(std::move(parts)) {}

  /// Makes its future, and completes it when `needed` of the parts have ended.
  [[nodiscard]] static Future<Result> start(sync::Ref<CompletionOfParts> self,
                                            const std::vector<Completion*>& parts,
                                            std::size_t needed) {
    Future<Result> future = self->make_future();
    self->watch(*self, parts, needed);
    return future;
  }
  [[nodiscard]] std::uint64_t join() const final { return this->join_of_parts(); }

 protected:
  /// Stores the result of the parts; returns or throws the error instead.
  [[nodiscard]] virtual std::exception_ptr combine(Parts parts) = 0;

 private:
  void pass() final {
    std::exception_ptr error;
    try {
      error = combine(std::move(parts_));
    } catch (...) {
      error = caught_error();
    }
    this->complete(std::move(error), false);
  }
  void abandon() noexcept final {
    if (leave()) const Parts dropped = std::move(parts_);
  }

  Parts parts_;
};

/// Returns the first error, in order, among the parts, which have ended. It stands for the others,
/// which nobody has to take. For code that forwards the error: unlike get(), it does not count as
/// reporting a failure to the main function.
[[nodiscard]] std::exception_ptr first_error(const std::vector<Completion*>& parts);

template <class Source>
std::vector<Completion*> completions_of(const std::vector<Source>& parts) {
  std::vector<Completion*> all;
  all.reserve(parts.size());
  for (const Source& part : parts) all.push_back(FutureAccess::completion(part));
  return all;
}
template <class... Sources>
std::vector<Completion*> completions_of(const std::tuple<Sources...>& parts) {
  return std::apply(
      [](const auto&... each) {
        return std::vector<Completion*>{FutureAccess::completion(each)...};
      },
      parts);
}
/// Scheduler of the first one that is not complete without a state, else that of the caller.
[[nodiscard]] Scheduler& scheduler_of(const std::vector<Completion*>& parts, const char* what);

/// Values of futures of one type; void if that is.
template <class T>
using ValuesOf = std::conditional_t<std::is_void_v<T>, void, std::vector<Stored<T>>>;

template <class Source>
class AllOfVector final : public CompletionOfParts<ValuesOf<ValueOf<Source>>, std::vector<Source>> {
  using Base = CompletionOfParts<ValuesOf<ValueOf<Source>>, std::vector<Source>>;

 public:
  using Base::Base;

 private:
  [[nodiscard]] std::exception_ptr combine(std::vector<Source> parts) override {
    if (std::exception_ptr error = first_error(completions_of(parts))) return error;
    [[maybe_unused]] auto& values = this->value.emplace();
    if constexpr (std::is_void_v<ValueOf<Source>>) {
      for (Source& part : parts) FutureAccess::take(part);
    } else {
      values.reserve(parts.size());
      for (Source& part : parts) values.push_back(FutureAccess::take(part));
    }
    return nullptr;
  }
};

/// A tuple of the value of one part, or of none for void.
template <class Source>
auto take_as_tuple(Source& part) {
  if constexpr (std::is_void_v<ValueOf<Source>>) {
    FutureAccess::take(part);
    return std::tuple<>();
  } else {
    return std::tuple<ValueOf<Source>>(FutureAccess::take(part));
  }
}
template <class... Sources>
auto take_all(std::tuple<Sources...>& parts) {
  return std::apply([](auto&... each) { return std::tuple_cat(take_as_tuple(each)...); }, parts);
}
/// Values of futures of several types, without those of void; void if none is left.
template <class... Sources>
using TupleOf = decltype(take_all(std::declval<std::tuple<Sources...>&>()));
template <class... Sources>
using AllValues = std::conditional_t<std::is_same_v<TupleOf<Sources...>, std::tuple<>>, void,
                                     TupleOf<Sources...>>;

template <class... Sources>
class AllOfTuple final : public CompletionOfParts<AllValues<Sources...>, std::tuple<Sources...>> {
  using Base = CompletionOfParts<AllValues<Sources...>, std::tuple<Sources...>>;

 public:
  using Base::Base;

 private:
  [[nodiscard]] std::exception_ptr combine(std::tuple<Sources...> parts) override {
    if (std::exception_ptr error = first_error(completions_of(parts))) return error;
    if constexpr (std::is_void_v<AllValues<Sources...>>) {
      static_cast<void>(take_all(parts));
      this->value.emplace();
    } else {
      this->value.emplace(take_all(parts));
    }
    return nullptr;
  }
};

template <class Source>
class AnyOfVector final
    : public CompletionOfParts<AnyReady<ValueOf<Source>, Source>, std::vector<Source>> {
  using Base = CompletionOfParts<AnyReady<ValueOf<Source>, Source>, std::vector<Source>>;

 public:
  using Base::Base;

 private:
  [[nodiscard]] std::exception_ptr combine(std::vector<Source> parts) override {
    std::size_t index = 0;
    while (!parts[index].is_ready()) ++index;
    this->value.emplace(AnyReady<ValueOf<Source>, Source>{index, std::move(parts)});
    return nullptr;
  }
};

}  // namespace sched

/// Returns a future that is ready when all `futures` are, which are Futures, SharedFutures or
/// Transfers: it has their values in order, or the first exception in that order; without values,
/// for those of void, it is a Future<void>. If it is dropped before, so are they. **Blocks**:
/// never.
template <sched::Awaited Source>
[[nodiscard]] auto when_all(std::vector<Source> futures) {
  using State = sched::AllOfVector<Source>;
  const std::vector<sched::Completion*> parts = sched::completions_of(futures);
  sched::Scheduler& scheduler = sched::scheduler_of(parts, "when_all()");
  return State::start(
      sync::Ref(new State(scheduler, sched::StaticName{"when_all()"}, std::move(futures))), parts,
      parts.size());
}

/// Returns a future that is ready when all `futures`, of different types, are: Futures,
/// SharedFutures and Transfers. It has a tuple of their values, without those of void, or the first
/// exception in that order; if all are of void, it is a Future<void>. If it is dropped before, so
/// are they. **Blocks**: never.
template <sched::Awaited... Sources>
[[nodiscard]] auto when_all(Sources... futures) {
  static_assert(sizeof...(Sources) > 0);
  using State = sched::AllOfTuple<Sources...>;
  std::tuple<Sources...> all(std::move(futures)...);
  const std::vector<sched::Completion*> parts = sched::completions_of(all);
  sched::Scheduler& scheduler = sched::scheduler_of(parts, "when_all()");
  return State::start(
      sync::Ref(new State(scheduler, sched::StaticName{"when_all()"}, std::move(all))), parts,
      parts.size());
}

/// Returns a future that is ready when one of `futures` is, which are Futures, SharedFutures or
/// Transfers. If it is dropped before, so are they. **Errors**: CheckError when there is none.
/// **Blocks**: never.
template <sched::Awaited Source>
[[nodiscard]] auto when_any(std::vector<Source> futures) {
  SHOAL_CHECK(!futures.empty(), "when_any() of no futures would never be ready");
  using State = sched::AnyOfVector<Source>;
  const std::vector<sched::Completion*> parts = sched::completions_of(futures);
  sched::Scheduler& scheduler = sched::scheduler_of(parts, "when_any()");
  return State::start(
      sync::Ref(new State(scheduler, sched::StaticName{"when_any()"}, std::move(futures))), parts,
      1);
}

}  // namespace shoal

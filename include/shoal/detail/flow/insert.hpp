#pragma once
// Insertion of a task: its arguments sorted into accesses, values and options.

#include <shoal/codelet.hpp>
#include <shoal/detail/flow/sequence.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/flow_data.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shoal::flow {

/// Part of a partitioned datum.
struct Block {
  std::size_t row = 0;
  std::size_t column = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

template <class T>
inline constexpr bool is_codelet_v = false;
template <class Parameters>
inline constexpr bool is_codelet_v<Codelet<Parameters>> = true;

/// An argument as the task keeps it: the elements of a view, and nothing of an access, for which
/// there is a place in the list.
template <class Arg>
struct StoredArgument {
  using type = wire::Owner<Arg>;
};
template <class T, Mode M>
struct StoredArgument<TypedRequest<T, M>> {
  struct Empty {
    explicit Empty(const TypedRequest<T, M>& /*request*/) {}
  };
  using type = Empty;
};

/// Type that the function gets for an argument.
template <class Arg>
struct ArgumentOf {
  static decltype(auto) get(wire::Owner<Arg>& value, const Access* /*access*/) {
    if constexpr (wire::is_view_v<Arg>) {
      return Arg(value);
    } else {
      return static_cast<Arg&>(value);
    }
  }
};
template <class T, Mode M>
struct ArgumentOf<TypedRequest<T, M>> {
  template <class Empty>
  static decltype(auto) get(Empty& /*stored*/, const Access* access) {
    if constexpr (M == Mode::read) {
      return DataTraits<T>::read(access->object);
    } else {
      return DataTraits<T>::write(access->object);
    }
  }
};

/// The function takes the arguments of a task, as they are passed.
template <class F, class... Args>
inline constexpr bool accepts_v =
    std::is_invocable_v<F, decltype(ArgumentOf<Args>::get(
                               std::declval<typename StoredArgument<Args>::type&>(), nullptr))...>;

template <class T>
inline constexpr bool writes_elsewhere_v = false;
template <class T, std::size_t Extent>
inline constexpr bool writes_elsewhere_v<std::span<T, Extent>> = !std::is_const_v<T>;
template <class T>
inline constexpr bool writes_elsewhere_v<MatrixView<T>> = true;
template <class Arg>
consteval void check_stored() {
  static_assert(
      !writes_elsewhere_v<Arg>,
      "shoal: insert() copies values, and a std::span or MatrixView refers to memory that "
      "may end before the task: register it with vector() or matrix()");
  static_assert(wire::is_view_v<Arg> || !wire::holds_view_v<Arg>,
                "shoal: insert() copies the elements of a std::span or std::string_view, but not "
                "of one inside "
                "another value: take std::vector or std::string there");
}

/// A value among the arguments is a floating-point number, and its parameter an integer.
template <class Parameters, class... Args>
inline constexpr bool cuts_fraction_v = false;
template <class... Ps, class... Args>
  requires(sizeof...(Ps) == sizeof...(Args))
inline constexpr bool cuts_fraction_v<TypeList<Ps...>, Args...> =
    (loses_fraction_v<Args, Ps> || ...);
template <class F, class... Args>
consteval void check_values() {
  if constexpr (PlainFunction<F>) {
    static_assert(!cuts_fraction_v<ParametersOf<F>, Args...>,
                  "shoal: a floating-point argument of insert() would lose its fraction, the "
                  "parameter is an integer: convert it where the fraction may go");
  }
}

template <class... Ps, class... Args>
void check_numbers_of(TypeList<Ps...> /*parameters*/, const Sequence& sequence,
                      std::string_view codelet, const Args&... args) {
  const auto check = [&]<class P, class Arg>(TypeList<P> /*parameter*/, const Arg& arg) {
    if constexpr (may_cut_v<Arg, P>) {
      using Parameter = std::remove_cvref_t<P>;
      if (!holds<Parameter>(arg)) [[unlikely]]
        sequence.refuse_number(codelet, arg, naming::type_text<Parameter>());
    }
  };
  if constexpr (sizeof...(Ps) == sizeof...(Args)) (check(TypeList<Ps>{}, args), ...);
}

template <class... Args>
inline constexpr std::size_t request_count_v = (std::size_t{is_request_v<Args>} + ... + 0);

/// A task that calls `Call` with its arguments; Args are decayed and no options.
template <class Call, class... Args>
class InsertedTask : public FlowTask {
  static constexpr std::size_t kAccesses = request_count_v<Args...>;

 public:
  template <class... Given>
  InsertedTask(Sequence& sequence, Call call, Given&&... given)
      : FlowTask(sequence, std::span<Access>(list_)),
        call_(std::move(call)),
        stored_(keep(std::forward<Given>(given))...) {}

  [[nodiscard]] std::string_view plain_name() const noexcept override { return call_.name(); }
  [[nodiscard]] bool is_inserted() const override { return true; }
  [[nodiscard]] bool is_memory_bound() override {
    if constexpr (requires { call_.codelet; }) {
      return call_.codelet->memory_bound || (call_.codelet->cost && find_objects() &&
                                             costs_memory(std::index_sequence_for<Args...>()));
    }
    return false;
  }

 private:
  template <class Given>
  static decltype(auto) keep(Given&& given) {
    if constexpr (wire::is_view_v<std::decay_t<Given>>) {
      return wire::own<wire::Owner<std::decay_t<Given>>>(given);
    } else {
      return std::forward<Given>(given);
    }
  }
  void execute() override { call(call_, stored_, std::index_sequence_for<Args...>()); }
  template <std::size_t... I>
  bool costs_memory(std::index_sequence<I...> /*indices*/) {
    const Cost cost = call_.codelet->cost(
        ArgumentOf<Args>::get(std::get<I>(stored_), list_.data() + requests_before(I))...);
    return cost.is_memory_bound();
  }
  static constexpr std::size_t requests_before(std::size_t index) {
    constexpr std::array<bool, sizeof...(Args) + 1> kIsRequest{is_request_v<Args>..., false};
    std::size_t count = 0;
    for (std::size_t i = 0; i < index; ++i) count += kIsRequest[i] ? 1 : 0;
    return count;
  }

  std::array<Access, kAccesses> list_;

 protected:
  using Values = std::tuple<typename StoredArgument<Args>::type...>;
  template <std::size_t... I>
  void call(Call& function, Values& values, std::index_sequence<I...> /*indices*/) {
    function(ArgumentOf<Args>::get(std::get<I>(values), list_.data() + requests_before(I))...);
  }

  Call call_;
  Values stored_;
};

/// Runs in attempts, each with the same values.
template <class Call, class... Args>
class RetriedTask final : public InsertedTask<Call, Args...> {
  using Base = InsertedTask<Call, Args...>;

 public:
  template <class... Given>
  RetriedTask(Sequence& sequence, int retries, Call call, Given&&... given)
      : Base(sequence, std::move(call), std::forward<Given>(given)...), retries_(retries) {}

 private:
  void execute() override {
    ValuesBefore before(this->accesses());
    sched::run_attempts(retries_, [this, &before] {
      before.restore();
      Call call(this->call_);
      typename Base::Values values(this->stored_);
      this->call(call, values, std::index_sequence_for<Args...>());
    });
  }

  const int retries_;
};
template <class T>
inline constexpr bool is_retries_v = std::is_same_v<T, WithRetries>;

template <class... Ps>
struct CodeletCall {
  using Called = void (*)(Ps...);
  const TypedCodelet<Ps...>* codelet;
  template <class... Args>
  void operator()(Args&&... args) const {
    codelet->call(std::forward<Args>(args)...);
  }
  [[nodiscard]] std::string_view name() const { return codelet->name; }
};
template <class F>
struct FunctionCall {
  using Called = F&;
  F function;
  template <class... Args>
  void operator()(Args&&... args) {
    function(std::forward<Args>(args)...);
  }
  [[nodiscard]] static std::string_view name() { return "task"; }
};

/// Makes the task of the arguments that are no options.
template <class Call, class... Args>
struct TaskMaker {
  template <class Arg>
  static auto keep(Arg&& arg) {
    if constexpr (is_option_v<std::decay_t<Arg>>) {
      return std::tuple<>();
    } else {
      return std::tuple<Arg&&>(std::forward<Arg>(arg));
    }
  }
  /// Refuses integers that are larger than their parameters.
  template <class... Stored>
  static void check_numbers(const Sequence& sequence, const Call& call,
                            const std::tuple<Stored...>& stored) {
    using F = std::remove_reference_t<typename Call::Called>;
    if constexpr (PlainFunction<F>) {
      std::apply(
          [&](const auto&... args) {
            check_numbers_of(ParametersOf<F>{}, sequence, call.name(), args...);
          },
          stored);
    }
  }
  template <class... Stored>
  static FlowTask* make_retried(Sequence& sequence, Call call, std::tuple<Stored...> stored,
                                int retries) {
    constexpr bool kCopies =
        std::is_copy_constructible_v<Call> &&
        (std::is_copy_constructible_v<typename StoredArgument<std::decay_t<Stored>>::type> && ...);
    static_assert(kCopies,
                  "shoal: each attempt of a task with retries begins with a copy of its function "
                  "and arguments: give what cannot be copied as a datum");
    if constexpr (kCopies) {
      return std::apply(
          [&](auto&&... args) -> FlowTask* {
            return new RetriedTask<Call, std::decay_t<Stored>...>(
                sequence, retries, std::move(call), std::forward<Stored>(args)...);
          },
          std::move(stored));
    } else {
      return nullptr;
    }
  }
  template <class... Stored>
  static FlowTask* make(Sequence& sequence, Call call, std::tuple<Stored...> stored,
                        [[maybe_unused]] int given_retries) {
    constexpr bool kFits = accepts_v<typename Call::Called, std::decay_t<Stored>...>;
    static_assert(
        kFits,
        "shoal: a task's function takes the arguments of insert() in their order: const T& "
        "for read(), T& for other modes (views for vectors and matrices), and values");
    if constexpr (kFits) {
      (check_stored<std::decay_t<Stored>>(), ...);
      check_values<std::remove_reference_t<typename Call::Called>, std::decay_t<Stored>...>();
      if constexpr ((is_retries_v<std::decay_t<Args>> || ...)) {
        return make_retried(sequence, std::move(call), std::move(stored), given_retries);
      } else {
        return std::apply(
            [&](auto&&... args) -> FlowTask* {
              return new InsertedTask<Call, std::decay_t<Stored>...>(sequence, std::move(call),
                                                                     std::forward<Stored>(args)...);
            },
            std::move(stored));
      }
    } else {
      return nullptr;
    }
  }
};

template <class Call, class... Args>
void insert_call(Sequence& sequence, const std::shared_ptr<CodeletCore>& codelet, Call call,
                 Args&&... args) {
  std::array<Request, request_count_v<std::decay_t<Args>...>> requests;
  InsertOptions options;
  [[maybe_unused]] int retries = 0;
  if (codelet != nullptr) options.priority = codelet->priority;
  [[maybe_unused]] std::size_t next = 0;
  [[maybe_unused]] const auto sort = [&]<class Arg>(const Arg& arg) {
    if constexpr (is_retries_v<Arg>) {
      retries = arg.retries;
      sched::check_retries(retries, std::string(call.name()));
    } else if constexpr (is_option_v<Arg>) {
      options.take(arg);
    } else if constexpr (is_request_v<Arg>) {
      requests[next++] = to_request(arg);
    }
  };
  (sort(args), ...);
  using Maker = TaskMaker<Call, Args...>;
  auto stored = std::tuple_cat(Maker::keep(std::forward<Args>(args))...);  // references
  Maker::check_numbers(sequence, call, stored);
  if (!sequence.begin(codelet, requests, options)) return;
  sequence.submit(Maker::make(sequence, std::move(call), std::move(stored), retries), requests);
}

/// Codelet or function of a call of Flow::insert() with further arguments Args: made of the first
/// one, which tells where in the source the call is. Its type does not depend on that argument, so
/// that the others say what Args are.
template <class... Args>
class Inserted {
 public:
  template <class What>
    requires(!std::is_same_v<std::remove_cvref_t<What>, Inserted>)
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): converts
  Inserted(What&& what, std::source_location place = std::source_location::current())
      : what_(address_of(what)), insert_(&insert_as<What>), place_(place) {}

  /// **Caller**: once, while the first argument lives.
  void insert(Sequence& sequence, Args&&... args) const {
    sequence.set_place(place_);
    insert_(sequence, what_, std::forward<Args>(args)...);
  }

 private:
  template <class Object>
  static void* address_of(Object& object) {
    if constexpr (std::is_function_v<Object>) {
      return reinterpret_cast<void*>(&object);
    } else {
      return const_cast<void*>(static_cast<const volatile void*>(std::addressof(object)));
    }
  }
  template <class What>
  static What&& object_at(void* address) {
    using Object = std::remove_reference_t<What>;
    if constexpr (std::is_function_v<Object>) {
      return *reinterpret_cast<Object*>(address);
    } else {
      return static_cast<What&&>(*static_cast<Object*>(address));
    }
  }
  template <class What>
  static void insert_as(Sequence& sequence, void* address, Args&&... args) {
    using Object = std::remove_cvref_t<What>;
    if constexpr (is_codelet_v<Object>) {
      const auto& codelet = static_cast<const Object*>(address)->core();
      insert_call(sequence, codelet, call_of(codelet), std::forward<Args>(args)...);
    } else {
      insert_call(sequence, nullptr, FunctionCall<std::decay_t<What>>{object_at<What>(address)},
                  std::forward<Args>(args)...);
    }
  }
  template <class... Ps>
  static CodeletCall<Ps...> call_of(const std::shared_ptr<TypedCodelet<Ps...>>& codelet) {
    return {codelet.get()};
  }

  void* const what_;
  void (*const insert_)(Sequence&, void*, Args&&...);
  const std::source_location place_;
};

}  // namespace shoal::flow

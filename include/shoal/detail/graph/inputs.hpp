#pragma once
// Inputs of tasks that travel along the edges of a graph, from any rank.

#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/gathered.hpp>
#include <shoal/key.hpp>
#include <shoal/message.hpp>
#include <shoal/recipients.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::graph {

/// Tree along which an input travels to so many ranks.
[[nodiscard]] MulticastTree tree_of_inputs(std::size_t ranks);

[[noreturn]] void refuse_slot(const std::string& graph, int slot, int count);
[[noreturn]] void refuse_input_type(const std::string& graph, int slot, const std::string& given,
                                    const std::string& wanted);
[[noreturn]] void refuse_second_input(const std::string& graph, const std::string& key, int slot);
[[noreturn]] void refuse_missing_input(const std::string& graph, const std::string& key, int slot);
[[noreturn]] void refuse_reduction(const std::string& graph, int slot);
[[noreturn]] void refuse_early_reduction(const std::string& graph, int slot);
[[noreturn]] void refuse_graph_rank(const TeamCore& core, const std::string& graph,
                                    const std::string& task, std::int64_t rank);

/// Which values a parameter of a task's function takes, where those that have come are stored, and
/// what the function gets of them. This one takes exactly one.
template <class W>
struct InputOf {
  using Value = wire::Owner<W>;
  using Stored = std::optional<Value>;
  static constexpr bool is_counted = true;  // each task has exactly one
  static constexpr bool gathers = false;
  static decltype(auto) argument(Stored& stored) { return team::as_argument<W>(*stored); }
};
/// Takes one value or none.
template <class W>
struct InputOf<std::optional<W>> {
  using Value = wire::Owner<W>;
  using Stored = std::optional<Value>;
  static constexpr bool is_counted = false;
  static constexpr bool gathers = false;
  static std::optional<W> argument(Stored& stored) {
    if (!stored.has_value()) return std::nullopt;
    return team::as_argument<W>(*stored);
  }
};
/// Takes any number of values.
template <class V>
struct InputOf<Gathered<V>> {
  using Value = V;
  using Stored = Gathered<V>;
  static constexpr bool is_counted = false;
  static constexpr bool gathers = true;
  static Gathered<V> argument(Stored& stored) { return std::move(stored); }
};

template <class T>
inline constexpr bool is_optional_v = false;
template <class T>
inline constexpr bool is_optional_v<std::optional<T>> = true;

/// A number that was sent to an input of another type.
struct AnyNumber {
  std::variant<std::int64_t, std::uint64_t, double> value;

  /// The number as a T; nothing if a T does not hold it.
  template <class T>
  [[nodiscard]] std::optional<T> as() const {
    return std::visit([](auto number) { return exactly<T>(number); }, value);
  }
  /// " 7" of an integer, which may be too large for an input; of others nothing, as they never fit.
  [[nodiscard]] std::string text() const {
    if (std::holds_alternative<double>(value)) return "";
    return std::visit([](auto number) { return " " + std::to_string(number); }, value);
  }
  template <class N>
  static AnyNumber of(N number) {
    if constexpr (std::is_floating_point_v<N>) {
      return {static_cast<double>(number)};
    } else if constexpr (std::is_signed_v<N>) {
      return {static_cast<std::int64_t>(number)};
    } else {
      return {static_cast<std::uint64_t>(number)};
    }
  }

 private:
  template <class T, class N>
  static std::optional<T> exactly(N number) {
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (std::is_floating_point_v<N>) {  // rounds, as everywhere
        if (std::isfinite(number) && std::abs(number) > std::numeric_limits<T>::max())
          return std::nullopt;
      } else {
        constexpr auto kLargest = std::int64_t{1} << std::numeric_limits<T>::digits;
        if (std::cmp_greater(number, kLargest) || std::cmp_less(number, -kLargest))
          return std::nullopt;
      }
      return static_cast<T>(number);
    } else if constexpr (std::is_floating_point_v<N>) {
      return std::nullopt;  // would lose its fraction
    } else {
      if (!std::in_range<T>(number)) return std::nullopt;
      return static_cast<T>(number);
    }
  }
};
/// Numbers that are converted to the type of an input.
template <class T>
inline constexpr bool is_number_v =
    std::is_same_v<T, float> || std::is_same_v<T, double> ||
    (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
     !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
     !std::is_same_v<T, char32_t>);

/// One input of all tasks of a graph, of type V.
template <class K, class V>
struct Slot {
  template <class PutOne, class PutSeveral>
  Slot(TeamCore& core, const std::string& name, const std::source_location& place, PutOne put_one,
       PutSeveral put_several)
      : put(put_one),
        one(core, put_one, team::model_options(name), place),
        several(core, put_several, team::model_options(name), place) {}

  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    numbers.push_back(one.number());
    numbers.push_back(several.number());
  }
  /// Brings a value to a task of this rank (`here`) or of another one.
  template <class T>
  void send(const K& key, Rank rank, Rank here, T&& value) const {
    if (rank == here) {
      put(key, V(std::forward<T>(value)));
    } else {
      one.send(rank, key, std::forward<T>(value));
    }
  }

  Function<void(const K& key, V value)> put;  // here; counts as a dependency
  Function<V(V, V)> reduce;                   // joins the values of a task; empty: one may come
  bool gathers = false;                       // a Gathered
  ActiveMessage<K, V> one;
  ActiveMessage<std::vector<K>, V> several;  // and for other ranks, if it is a multicast
};

/// Inputs that have arrived for tasks that have not run.
template <class K>
class Inputs {
 public:
  virtual ~Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  /// Runs the task with its inputs.
  virtual void run(const K& key) = 0;
  /// Runs the task, which may run again so often, each time with a copy of its inputs.
  virtual void run_in_attempts(const K& key, int retries) = 0;
  /// Slots of a task that has not run to which each task gets a value, and no value has come.
  [[nodiscard]] virtual std::vector<int> missing(const K& key) const = 0;
  [[nodiscard]] virtual int slot_count() const = 0;
  /// Returns the Slot<K, V> of this number if V is the given type, else nullptr.
  [[nodiscard]] virtual void* find(int slot, const std::type_info& type) const = 0;
  [[nodiscard]] virtual std::string type_of(int slot) const = 0;
  /// Sends a number, converted to the type of the slot; returns false if that is no number, or does
  /// not hold it.
  virtual bool send_number(int slot, const K& key, Rank rank, const AnyNumber& number) const = 0;
  /// Returns whether each task has as many inputs as there are slots.
  [[nodiscard]] virtual bool is_counted() const = 0;
  /// Appends the numbers of its handlers.
  virtual void add_handlers(std::vector<std::uint32_t>& numbers) const = 0;

 protected:
  Inputs() = default;
};

/// Ws: parameters of the function; see InputOf. Inputs own their elements; for a view, it gets one
/// of them.
template <class K, class F, class... Ws>
class TypedInputs final : public Inputs<K> {
 public:
  using Fulfill = Function<void(const K& key)>;
  using IsHere = Function<bool(const K& key)>;

  /// `place`: in the program, where it made the graph.
  TypedInputs(TeamCore& core, std::string graph, const std::source_location& place, F function,
              Fulfill fulfill, IsHere is_here)
      : graph_(std::move(graph)),
        function_(std::move(function)),
        fulfill_(std::move(fulfill)),
        is_here_(std::move(is_here)),
        here_(core.rank()),
        shards_(std::make_unique<Shard[]>(kShards)) {
    make_slots(core, place, std::index_sequence_for<Ws...>());
  }

  void run(const K& key) override {
    Values values = take(key);
    call(key, values, std::index_sequence_for<Ws...>());
  }
  void run_in_attempts(const K& key, int retries) override {
    if (retries == 0) return run(key);
    const Values values = take(key);
    sched::run_attempts(retries, [&] {
      Values copy(values);
      call(key, copy, std::index_sequence_for<Ws...>());
    });
  }
  [[nodiscard]] std::vector<int> missing(const K& key) const override {
    return missing(key, std::index_sequence_for<Ws...>());
  }
  [[nodiscard]] int slot_count() const override { return static_cast<int>(sizeof...(Ws)); }
  [[nodiscard]] void* find(int slot, const std::type_info& type) const override {
    const std::array<const std::type_info*, sizeof...(Ws)> types{&typeid(ValueOf<Ws>)...};
    const auto index = static_cast<std::size_t>(slot);
    return *types[index] == type ? slots_[index].get() : nullptr;
  }
  [[nodiscard]] std::string type_of(int slot) const override {
    const std::array<std::string, sizeof...(Ws)> names{type_name<ValueOf<Ws>>()...};
    return names[static_cast<std::size_t>(slot)];
  }
  void add_handlers(std::vector<std::uint32_t>& numbers) const override {
    add_handlers(numbers, std::index_sequence_for<Ws...>());
  }
  bool send_number(int slot, const K& key, Rank rank, const AnyNumber& number) const override {
    return convert(slot, key, rank, number, std::index_sequence_for<Ws...>());
  }
  [[nodiscard]] bool is_counted() const override { return (InputOf<Ws>::is_counted && ...); }

 private:
  static constexpr std::size_t kShards = 64;
  template <class W>
  using ValueOf = typename InputOf<W>::Value;
  template <std::size_t I>
  using Input = InputOf<std::tuple_element_t<I, std::tuple<Ws...>>>;
  using Values = std::tuple<typename InputOf<Ws>::Stored...>;
  struct alignas(64) Shard {
    sync::Mutex mutex;
    FlatMap<K, Values> values SHOAL_GUARDED_BY(mutex);
  };
  [[nodiscard]] Shard& shard_of(std::uint64_t hash) const { return shards_[hash % kShards]; }

  template <std::size_t I>
  [[nodiscard]] const Slot<K, typename Input<I>::Value>& slot() const {
    return *static_cast<const Slot<K, typename Input<I>::Value>*>(slots_[I].get());
  }
  template <std::size_t I>
  bool convert(int wanted, const K& key, Rank rank, const AnyNumber& number) const {
    using V = typename Input<I>::Value;
    if constexpr (is_number_v<V>) {
      if (wanted != static_cast<int>(I)) return false;
      const std::optional<V> value = number.as<V>();
      if (!value.has_value()) return false;
      slot<I>().send(key, rank, here_, *value);
      return true;
    } else {
      return false;
    }
  }
  template <std::size_t... I>
  bool convert(int wanted, const K& key, Rank rank, const AnyNumber& number,
               std::index_sequence<I...> /*indices*/) const {
    return (convert<I>(wanted, key, rank, number) || ...);
  }
  template <std::size_t... I>
  void add_handlers(std::vector<std::uint32_t>& numbers,
                    std::index_sequence<I...> /*indices*/) const {
    (slot<I>().add_handlers(numbers), ...);
  }
  template <std::size_t... I>
  void make_slots(TeamCore& core, const std::source_location& place,
                  std::index_sequence<I...> /*indices*/) {
    (make_slot<I, ValueOf<Ws>>(core, place), ...);
  }
  template <std::size_t I, class V>
  void make_slot(TeamCore& core, const std::source_location& place) {
    const std::string name = "task graph '" + graph_ + "': input " + std::to_string(I);
    auto slot = std::make_shared<Slot<K, V>>(
        core, name, place, [this](const K& key, V value) { put<I>(key, std::move(value)); },
        [this](const std::vector<K>& keys, V value) { put_several<I>(keys, std::move(value)); });
    slot->gathers = Input<I>::gathers;
    slots_[I] = std::move(slot);
  }

  // The last one of the keys of this rank gets the value itself.
  template <std::size_t I, class V>
  void put_several(const std::vector<K>& keys, V value) {
    const K* last = nullptr;
    for (const K& key : keys) {
      if (!is_here_(key)) continue;
      if (last != nullptr) put<I>(*last, V(value));
      last = &key;
    }
    if (last != nullptr) put<I>(*last, std::move(value));
  }
  // A reduction is the program's code, so it is called without a lock: meanwhile the task has no
  // value, and others may keep theirs, which are joined next.
  template <std::size_t I, class V>
  void put(const K& key, V given) {
    if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]] {
      return attempt->withhold(
          [this, key, value = std::move(given)]() mutable { put<I>(key, std::move(value)); });
    }
    const std::uint64_t hash = KeyHash<K>{}(key);
    std::optional<V> value(std::move(given));
    while (std::optional<V> other = keep<I>(hash, key, value)) {
      const Function<V(V, V)>& reduce = slot<I>().reduce;
      if (!reduce) refuse_second_input(graph_, format_key(key), static_cast<int>(I));
      value.emplace(reduce(std::move(*other), std::move(*value)));
    }
    fulfill_(key);
  }
  // Keeps the value, or returns the one that stands in its place; takes that out if the two are to
  // be joined.
  template <std::size_t I, class V>
  std::optional<V> keep(std::uint64_t hash, const K& key, std::optional<V>& value) {
    Shard& shard = shard_of(hash);
    const sync::Lock lock(shard.mutex);
    Values* values = shard.values.find(hash, key);
    if (values == nullptr) values = &shard.values.insert(hash, key, Values());
    auto& stored = std::get<I>(*values);
    if constexpr (Input<I>::gathers) {
      stored.values.push_back(std::move(*value));
    } else if (!stored.has_value()) {
      stored.emplace(std::move(*value));
    } else if (slot<I>().reduce) {
      return std::exchange(stored, std::nullopt);
    } else {
      return std::move(value);  // no copy of theirs, which the task keeps
    }
    return std::nullopt;
  }

  Values take(const K& key) {
    const std::uint64_t hash = KeyHash<K>{}(key);
    Values values;
    Shard& shard = shard_of(hash);
    const sync::Lock lock(shard.mutex);
    if (Values* const found = shard.values.find(hash, key); found != nullptr) {
      values = std::move(*found);
      shard.values.erase(hash, key);
    }
    return values;
  }
  template <std::size_t... I>
  void call(const K& key, Values& values, std::index_sequence<I...> /*indices*/) {
    (check<I>(key, std::get<I>(values)), ...);
    function_(key, Input<I>::argument(std::get<I>(values))...);
  }
  template <std::size_t... I>
  [[nodiscard]] std::vector<int> missing(const K& key, std::index_sequence<I...> /*all*/) const {
    const std::uint64_t hash = KeyHash<K>{}(key);
    Shard& shard = shard_of(hash);
    const sync::Lock lock(shard.mutex);
    Values* const values = shard.values.find(hash, key);
    std::vector<int> slots;
    const auto add_one = [&]<std::size_t J>(std::integral_constant<std::size_t, J> /*slot*/) {
      if constexpr (Input<J>::is_counted) {
        if (values == nullptr || !std::get<J>(*values).has_value()) {
          slots.push_back(static_cast<int>(J));
        }
      }
    };
    (add_one(std::integral_constant<std::size_t, I>()), ...);
    return slots;
  }
  template <std::size_t I, class Stored>
  void check(const K& key, const Stored& stored) const {
    if constexpr (Input<I>::is_counted) {
      if (!stored.has_value()) refuse_missing_input(graph_, format_key(key), static_cast<int>(I));
    }
  }

  const std::string graph_;
  F function_;
  const Fulfill fulfill_;
  const IsHere is_here_;
  const Rank here_;
  const std::unique_ptr<Shard[]> shards_;
  std::array<std::shared_ptr<void>, sizeof...(Ws)> slots_;
};

/// Parameters of a task's function after its key.
template <class Wires>
struct InputTypes {
  static constexpr std::size_t kCount = 0;
};
template <class First, class... Ws>
struct InputTypes<TypeList<First, Ws...>> {
  template <class K, class F>
  using Table = TypedInputs<K, F, std::decay_t<Ws>...>;
  template <class K, class F>
  static consteval bool fits() {
    return CallableAs<F, void, const K&, std::decay_t<Ws>...>;
  }
  static constexpr std::size_t kCount = sizeof...(Ws);
};

/// V of a function V(V, V).
template <class F>
struct Reduction {
  using Value = void;
};
template <PlainFunction F>
struct Reduction<F> {
  template <class... Ws>
  static void first(TypeList<Ws...>);
  template <class A, class B>
  static std::decay_t<A> first(TypeList<A, B>);
  using Value = decltype(first(typename team::FunctionTraits<F>::Wires{}));
};

/// Number of inputs that a task's function takes; 0 also if its parameters cannot be listed.
template <class F>
consteval std::size_t count_inputs() {
  if constexpr (PlainFunction<F>) {
    return InputTypes<typename team::FunctionTraits<F>::Wires>::kCount;
  } else {
    return 0;
  }
}
template <class F>
inline constexpr std::size_t input_count_v = count_inputs<F>();

}  // namespace shoal::graph

#pragma once
// Inputs of tasks that travel along the edges of a graph, from any rank.

#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/graph/large_input.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/key.hpp>
#include <shoal/message.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace shoal::graph {

[[noreturn]] void refuse_slot(const std::string& graph, int slot, int count);
[[noreturn]] void refuse_input_type(const std::string& graph, int slot, const std::string& given,
                                    const std::string& wanted);
[[noreturn]] void refuse_second_input(const std::string& graph, const std::string& key, int slot);
[[noreturn]] void refuse_missing_input(const std::string& graph, const std::string& key, int slot);
[[noreturn]] void refuse_graph_rank(const TeamCore& scope, const std::string& graph,
                                    const std::string& task, std::int64_t rank);

/// One input of all tasks of a graph, of type V.
template <class K, class V>
struct Slot {
  template <class PutOne, class PutSeveral>
  Slot(messaging::Channel& channel, const std::string& name, const std::source_location& place,
       PutOne put_one, PutSeveral put_several)
      : put(put_one),
        one(channel, put_one, messaging::model_options(name), place),
        several(channel, put_several, messaging::model_options(name), place),
        large(channel, name, place, put_several) {}

  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    numbers.push_back(one.number());
    numbers.push_back(several.number());
    large.add_handlers(numbers);
  }

  Function<void(const K& key, V value)> put;  // here; counts as a dependency
  ActiveMessage<K, V> one;
  ActiveMessage<std::vector<K>, V> several;  // and for other ranks, if it is a multicast
  LargeInput<K, V> large;                    // the same
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
  [[nodiscard]] virtual int slot_count() const = 0;
  /// Returns the Slot<K, V> of this number if V is the given type, else nullptr.
  [[nodiscard]] virtual const void* find(int slot, const std::type_info& type) const = 0;
  [[nodiscard]] virtual std::string type_of(int slot) const = 0;
  /// Appends the numbers of its handlers.
  virtual void add_handlers(std::vector<std::uint32_t>& numbers) const = 0;

 protected:
  Inputs() = default;
};

/// Ws: parameters of the function. Inputs own their elements; for a view, it gets one of them.
template <class K, class F, class... Ws>
class TypedInputs final : public Inputs<K> {
 public:
  using Fulfill = Function<void(const K& key)>;
  using IsHere = Function<bool(const K& key)>;

  /// `place`: in the program, where it made the graph.
  TypedInputs(TeamCore& scope, std::string graph, const std::source_location& place, F function,
              Fulfill fulfill, IsHere is_here)
      : graph_(std::move(graph)),
        function_(std::move(function)),
        fulfill_(std::move(fulfill)),
        is_here_(std::move(is_here)),
        shards_(std::make_unique<Shard[]>(kShards)) {
    make_slots(scope, place, std::index_sequence_for<Ws...>());
  }

  void run(const K& key) override { run_with(key, std::index_sequence_for<Ws...>()); }
  [[nodiscard]] int slot_count() const override { return static_cast<int>(sizeof...(Ws)); }
  [[nodiscard]] const void* find(int slot, const std::type_info& type) const override {
    const std::array<const std::type_info*, sizeof...(Ws)> types{&typeid(wire::Owner<Ws>)...};
    const auto index = static_cast<std::size_t>(slot);
    return *types[index] == type ? slots_[index].get() : nullptr;
  }
  [[nodiscard]] std::string type_of(int slot) const override {
    const std::array<std::string, sizeof...(Ws)> names{type_name<wire::Owner<Ws>>()...};
    return names[static_cast<std::size_t>(slot)];
  }
  void add_handlers(std::vector<std::uint32_t>& numbers) const override {
    add_handlers(numbers, std::index_sequence_for<Ws...>());
  }

 private:
  static constexpr std::size_t kShards = 64;
  using Values = std::tuple<std::optional<wire::Owner<Ws>>...>;
  struct alignas(64) Shard {
    sync::Mutex mutex;
    FlatMap<K, Values> values SHOAL_GUARDED_BY(mutex);
  };
  Shard& shard_of(std::uint64_t hash) { return shards_[hash % kShards]; }

  template <std::size_t... I>
  void add_handlers(std::vector<std::uint32_t>& numbers,
                    std::index_sequence<I...> /*indices*/) const {
    (static_cast<const Slot<K, wire::Owner<Ws>>*>(slots_[I].get())->add_handlers(numbers), ...);
  }
  template <std::size_t... I>
  void make_slots(TeamCore& scope, const std::source_location& place,
                  std::index_sequence<I...> /*indices*/) {
    (make_slot<I, wire::Owner<Ws>>(scope, place), ...);
  }
  template <std::size_t I, class V>
  void make_slot(TeamCore& scope, const std::source_location& place) {
    const std::string name = "task graph '" + graph_ + "': input " + std::to_string(I);
    slots_[I] = std::make_shared<Slot<K, V>>(
        scope, name, place, [this](const K& key, V value) { put<I>(key, std::move(value)); },
        [this](const std::vector<K>& keys, V value) { put_several<I>(keys, std::move(value)); });
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
  template <std::size_t I, class V>
  void put(const K& key, V value) {
    const std::uint64_t hash = KeyHash<K>{}(key);
    bool again = false;
    {
      Shard& shard = shard_of(hash);
      const sync::Lock lock(shard.mutex);
      Values* values = shard.values.find(hash, key);
      if (values == nullptr) values = &shard.values.insert(hash, key, Values());
      auto& place = std::get<I>(*values);
      again = place.has_value();
      if (!again) place.emplace(std::move(value));
    }
    if (again) refuse_second_input(graph_, format_key(key), static_cast<int>(I));
    fulfill_(key);
  }

  template <std::size_t... I>
  void run_with(const K& key, std::index_sequence<I...> /*indices*/) {
    const std::uint64_t hash = KeyHash<K>{}(key);
    Values values;
    {
      Shard& shard = shard_of(hash);
      const sync::Lock lock(shard.mutex);
      if (Values* const found = shard.values.find(hash, key); found != nullptr) {
        values = std::move(*found);
        shard.values.erase(hash, key);
      }
    }
    (check(key, std::get<I>(values).has_value(), static_cast<int>(I)), ...);
    function_(key, messaging::as_argument<Ws>(*std::get<I>(values))...);
  }
  void check(const K& key, bool there, int slot) const {
    if (!there) refuse_missing_input(graph_, format_key(key), slot);
  }

  const std::string graph_;
  F function_;
  const Fulfill fulfill_;
  const IsHere is_here_;
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

/// Number of inputs that a task's function takes; 0 also if its parameters cannot be listed.
template <class F>
consteval std::size_t count_inputs() {
  if constexpr (PlainFunction<F>) {
    return InputTypes<typename messaging::FunctionTraits<F>::Wires>::kCount;
  } else {
    return 0;
  }
}
template <class F>
inline constexpr std::size_t input_count_v = count_inputs<F>();

}  // namespace shoal::graph

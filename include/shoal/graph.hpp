#pragma once
// Parametrized task graphs: tasks named by keys, run when all their dependencies are fulfilled.

#include <shoal/compute.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/base/number.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/graph/dependency_table.hpp>
#include <shoal/detail/graph/inputs.hpp>
#include <shoal/detail/sched/dependencies.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/gathered.hpp>
#include <shoal/key.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace graph {

/// Lines of a report on the tasks that wait in a graph: at most kKeysMax keys, and the number of
/// the others.
class WaitingList {
 public:
  static constexpr std::uint64_t kKeysMax = 16;
  explicit WaitingList(std::string graph) : graph_(std::move(graph)) {}
  void add(const std::string& progress);
  [[nodiscard]] bool full() const { return count_ >= kKeysMax; }
  [[nodiscard]] std::vector<std::string> lines(std::uint64_t total) &&;

 private:
  std::string graph_;
  std::uint64_t count_ = 0;
  std::vector<std::string> lines_;
};

template <class K>
inline constexpr bool is_integer_tuple_v = false;
template <class A, class B>
inline constexpr bool is_integer_tuple_v<std::pair<A, B>> =
    std::is_same_v<A, int> && std::is_same_v<B, int>;
template <class... Ts>
inline constexpr bool is_integer_tuple_v<std::tuple<Ts...>> = sizeof...(Ts) > 0 &&
                                                              (std::is_same_v<Ts, int> && ...);
template <std::size_t N>
inline constexpr bool is_integer_tuple_v<std::array<int, N>> = N > 0;
/// Numbers of a key that is an int, or a tuple of several; 0: it is none.
template <class K>
consteval std::size_t number_count() {
  if constexpr (std::is_same_v<K, int>) {
    return 1;
  } else if constexpr (is_integer_tuple_v<K>) {
    return std::tuple_size_v<K> > 1 ? std::tuple_size_v<K> : 0;
  } else {
    return 0;
  }
}

/// Writes the digits of a number; returns the number of characters.
std::size_t write_number(std::span<char> text, std::int64_t number) noexcept;
/// Writes one part of a tuple, "(1" or ", 2"; returns the number of characters.
std::size_t write_part(std::span<char> text, int part, bool is_first) noexcept;

/// Returns a line such as "gemm[(1, 2)] has fulfilled 1 of 3 dependencies".
std::string progress_of(const std::string& task, const Entry& entry);
/// Returns a text such as ": inputs 0, 3 are missing"; nothing for no slots.
std::string missing_text(const std::vector<int>& slots);
/// Returns the progress of task number `index` of set_dense(), for reports in which its key is not
/// known.
std::string progress_of(std::size_t index, int remaining);

/// Copies the string that `make` returns into `text`, as far as there is room; returns the number
/// of characters, and 0 if `make` throws.
std::size_t write_text(std::span<char> text, FunctionRef<std::string()> make) noexcept;
/// Writes the text of a key into `text`, as far as there is room; returns the number of characters.
/// Traces write one for each task, so keys of integers take no allocation.
template <class K>
std::size_t write_key(std::span<char> text, const K& key) noexcept {
  if constexpr (std::is_integral_v<K> && std::is_signed_v<K> && sizeof(K) > 1) {
    return write_number(text, key);
  } else if constexpr (is_integer_tuple_v<K>) {
    std::size_t length = 0;
    std::apply(
        [&](const auto&... parts) {
          ((length += write_part(text.subspan(length), parts, length == 0)), ...);
        },
        key);
    if (length < text.size()) text[length++] = ')';
    return length;
  } else {
    return write_text(text, [&key] { return format_key(key); });
  }
}

/// A number that hardly any other pair has.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t all = (a + kOdd) * kOdd;
  all = (all ^ (all >> 32U) ^ b) * kOdd;
  return all ^ (all >> 29U);
}

template <class K, class P, class... Ps>
consteval void check_first(TypeList<P, Ps...> /*parameters*/) {
  static_assert(!truncates_v<K, P>,
                "shoal: the parameter of the function is smaller than the key of the graph, which "
                "it would truncate: take const K&");
}
/// Refuses functions whose first parameter does not hold every key of type K.
template <class F, class K>
consteval void check_key_parameter() {
  if constexpr (PlainFunction<F>) check_first<K>(typename team::FunctionTraits<F>::Parameters{});
}

[[noreturn]] void refuse_missing(const std::string& graph, const std::string& key,
                                 const char* function);
[[noreturn]] void refuse_key(const TeamCore& core, const std::string& graph, detail::TextValue key,
                             std::string_view type);
[[noreturn]] void refuse_indegree(const std::string& task, std::int64_t indegree);
[[noreturn]] void refuse_count(const std::string& task, std::int64_t count);
/// Throws CheckError: the function that was given to `set` has returned `number`, which is no int.
[[noreturn]] void refuse_number(const std::string& graph, const std::string& key, const char* set,
                                const std::string& number);
[[noreturn]] void refuse_worker(const std::string& task, std::int64_t worker, int worker_count);
[[noreturn]] void refuse_over(const std::string& task, const Entry& entry, std::int64_t count);
[[noreturn]] void refuse_repeat(const std::string& task);
[[noreturn]] void refuse_index(const std::string& task, std::size_t index, std::size_t size);
[[noreturn]] void refuse_change(const std::string& graph);
[[noreturn]] void refuse_ended(const std::string& graph);
[[noreturn]] void refuse_reset(const std::string& graph, const std::vector<std::string>& waiting);

}  // namespace graph

/// A graph of tasks with keys of type K on one rank (tasktorrent paper, section II-A1).
///
/// Functions of the key say how many dependencies a task has, what it does and where it starts; a
/// task does not exist until its first dependency is fulfilled, and nothing of it is kept after it
/// ran. With set_rank() tasks are fulfilled, and get inputs, from any rank; without it, active
/// messages trigger tasks of other ranks: their handlers call fulfill().
///
/// K: copyable, equality-comparable, hashable (integers, enums, strings, pairs, tuples and arrays
/// of those, std::hash<K>, or a function shoal_hash(k)).
/// **Caller**: the set_ functions by the main function before the first fulfill(); fulfill() by
/// any task, handler, main function or thread. **Lifetime**: until wait() has returned; one that
/// ends before with tasks left fails the world.
template <class K>
class TaskGraph final : private team::Unsatisfied {
  static_assert(!wire::holds_view_v<K>,
                "shoal: a graph keeps its keys, and a view owns none: take std::string");

 public:
  /// `name` is used in reports; with `place` it tells the graph from others that are made in
  /// another order on another rank.
  explicit TaskGraph(Team& team, std::string name = "graph",
                     const std::source_location& place = std::source_location::current())
      : core_(core_of(team)),
        name_(std::move(name)),
        place_(place),
        shard_mask_(std::bit_ceil(4 * static_cast<std::size_t>(core_.scheduler().worker_count())) -
                    1),
        history_(core_.checks_graphs() ? std::make_unique<graph::History<K>>() : nullptr),
        is_recorded_(core_.scheduler().options().recorder != nullptr) {
    if (is_recorded_) begin_recording();
    shards_ = std::make_unique<Shard[]>(shard_mask_ + 1);
    core_.add(*this);
  }
  ~TaskGraph() { core_.remove(*this); }
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  /// Required: how many times task k is fulfilled before it runs; at least 1. Called once per
  /// fulfill(), by its caller.
  template <class F>
  TaskGraph& set_indegree(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(fits, "shoal: set_indegree() takes a function int(const K&) of the graph's key");
    if constexpr (fits) {
      set_number(indegree_, "set_indegree", std::move(function));
      counts_inputs_ = false;
    }
    return *this;
  }
  /// Required: the body of task k. Functions with further parameters, void(const K&, V0, V1, ...),
  /// get the inputs that send() and send_all() have brought. Each input counts as one dependency;
  /// without set_indegree() a task has as many dependencies as inputs. V0, V1, ... are types that
  /// messages carry; a view refers to elements that are kept until the task has run. A
  /// std::optional<V> takes one V or none, and a Gathered<V> takes all that arrive: both require
  /// set_indegree(). **Caller**: with inputs, all ranks in the same order.
  template <class F>
    requires(graph::input_count_v<F> > 0)
  TaskGraph& set_task(F function) {
    using Types = graph::InputTypes<typename team::FunctionTraits<F>::Wires>;
    constexpr bool fits = Types::template fits<K, F>();
    static_assert(
        fits,
        "shoal: set_task() takes a function void(const K&, V0, V1, ...): give it the key of the "
        "graph first, then its inputs by value or as const V&");
    if constexpr (fits) set_inputs<typename Types::template Table<K, F>>(std::move(function));
    return *this;
  }
  /// Required: the body of task k, void(const K&), for tasks without inputs. **Caller**: the main
  /// function, before the first fulfill().
  template <class F>
    requires(graph::input_count_v<F> == 0)
  TaskGraph& set_task(F function) {
    constexpr bool fits = CallableAs<F, void, const K&>;
    static_assert(
        fits,
        "shoal: set_task() takes a function void(const K&) of the graph's key; with "
        "inputs void(const K&, V0, V1, ...), whose types it must know: no auto parameters");
    if constexpr (fits) {
      set(task_, std::move(function));
      inputs_.reset();
      if (retries_) begin_retries();
    }
    return *this;
  }
  /// Optional: the values of an input are joined: `reduce(a, b)`, a function V(V, V), is called
  /// with values of the same task until one is left. For operations of which neither the order nor
  /// the grouping matters: those of the calls are not the same each time. Each value counts as one
  /// dependency, so set_indegree() is required. **Caller**: after set_task(), before the first
  /// fulfill(), on all ranks. **Errors**: CheckError if there is no such slot, and if it has
  /// another type or is Gathered.
  template <class F>
  TaskGraph& set_reduction(int slot, F reduce) {
    using V = typename graph::Reduction<F>::Value;
    constexpr bool fits = !std::is_void_v<V>;
    static_assert(fits, "shoal: set_reduction() takes a slot, and a function V(V, V) of its type");
    if constexpr (fits) {
      static_assert(CallableAs<F, V, V, V>,
                    "shoal: set_reduction() takes a function that returns the type that it takes");
      check_unused();
      if (!task_) graph::refuse_early_reduction(name_, slot);
      graph::Slot<K, V>* const to = find_slot<V>(slot);
      if (to == nullptr) refuse_input_type<V>(slot);
      if (to->gathers) graph::refuse_reduction(name_, slot);
      to->reduce = std::move(reduce);
      if (std::exchange(counts_inputs_, false)) indegree_ = nullptr;  // how many come is not known
    }
    return *this;
  }
  /// Optional: the worker on which task k is queued at first, 0 <= worker < worker_count().
  /// Default: by the hash of the key.
  template <class F>
  TaskGraph& set_mapping(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(fits, "shoal: set_mapping() takes a function int(const K&) of the graph's key");
    if constexpr (fits) set_number(mapping_, "set_mapping", std::move(function));
    return *this;
  }
  /// Optional: the rank on which task k runs, 0 <= rank < size. Then fulfill(), send() and
  /// send_all() may be called on any rank. K is a type that messages carry. **Caller**: all ranks,
  /// in the same order.
  template <class F>
  TaskGraph& set_rank(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(fits,
                  "shoal: set_rank() takes a function shoal::Rank(const K&) or int(const K&): give "
                  "it one parameter, the key of the graph");
    if constexpr (fits) {
      set_number(rank_, "set_rank", std::move(function));
      auto message = std::make_shared<ActiveMessage<K, int>>(
          core_, [this](const K& k, int count) { fulfill_from_outside(k, count); },
          team::model_options("task graph '" + name_ + "': fulfill()"), place_);
      handlers_.push_back(message->number());
      forward_ = [message](int rank, const K& k, int count) {
        message->send(Rank(rank), k, count);
      };
    }
    return *this;
  }
  /// Optional: larger runs first. Default 0. Priorities are integers, which tasks of other graphs
  /// and models have, too: scale fractions.
  template <class F>
  TaskGraph& set_priority(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(
        fits,
        "shoal: set_priority() takes a function int(const K&) of the graph's key: round or scale "
        "floating-point numbers");
    if constexpr (fits) set_number(priority_, "set_priority", std::move(function));
    return *this;
  }
  /// Optional: true binds task k to its worker; false (the default) lets others steal it.
  template <class F>
  TaskGraph& set_binding(F function) {
    constexpr bool fits = CallableAs<F, bool, const K&>;
    static_assert(fits, "shoal: set_binding() takes a function bool(const K&) of the graph's key");
    if constexpr (fits) set(binding_, std::move(function));
    has_marks_ = true;
    return *this;
  }
  /// Optional: how often task k runs again after it has thrown, before its error counts. Each
  /// attempt gets a copy of the inputs, and the effects of one that fails are dropped: see
  /// docs/errors.md, "Tasks that are tried again". Default: 0.
  template <class F>
  TaskGraph& set_retries(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(fits, "shoal: set_retries() takes a function int(const K&) of the graph's key");
    if constexpr (fits) {
      const bool is_first = !retries_;
      set_number(retries_, "set_retries", std::move(function));
      if (is_first && task_) begin_retries();
    }
    return *this;
  }
  /// Optional: name of task k in reports; called by any thread, while the graph lives, and with
  /// locks of shoal held: it must not block or call shoal. Default: graph name and key.
  template <class F>
  TaskGraph& set_name(F function) {
    constexpr bool fits = CallableAs<F, std::string, const K&>;
    static_assert(fits,
                  "shoal: set_name() takes a function std::string(const K&) of the graph's key");
    if constexpr (fits) set(task_name_, std::move(function));
    return *this;
  }
  /// Optional: true marks task k as memory-bound, as TaskOptions::memory_bound does. Called only in
  /// runs with a limit (--memory-bound-max). Default: by the cost, see set_cost().
  template <class F>
  TaskGraph& set_memory_bound(F function) {
    constexpr bool fits = CallableAs<F, bool, const K&>;
    static_assert(fits,
                  "shoal: set_memory_bound() takes a function bool(const K&) of the graph's key");
    if constexpr (fits) set(memory_bound_, std::move(function));
    has_marks_ = true;
    return *this;
  }
  /// Optional: how long task k takes in a simulated world, beside what it gives to compute().
  /// Called when it runs. In runs with a limit for memory-bound tasks it is also called when the
  /// task is ready, and marks it if Cost::is_memory_bound().
  template <class F>
  TaskGraph& set_cost(F function) {
    constexpr bool fits = CallableAs<F, Cost, const K&>;
    static_assert(fits, "shoal: set_cost() takes a function Cost(const K&) of the graph's key");
    if constexpr (fits) set(cost_, std::move(function));
    if (core_.scheduler().memory_bound_limit() != nullptr) has_marks_ = true;
    return *this;
  }
  /// Optional: the keys are numbered, 0 <= index(k) < size, each its own number. Dependencies are
  /// then counted in an array of 4 bytes per key, without hashing or locks, and fulfilling a task
  /// that has run already is noticed. Each key runs once until reset(). `key(i)` is the key of
  /// number i, by which reports name tasks; not needed where an integer is its own number.
  template <class Index, class KeyOf = std::nullptr_t>
  TaskGraph& set_dense(std::size_t size, Index index, KeyOf key = {}) {
    constexpr bool fits = CallableAs<Index, std::size_t, const K&> &&
                          (std::is_null_pointer_v<KeyOf> || CallableAs<KeyOf, K, std::size_t>);
    static_assert(
        fits,
        "shoal: set_dense() takes a size, a function std::size_t(const K&) and, if given, "
        "a function K(std::size_t)");
    if constexpr (fits) graph::check_key_parameter<Index, K>();
    if constexpr (fits) set_dense_functions(size, std::move(index), std::move(key));
    return *this;
  }

  /// Optional: tasks may be fulfilled again after they ran, and then run again, without a wait() in
  /// between. --check-graphs, which takes that for a mistake, leaves this graph out.
  TaskGraph& set_repeating() {
    check_unused();
    history_.reset();
    return *this;
  }

  /// Begins another round: each task may run once more. Not needed without set_dense(). **Caller**:
  /// the main function, after wait() and before any rank fulfills tasks of this one again: several
  /// ranks call barrier() between reset() and the first fulfill(). **Errors**: CheckError that
  /// names tasks which have fulfilled some of their dependencies only; nothing has changed then.
  /// **Cost**: 4 bytes are written per key, and nothing is allocated.
  void reset() {
    if (run_has_ended_) graph::refuse_ended(name_);
    if (unsatisfied_count() > 0) graph::refuse_reset(name_, describe_unsatisfied());
    if (dense_ != nullptr) dense_->reset();
    if (history_ != nullptr) history_->forget();
  }

  /// Fulfills `count` of the dependencies of task k; the last one makes it ready.
  ///
  /// **Blocks**: never. **Errors**: CheckError that names k when a required function is missing,
  /// the indegree is below 1, the worker is out of range, `count` is below 1, or more is fulfilled
  /// than the indegree says. (Without set_dense(), a key that is fulfilled after it ran is a new
  /// task. With --check-graphs, which simulated worlds and debug builds of shoal have on, this is a
  /// CheckError until wait() returns, and names the earlier callers; see set_repeating().)
  /// **Ordering**: writes of the caller before it are visible to the task. With set_rank(): on the
  /// rank of k, by a message if that is another one.
  void fulfill(const K& k, int count = 1) {
    if (rank_) {
      const int rank = rank_of(k);
      if (rank != core_.rank()) return forward_(rank, k, count);
    }
    fulfill_here(k, count);
  }
  /// Counts dependencies of the task whose key is this number, of a larger type than K. **Errors**:
  /// CheckError for one that is no K; those of fulfill() of a K.
  template <class N>
    requires truncates_v<N, K>
  void fulfill(const N& k, int count = 1) {
    fulfill(as_key(k), count);
  }

  /// Brings an input of task k, and fulfills one of its dependencies, on its rank: `slot` counts
  /// the parameters of the function behind the key, from 0; the type of `value` is that of the
  /// parameter. Within a process a value that may be moved is moved, and an Immutable is shared.
  /// Between processes it travels as an argument of an active message, from 16 KiB on without a
  /// copy if it may be moved or is an Immutable.
  ///
  /// **Caller** and **Blocks**: as ActiveMessage::send(). **Errors**: CheckError for a slot that
  /// there is not, another type, and an input that the task has already.
  template <class V>
  void send(const K& k, int slot, V&& value) {
    using T = std::decay_t<V>;
    const Rank rank(rank_here(k));
    const graph::Slot<K, T>* const to = find_slot<T>(slot);
    if (to != nullptr) {
      to->send(k, rank, core_.rank(), std::forward<V>(value));
    } else if constexpr (graph::is_number_v<T>) {
      send_number(k, slot, rank, graph::AnyNumber::of(value), type_name<T>());
    } else {
      refuse_input_type<T>(slot);
    }
  }
  /// Brings an optional input of task k, or, if it is empty, fulfills the dependency without one.
  /// **Caller**, **Blocks**, **Errors**: as send() of a value.
  template <class V>
    requires graph::is_optional_v<std::decay_t<V>>
  void send(const K& k, int slot, V&& value) {
    if (value.has_value()) return send(k, slot, *std::forward<V>(value));
    check_slot(slot);
    fulfill(k);
  }
  /// Brings a text as an input of task k, whose parameter is a std::string or a view of one.
  /// **Caller**, **Blocks**, **Errors**: as send() of a value.
  void send(const K& k, int slot, const char* text) { send(k, slot, std::string(text)); }
  /// Brings the elements of a view as an input of task k, whose parameter is a std::vector, a
  /// std::string or a view; the elements are copied. **Caller**, **Blocks**, **Errors**: as send()
  /// of a value.
  template <class V>
    requires wire::is_view_v<std::decay_t<V>>
  void send(const K& k, int slot, V&& value) {
    send(k, slot, wire::own<wire::Owner<std::decay_t<V>>>(value));
  }
  /// Brings an input of the task whose key is this number, of a larger type than K. **Errors**:
  /// CheckError for one that is no K; those of send() to a K.
  template <class N, class V>
    requires truncates_v<N, K>
  void send(const N& k, int slot, V&& value) {
    send(as_key(k), slot, std::forward<V>(value));
  }
  /// Brings an optional input to several tasks, or fulfills a dependency of each without one.
  /// **Caller**, **Blocks**, **Errors**: as send().
  template <class Keys, class V>
    requires graph::is_optional_v<std::decay_t<V>>
  void send_all(const Keys& keys, int slot, V&& value) {
    if (value.has_value()) return send_all(keys, slot, *std::forward<V>(value));
    check_slot(slot);
    for (const auto& key : keys) fulfill(as_key(key));
  }
  /// Brings one input to several tasks, and fulfills one dependency of each: the value travels once
  /// to each of their ranks, with the keys, to more than one rank as a multicast. Each task gets a
  /// copy of its own; an Immutable is shared. **Caller**, **Blocks**, **Errors**: as send().
  template <class Keys, class V>
  void send_all(const Keys& keys, int slot, V&& value) {
    using T = std::decay_t<V>;
    const graph::Slot<K, T>* const found = find_slot<T>(slot);
    if constexpr (graph::is_number_v<T>) {
      if (found == nullptr) {
        for (const auto& key : keys) send(as_key(key), slot, value);
        return;
      }
    }
    if (found == nullptr) refuse_input_type<T>(slot);
    const graph::Slot<K, T>& to = *found;
    std::vector<K> here;
    std::vector<K> there;
    std::vector<Rank> ranks;
    for (const auto& key : keys) {
      const K& k = as_key(key);
      const Rank rank(rank_here(k));
      (rank == core_.rank() ? here : there).push_back(k);
      if (rank == core_.rank()) continue;
      bool is_new = true;
      for (const Rank& known : ranks) is_new = is_new && known != rank;
      if (is_new) ranks.push_back(rank);
    }
    const T& kept = value;
    if (!ranks.empty() && here.empty()) send_away(to, ranks, there, std::forward<V>(value));
    if (!ranks.empty() && !here.empty()) send_away(to, ranks, there, kept);
    for (std::size_t i = 0; i < here.size(); ++i) {
      to.put(here[i], i + 1 == here.size() ? T(std::forward<V>(value)) : T(kept));
    }
  }

  /// Brings the elements of a view as one input of several tasks; the elements are copied.
  /// **Caller**, **Blocks**, **Errors**: as send().
  template <class Keys, class V>
    requires wire::is_view_v<std::decay_t<V>>
  void send_all(const Keys& keys, int slot, V&& value) {
    send_all(keys, slot, wire::own<wire::Owner<std::decay_t<V>>>(value));
  }

  /// Name in reports.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  /// Brings an input to tasks of other ranks.
  template <class Slot, class V>
  static void send_away(const Slot& to, const std::vector<Rank>& ranks, const std::vector<K>& keys,
                        V&& value) {
    if (ranks.size() == 1) {
      to.several.send(ranks.front(), keys, std::forward<V>(value));
    } else {
      to.several.multicast({ranks, graph::tree_of_inputs(ranks.size())}, keys,
                           std::forward<V>(value));
    }
  }
  /// Returns the key, or a number as a key.
  template <class N>
  [[nodiscard]] decltype(auto) as_key(const N& k) const {
    static_assert(!loses_fraction_v<N, K>,
                  "shoal: a floating-point number would lose its fraction as a key, which is an "
                  "integer: convert it where the fraction may go");
    if constexpr (may_cut_v<N, K>) {
      if (!holds<K>(k)) [[unlikely]]
        graph::refuse_key(core_, name_, k, naming::type_text<K>());
    }
    if constexpr (std::is_same_v<N, K>) {
      return static_cast<const K&>(k);
    } else {
      return static_cast<K>(k);
    }
  }
  // By messages and inputs.
  void fulfill_from_outside(const K& k, int count) { fulfill_here(k, count); }
  SHOAL_ALWAYS_INLINE void fulfill_here(const K& k, int count) {
    // acquire pairs with the release in fulfill_slowly(): the functions are seen.
    if (way_.load(std::memory_order_acquire) != Way::plain) [[unlikely]] {
      if (fulfill_slowly(k, count)) return;
    }
    const int indegree = indegree_(k);
    if (indegree < 1 || count < 1) [[unlikely]]
      refuse(k, indegree, count);
    count_one(k, count, indegree);
  }
  // How fulfill() counts: by way of fulfill_slowly(), or as it is, perhaps recorded. Once a task of
  // the rank runs in attempts, each fulfill() looks for one.
  enum class Way : std::uint8_t { slow, recorded, plain, attempts };

  SHOAL_ALWAYS_INLINE void count_one(const K& k, int count, int indegree) {
    if (dense_ != nullptr) {
      fulfill_dense(k, count, indegree);
    } else if (indegree == 1 && count == 1) {
      spawn(k);  // never waits: needs no entry
    } else {
      fulfill_hashed(k, count, indegree);
    }
  }
  [[nodiscard]] int rank_of(const K& k) const {
    const int rank = rank_(k);
    if (rank != core_.rank().value() && (rank < 0 || rank >= core_.size())) [[unlikely]]
      graph::refuse_graph_rank(core_, name_, task_name(k), rank);
    return rank;
  }
  /// Returns the rank of task k; without set_rank() all tasks are of this rank.
  [[nodiscard]] int rank_here(const K& k) const {
    return rank_ ? rank_of(k) : core_.rank().value();
  }
  void check_slot(int slot) const {
    const int count = inputs_ != nullptr ? inputs_->slot_count() : 0;
    if (slot < 0 || slot >= count) graph::refuse_slot(name_, slot, count);
  }
  /// Returns the slot, or nullptr if it has another type.
  template <class T>
  graph::Slot<K, T>* find_slot(int slot) const {
    check_slot(slot);
    return static_cast<graph::Slot<K, T>*>(inputs_->find(slot, typeid(T)));
  }
  template <class T>
  [[noreturn]] void refuse_input_type(int slot) const {
    graph::refuse_input_type(name_, slot, type_name<T>(), inputs_->type_of(slot));
  }
  void send_number(const K& k, int slot, Rank rank, const graph::AnyNumber& number,
                   const std::string& type) const {
    if (inputs_->send_number(slot, k, rank, number)) return;
    graph::refuse_input_type(name_, slot, type + number.text(), inputs_->type_of(slot));
  }

  struct alignas(64) Shard {
    mutable sync::StoreReleaseMutex mutex;
    graph::DependencyTable<K> table SHOAL_GUARDED_BY(mutex);
  };

  class KeyTask final : public sched::Task {
   public:
    KeyTask(TaskGraph& graph, const K& key) : graph_(graph), key_(key) {}
    void run() override {
      if (graph_.cost_) [[unlikely]]
        graph_.spend(key_);
      graph_.task_(key_);
    }
    [[nodiscard]] std::string name() const override { return graph_.task_name(key_); }
    [[nodiscard]] std::string_view plain_name() const noexcept override { return graph_.name_; }
    std::size_t write_key(std::span<char> text) const noexcept override {
      if (graph_.task_name_) return graph::write_text(text, [this] { return name(); });
      return graph::write_key(text, key_);
    }
    std::size_t write_numbers(std::span<std::int32_t> numbers) const noexcept override {
      constexpr std::size_t count = graph::number_count<K>();
      if (count == 0 || count > numbers.size() || graph_.task_name_) return 0;
      if constexpr (std::is_same_v<K, int>) {
        numbers[0] = key_;
      } else if constexpr (count > 0) {
        std::apply(
            [out = numbers.data()](const auto&... parts) mutable { ((*out++ = parts), ...); },
            key_);
      }
      return count;
    }
    [[nodiscard]] std::uint64_t join() const noexcept override {
      return graph_.is_recorded_ ? graph_.join_of(KeyHash<K>{}(key_)) : 0;
    }

   private:
    TaskGraph& graph_;
    const K key_;
  };

  void set_dense_functions(std::size_t size, Function<std::size_t(const K&)> index,
                           Function<K(std::size_t)> key) {
    check_unused();
    dense_ = std::make_unique<graph::DenseTable>(size);
    dense_waiting_ =
        std::make_unique<Waiting[]>(static_cast<std::size_t>(core_.scheduler().worker_count()) + 1);
    dense_index_ = std::move(index);
    dense_key_ = std::move(key);
  }

  template <class Table, class F>
  void set_inputs(F function) {
    graph::check_key_parameter<F, K>();
    check_unused();
    auto inputs = std::make_shared<Table>(
        core_, name_, place_, std::move(function),
        [this](const K& k) { fulfill_from_outside(k, 1); },
        [this](const K& k) { return rank_here(k) == core_.rank(); });
    inputs->add_handlers(handlers_);
    task_ = [inputs](const K& k) { inputs->run(k); };
    inputs_ = std::move(inputs);
    if (retries_) begin_retries();
    if (!indegree_ && inputs_->is_counted()) {
      indegree_ = [](const K&) { return static_cast<int>(graph::input_count_v<F>); };
      counts_inputs_ = true;
    }
  }

  // Numbers that are no int are refused, not cut off.
  template <class F>
  void set_number(Function<int(const K&)>& slot, const char* name, F function) {
    using Number = std::remove_cvref_t<std::invoke_result_t<F&, const K&>>;
    if constexpr (exceeds_int_v<Number>) {
      graph::check_key_parameter<F, K>();
      set(slot, [this, name, function = std::move(function)](const K& k) mutable -> int {
        const Number number = function(k);
        const int result = static_cast<int>(number);
        if (static_cast<Number>(result) != number || (result < 0) != (number < Number{}))
            [[unlikely]]
          graph::refuse_number(name_, format_key(k), name, std::to_string(number));
        return result;
      });
    } else {
      set(slot, std::move(function));
    }
  }

  template <class Slot, class F>
  void set(Slot& slot, F function) {
    graph::check_key_parameter<F, K>();
    check_unused();
    slot = std::move(function);
  }

  void check_unused() const {
    if (run_has_ended_) graph::refuse_ended(name_);
    // relaxed: a change that races with a fulfill() is refused where it can be noticed
    if (used_.load(std::memory_order_relaxed)) graph::refuse_change(name_);
  }

  void become_complete(const K& k) {
    if (!indegree_) graph::refuse_missing(name_, format_key(k), "set_indegree");
    if (!task_) graph::refuse_missing(name_, format_key(k), "set_task");
    if (!mapping_) {
      const auto workers = static_cast<std::uint64_t>(core_.scheduler().worker_count());
      mapping_ = [workers](const K& key) { return static_cast<int>(KeyHash<K>{}(key) % workers); };
    }
    used_.store(true, std::memory_order_release);
  }

  void begin_retries() {
    const auto retries = [this](const K& k) {
      const int count = retries_(k);
      if (count < 0) sched::check_retries(count, task_name(k));
      return count;
    };
    if (inputs_ != nullptr) {
      task_ = [inputs = inputs_, retries](const K& k) { inputs->run_in_attempts(k, retries(k)); };
    } else {
      task_ = [task = std::move(task_), retries](const K& k) {
        const int count = retries(k);
        if (count == 0) return task(k);
        sched::run_attempts(count, [&task, &k] { task(k); });
      };
    }
  }

  // The first one after a wait(), and all with --check-graphs or --trace; false: it is still to be
  // done.
  [[gnu::noinline]] bool fulfill_slowly(const K& k, int count) {
    if (way_.load(std::memory_order_acquire) == Way::recorded) {
      fulfill_recorded(k, count);
      return true;
    }
    if (run_has_ended_) graph::refuse_ended(name_);
    if (sched::Attempt* const attempt = sched::current_attempt()) {
      attempt->withhold([this, k, count] { fulfill_here(k, count); });
      return true;
    }
    if (!used_.load(std::memory_order_acquire)) become_complete(k);
    in_use_.store(true, std::memory_order_relaxed);  // at_rest() comes with all that ends it
    const bool checks = history_ != nullptr && dense_ == nullptr;
    if (!checks) change_way(Way::slow, is_recorded_ ? Way::recorded : Way::plain);
    if (!checks && !is_recorded_) return false;
    if (!checks) {
      fulfill_recorded(k, count);
    } else {
      const int indegree = indegree_(k);
      if (indegree < 1 || count < 1) refuse(k, indegree, count);
      fulfill_checked(k, count, indegree);
    }
    return true;
  }

  void change_way(Way from, Way to) {
    way_.compare_exchange_strong(from, to, std::memory_order_release, std::memory_order_relaxed);
  }
  void leave_short_way() {
    change_way(Way::plain, Way::slow);
    change_way(Way::recorded, Way::slow);
  }

  void fulfill_recorded(const K& k, int count) {
    const int indegree = indegree_(k);
    if (indegree < 1 || count < 1) refuse(k, indegree, count);
    if (indegree == 1 && count == 1 && dense_ == nullptr) return spawn(k);
    const std::uint64_t hash = KeyHash<K>{}(k);
    graph::Entry entry;
    const graph::Fulfill result = dense_ != nullptr
                                      ? count_dense(k, count, indegree, entry)
                                      : count_out_of_line(hash, k, count, indegree, entry);
    record_waiting(hash, result);
    finish(k, result, entry, count);
  }

  // The last dependency is the cause for which the task becomes ready.
  void record_waiting(std::uint64_t hash, graph::Fulfill result) {
    if (is_recorded_ && result == graph::Fulfill::waiting) sched::record_fulfilled(join_of(hash));
  }

  [[gnu::noinline]] void fulfill_checked(const K& k, int count, int indegree) {
    const std::string culprit = graph::fulfiller();
    graph::Fulfillers past;
    graph::Entry entry;
    graph::Fulfill result{};
    const std::uint64_t hash = KeyHash<K>{}(k);
    {
      const sync::Lock lock(history_->mutex);
      graph::Fulfillers* known = history_->keys.find(hash, k);
      if (known == nullptr) known = &history_->keys.insert(hash, k, {});
      past = *known;
      if (!known->done) {
        result = count_out_of_line(hash, k, count, indegree, entry);
        known->done = result == graph::Fulfill::ready;
        known->add(count, culprit);
      }
    }
    if (past.done) graph::refuse_again(task_name(k), indegree, culprit, past.names);
    if (result == graph::Fulfill::over) {
      graph::refuse_over(task_name(k), entry, count, culprit, past.names);
    }
    record_waiting(hash, result);
    finish(k, result, entry, count);
  }

  // The task is always run, for the sake of what it triggers: work that --sim-dry may skip is
  // inside compute().
  [[gnu::noinline]] void spend(const K& k) const {
    if (sched::costs_count()) static_cast<void>(sched::spend(cost_(k)));
  }

  [[nodiscard]] std::string task_name(const K& k) const {
    return task_name_ ? task_name_(k) : name_ + "[" + format_key(k) + "]";
  }

  SHOAL_ALWAYS_INLINE void fulfill_hashed(const K& k, int count, int indegree) {
    graph::Entry entry;  // filled if it is refused
    graph::Fulfill result{};
    const std::uint64_t hash = KeyHash<K>{}(k);
    Shard& shard = shard_of(hash);
    {
      const sync::StoreReleaseLock lock(shard.mutex);
      result = shard.table.fulfill(hash, k, count, indegree, entry);
      if (result == graph::Fulfill::waiting) return;
    }
    finish(k, result, entry, count);
  }
  [[nodiscard]] Shard& shard_of(std::uint64_t hash) { return shards_[hash & shard_mask_]; }

  // Not inlined: one more copy makes the first one longer.
  [[gnu::noinline]] graph::Fulfill count_out_of_line(std::uint64_t hash, const K& k, int count,
                                                     int indegree, graph::Entry& entry) {
    Shard& shard = shard_of(hash);
    const sync::StoreReleaseLock lock(shard.mutex);
    return shard.table.fulfill(hash, k, count, indegree, entry);
  }

  SHOAL_ALWAYS_INLINE void fulfill_dense(const K& k, int count, int indegree) {
    graph::Entry entry;
    const graph::Fulfill result = count_dense(k, count, indegree, entry);
    finish(k, result, entry, count);
  }

  SHOAL_ALWAYS_INLINE graph::Fulfill count_dense(const K& k, int count, int indegree,
                                                 graph::Entry& entry) {
    const std::size_t index = dense_index_(k);
    if (index >= dense_->capacity()) graph::refuse_index(task_name(k), index, dense_->capacity());
    const graph::Fulfill result = dense_->fulfill(index, count, indegree, entry);
    if (result == graph::Fulfill::waiting && entry.fulfilled == count) count_waiting(1);
    if (result == graph::Fulfill::ready && count < indegree) count_waiting(-1);
    return result;
  }

  // Number of dense keys that wait, as a search of all keys would take too long: one counter for
  // each worker, and the last one for other threads.
  struct alignas(64) Waiting {
    std::atomic<std::int64_t> count{0};
  };
  // relaxed: the reader that sums them has seen the end of all tasks and messages that counted
  void count_waiting(std::int64_t change) {
    const sched::Scheduler& scheduler = core_.scheduler();
    const int slot = scheduler.count_slot();
    std::atomic<std::int64_t>& count = dense_waiting_[static_cast<std::size_t>(slot)].count;
    if (slot == scheduler.worker_count()) {
      count.fetch_add(change, std::memory_order_relaxed);
    } else {
      count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::uint64_t dense_waiting_count() const {
    if (dense_ == nullptr) return 0;
    std::int64_t sum = 0;
    for (int slot = 0; slot <= core_.scheduler().worker_count(); ++slot) {
      sum += dense_waiting_[static_cast<std::size_t>(slot)].count.load(std::memory_order_relaxed);
    }
    return static_cast<std::uint64_t>(sum > 0 ? sum : 0);
  }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const K& k, int indegree, int count) const {
    if (indegree < 1) graph::refuse_indegree(task_name(k), indegree);
    graph::refuse_count(task_name(k), count);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const K& k, graph::Fulfill result,
                                                     const graph::Entry& entry, int count) const {
    if (result == graph::Fulfill::over) graph::refuse_over(task_name(k), entry, count);
    graph::refuse_repeat(task_name(k));
  }

  void finish(const K& k, graph::Fulfill result, const graph::Entry& entry, int count) {
    if (result == graph::Fulfill::waiting) return;
    if (result != graph::Fulfill::ready) [[unlikely]]
      refuse(k, result, entry, count);
    spawn(k);
  }

  void spawn(const K& k) {
    const int workers = core_.scheduler().worker_count();
    const int worker = mapping_(k);
    if (worker < 0 || worker >= workers) graph::refuse_worker(task_name(k), worker, workers);
    std::unique_ptr<sched::Task> task(new KeyTask(*this, k));
    task->scope = &core_;
    task->worker = static_cast<std::int16_t>(worker);
    if (priority_) task->priority = priority_(k);
    if (has_marks_) [[unlikely]]
      mark(*task, k);
    core_.scheduler().submit(std::move(task));
  }

  [[gnu::noinline]] void mark(sched::Task& task, const K& k) const {
    if (binding_) task.bound = binding_(k);
    const sched::Scheduler& scheduler = core_.scheduler();
    if (scheduler.memory_bound_limit() == nullptr) return;
    const bool is_marked = memory_bound_ ? memory_bound_(k) : cost_ && cost_(k).is_memory_bound();
    if (is_marked) scheduler.mark_memory_bound(task);
  }

  [[gnu::noinline]] void begin_recording() {
    sched::record_place(name_, place_);
    join_of_graph_ =
        graph::mixed(static_cast<std::uint64_t>(core_.rank().value()), sched::new_join());
  }
  // The number, in traces, of the dependencies of the task whose key has this hash. Tasks of other
  // graphs and ranks have others.
  [[nodiscard]] std::uint64_t join_of(std::uint64_t hash) const {
    return graph::mixed(join_of_graph_, hash);
  }

  [[nodiscard]] std::span<const Shard> shards() const { return {shards_.get(), shard_mask_ + 1}; }

  [[nodiscard]] std::uint64_t unsatisfied_count() const override {
    std::uint64_t count = dense_waiting_count();
    for (const Shard& shard : shards()) {
      const sync::StoreReleaseLock lock(shard.mutex);
      count += shard.table.size();
    }
    return count;
  }

  // Copies keys under the lock and names them outside: naming is the program's code.
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override {
    // acquire as in fulfill(). Before the first one the main function may still set functions.
    if (!used_.load(std::memory_order_acquire)) return {};
    std::vector<std::pair<K, graph::Entry>> some;
    for (const Shard& shard : shards()) {
      const sync::StoreReleaseLock lock(shard.mutex);
      shard.table.for_each([&](const K& key, const graph::Entry& entry) {
        if (some.size() < graph::WaitingList::kKeysMax) some.emplace_back(key, entry);
      });
    }
    graph::WaitingList list(name_);
    for (const auto& [key, entry] : some) {
      list.add(graph::progress_of(task_name(key), entry) + missing_of(key));
    }
    if (dense_ != nullptr) {
      dense_->for_each([&](std::size_t index, int remaining) {
        if (!list.full()) list.add(describe_dense(index, remaining));
      });
    }
    return std::move(list).lines(unsatisfied_count());
  }

  void close_handlers() override { core_.close_handlers(handlers_); }
  void at_rest() override {
    if (history_ != nullptr) history_->forget();
    in_use_.store(false, std::memory_order_relaxed);
    leave_short_way();  // so that the next fulfill() tells
  }
  void attempts_begin() override { way_.store(Way::attempts, std::memory_order_relaxed); }
  [[nodiscard]] bool is_in_use() const override { return in_use_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string title() const override { return "task graph '" + name_ + "'"; }
  // All calls that matter ask one of these.
  bool run_ended() override {
    run_has_ended_ = true;
    leave_short_way();
    if (rank_) rank_ = [this](const K& /*k*/) -> int { graph::refuse_ended(name_); };
    return true;
  }

  [[nodiscard]] std::string describe_dense(std::size_t index, int remaining) const {
    const std::optional<K> key = dense_key_of(index);
    if (!key.has_value()) return graph::progress_of(index, remaining);
    const int indegree = indegree_(*key);
    return graph::progress_of(task_name(*key), {indegree - remaining, indegree}) + missing_of(*key);
  }
  [[nodiscard]] std::string missing_of(const K& key) const {
    return inputs_ != nullptr ? graph::missing_text(inputs_->missing(key)) : "";
  }

  // Without a function for it: most graphs with integer keys number them by themselves.
  [[nodiscard]] std::optional<K> dense_key_of(std::size_t index) const {
    if (dense_key_) return dense_key_(index);
    if constexpr (std::is_integral_v<K>) {
      const K key = static_cast<K>(index);
      if (dense_index_(key) == index) return key;
    }
    return std::nullopt;
  }

  TeamCore& core_;
  const std::string name_;
  const std::source_location place_;
  Function<int(const K&)> indegree_;
  bool counts_inputs_ = false;  // that is the number of inputs, for lack of set_indegree()
  Function<void(const K&)> task_;
  Function<int(const K&)> mapping_;
  Function<int(const K&)> priority_;
  Function<int(const K&)> retries_;
  Function<int(const K&)> rank_;  // unset: all tasks run here
  Function<void(int rank, const K& k, int count)> forward_;
  std::shared_ptr<graph::Inputs<K>> inputs_;
  std::vector<std::uint32_t> handlers_;  // of its messages
  Function<bool(const K&)> binding_;
  Function<std::string(const K&)> task_name_;
  Function<bool(const K&)> memory_bound_;
  Function<Cost(const K&)> cost_;
  bool has_marks_ = false;           // mark() does something
  std::atomic<bool> used_{false};    // the functions are there and stay
  std::atomic<Way> way_{Way::slow};  // the same, unless it is slow
  std::atomic<bool> in_use_{false};  // since a wait() has returned
  bool run_has_ended_ = false;       // written when the workers have stopped

  const std::size_t shard_mask_;
  std::unique_ptr<graph::History<K>> history_;  // with --check-graphs
  const bool is_recorded_;                      // with --trace
  std::uint64_t join_of_graph_ = 0;             // in traces, if it is recorded
  std::unique_ptr<Shard[]> shards_;
  std::unique_ptr<graph::DenseTable> dense_;
  std::unique_ptr<Waiting[]> dense_waiting_;
  Function<std::size_t(const K&)> dense_index_;
  Function<K(std::size_t)> dense_key_;
};

}  // namespace shoal

#pragma once
// Parametrized task graphs: tasks named by keys, run when all their dependencies are fulfilled.

#include <shoal/base/check.hpp>
#include <shoal/base/function.hpp>
#include <shoal/base/key.hpp>
#include <shoal/graph/dependency_table.hpp>
#include <shoal/graph/history.hpp>
#include <shoal/sched/compute.hpp>
#include <shoal/sched/scheduler.hpp>
#include <shoal/sync/lasting_mutex.hpp>
#include <shoal/term/scope.hpp>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace graph {

/// The lines that name what a graph waits for: at most kKeysMax keys, and how many more.
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

/// "gemm[(1, 2)] has fulfilled 1 of 3 dependencies".
std::string progress_of(const std::string& task, const Entry& entry);
/// The same for a dense index whose key is not known.
std::string progress_of(std::size_t index, int remaining);

[[noreturn]] void refuse_missing(const std::string& graph, const std::string& key,
                                 const char* function);
[[noreturn]] void refuse_indegree(const std::string& task, std::int64_t indegree);
[[noreturn]] void refuse_count(const std::string& task, std::int64_t count);
[[noreturn]] void refuse_worker(const std::string& task, std::int64_t worker, int worker_count);
[[noreturn]] void refuse_over(const std::string& task, const Entry& entry, std::int64_t count);
[[noreturn]] void refuse_repeat(const std::string& task);
[[noreturn]] void refuse_index(const std::string& task, std::size_t index, std::size_t size);
[[noreturn]] void refuse_change(const std::string& graph);
[[noreturn]] void refuse_reset(const std::string& graph, const std::vector<std::string>& waiting);

}  // namespace graph

/// A graph of tasks with keys of type K on one rank (tasktorrent paper, section II-A1).
///
/// Functions of the key say how many dependencies a task has, what it does and where it starts; a
/// task does not exist until its first dependency is fulfilled, and nothing of it is kept after it
/// ran. Tasks of other ranks are triggered by active messages whose handlers call fulfill().
///
/// K: copyable, equality-comparable, hashable (integers, enums, strings, pairs, tuples and arrays
/// of those, std::hash<K>, or a function shoal_hash(k)).
/// **Caller**: the set_ functions by the main function before the first fulfill(); fulfill() by
/// any task, handler, main function or thread. **Lifetime**: until wait() has returned.
template <class K>
class TaskGraph final : private term::Unsatisfied {
 public:
  /// `name` stands for the graph in reports.
  explicit TaskGraph(term::Scope& scope, std::string name = "graph")
      : scope_(scope),
        name_(std::move(name)),
        shard_mask_(std::bit_ceil(4 * static_cast<std::size_t>(scope.scheduler().worker_count())) -
                    1),
        history_(scope.checks_graphs() ? std::make_unique<graph::History<K>>() : nullptr) {
    shards_ = std::make_unique<Shard[]>(shard_mask_ + 1);
    scope_.add(*this);
  }
  ~TaskGraph() { scope_.remove(*this); }
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  /// Required: how many times task k is fulfilled before it runs; at least 1. Called once per
  /// fulfill(), by its caller.
  template <class F>
  TaskGraph& set_indegree(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(
        fits,
        "shoal: set_indegree() takes a function int(const K&): give it one parameter, the key of "
        "the graph");
    if constexpr (fits) set(indegree_, std::move(function));
    return *this;
  }
  /// Required: what task k does.
  template <class F>
  TaskGraph& set_task(F function) {
    constexpr bool fits = CallableAs<F, void, const K&>;
    static_assert(
        fits,
        "shoal: set_task() takes a function void(const K&): give it one parameter, the key of "
        "the graph");
    if constexpr (fits) set(task_, std::move(function));
    return *this;
  }
  /// Required: the worker on which task k is queued at first, 0 <= worker < worker_count().
  template <class F>
  TaskGraph& set_mapping(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(
        fits,
        "shoal: set_mapping() takes a function int(const K&): give it one parameter, the key of "
        "the graph");
    if constexpr (fits) set(mapping_, std::move(function));
    return *this;
  }
  /// Optional: larger runs first. Default 0.
  template <class F>
  TaskGraph& set_priority(F function) {
    constexpr bool fits = CallableAs<F, int, const K&>;
    static_assert(
        fits,
        "shoal: set_priority() takes a function int(const K&): give it one parameter, the key of "
        "the graph");
    if constexpr (fits) set(priority_, std::move(function));
    return *this;
  }
  /// Optional: true binds task k to its worker; false (the default) lets others steal it.
  template <class F>
  TaskGraph& set_binding(F function) {
    constexpr bool fits = CallableAs<F, bool, const K&>;
    static_assert(
        fits,
        "shoal: set_binding() takes a function bool(const K&): give it one parameter, the key of "
        "the graph");
    if constexpr (fits) set(binding_, std::move(function));
    return *this;
  }
  /// Optional: what reports call task k; called by any thread, while the graph lives, and with
  /// locks of shoal held: it must not block or call shoal. Default: graph name and key.
  template <class F>
  TaskGraph& set_name(F function) {
    constexpr bool fits = CallableAs<F, std::string, const K&>;
    static_assert(fits,
                  "shoal: set_name() takes a function std::string(const K&): give it one "
                  "parameter, the key of "
                  "the graph");
    if constexpr (fits) set(task_name_, std::move(function));
    return *this;
  }
  /// Optional: how long task k takes in a simulated world, beside what it gives to compute().
  /// Called when it runs.
  template <class F>
  TaskGraph& set_cost(F function) {
    constexpr bool fits = CallableAs<F, Cost, const K&>;
    static_assert(
        fits,
        "shoal: set_cost() takes a function Cost(const K&): give it one parameter, the key of "
        "the graph");
    if constexpr (fits) set(cost_, std::move(function));
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

  /// Begins another round: each task may run once more. Not needed without set_dense().
  /// **Caller**: the main function, after wait() and before any rank fulfills tasks of this one
  /// again; with several ranks a barrier() between reset() and the first fulfill() sees to that.
  /// **Errors**: CheckError that names tasks which have fulfilled some of their dependencies only;
  /// nothing has changed then. **Cost**: 4 bytes are written per key, and nothing is allocated.
  void reset() {
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
  /// CheckError until wait() returns, and names who fulfilled it; see set_repeating().)
  /// **Ordering**: what the caller did before is visible to the task.
  void fulfill(const K& k, int count = 1) {
    // acquire pairs with the release in become_complete(): the functions are seen.
    if (!complete_.load(std::memory_order_acquire)) [[unlikely]] {
      if (fulfill_slowly(k, count)) return;
    }
    const int indegree = indegree_(k);
    if (indegree < 1 || count < 1) [[unlikely]]
      refuse(k, indegree, count);
    if (dense_ != nullptr) {
      fulfill_dense(k, count, indegree);
    } else if (indegree == 1 && count == 1) {
      spawn(k);  // never waits: needs no entry
    } else {
      fulfill_hashed(k, count, indegree);
    }
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct alignas(64) Shard {
    mutable sync::LastingMutex mutex;
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

   private:
    TaskGraph& graph_;
    const K key_;
  };

  void set_dense_functions(std::size_t size, Function<std::size_t(const K&)> index,
                           Function<K(std::size_t)> key) {
    check_unused();
    dense_ = std::make_unique<graph::DenseTable>(size);
    dense_waiting_ = std::make_unique<Waiting[]>(
        static_cast<std::size_t>(scope_.scheduler().worker_count()) + 1);
    dense_index_ = std::move(index);
    dense_key_ = std::move(key);
  }

  template <class Slot, class F>
  void set(Slot& slot, F function) {
    check_unused();
    slot = std::move(function);
  }

  void check_unused() const {
    // relaxed: a change that races with a fulfill() is refused where it can be noticed
    if (used_.load(std::memory_order_relaxed)) graph::refuse_change(name_);
  }

  void become_complete(const K& k) {
    if (!indegree_) graph::refuse_missing(name_, format_key(k), "set_indegree");
    if (!task_) graph::refuse_missing(name_, format_key(k), "set_task");
    if (!mapping_) graph::refuse_missing(name_, format_key(k), "set_mapping");
    used_.store(true, std::memory_order_release);
    complete_.store(history_ == nullptr || dense_ != nullptr, std::memory_order_release);
  }

  // The first one, and all with --check-graphs; false: it is still to be done.
  [[gnu::noinline]] bool fulfill_slowly(const K& k, int count) {
    if (!used_.load(std::memory_order_acquire)) become_complete(k);
    if (history_ == nullptr || dense_ != nullptr) return false;
    const int indegree = indegree_(k);
    if (indegree < 1 || count < 1) refuse(k, indegree, count);
    const std::string culprit = graph::fulfiller();
    graph::Fulfillers past;
    graph::Entry entry;
    graph::Fulfil result{};
    {
      const std::uint64_t hash = KeyHash<K>{}(k);
      const sync::Lock lock(history_->mutex);
      graph::Fulfillers* known = history_->keys.find(hash, k);
      if (known == nullptr) known = &history_->keys.add(hash, k, {});
      past = *known;
      if (!known->done) {
        result = count_hashed(hash, k, count, indegree, entry);
        known->done = result == graph::Fulfil::ready;
        known->add(count, culprit);
      }
    }
    if (past.done) graph::refuse_again(task_name(k), indegree, culprit, past.names);
    if (result == graph::Fulfil::over) {
      graph::refuse_over(task_name(k), entry, count, culprit, past.names);
    }
    finish(k, result, entry, count);
    return true;
  }

  // The task is always run, for the sake of what it triggers: work that --sim-dry may leave out
  // stands in compute().
  [[gnu::noinline]] void spend(const K& k) const {
    if (sched::costs_count()) static_cast<void>(sched::spend(cost_(k)));
  }

  [[nodiscard]] std::string task_name(const K& k) const {
    return task_name_ ? task_name_(k) : name_ + "[" + format_key(k) + "]";
  }

  void fulfill_hashed(const K& k, int count, int indegree) {
    graph::Entry entry;
    const graph::Fulfil result = count_hashed(KeyHash<K>{}(k), k, count, indegree, entry);
    finish(k, result, entry, count);
  }

  // `entry` is filled if it is refused.
  [[gnu::always_inline]] graph::Fulfil count_hashed(std::size_t hash, const K& k, int count,
                                                    int indegree, graph::Entry& entry) {
    Shard& shard = shards_[hash & shard_mask_];
    const sync::LastingLock lock(shard.mutex);
    const graph::Fulfil result =
        shard.table.fulfil_hashed(hash, k, count, [indegree](const K&) { return indegree; });
    if (result == graph::Fulfil::over) [[unlikely]]
      entry = shard.table.entry_of(k, indegree);
    return result;
  }

  void fulfill_dense(const K& k, int count, int indegree) {
    const std::size_t index = dense_index_(k);
    if (index >= dense_->capacity()) graph::refuse_index(task_name(k), index, dense_->capacity());
    graph::Entry entry;
    const graph::Fulfil result = dense_->fulfil(
        index, count, [indegree](std::size_t) { return indegree; }, &entry);
    if (result == graph::Fulfil::waiting && entry.fulfilled == count) count_waiting(1);
    if (result == graph::Fulfil::ready && count < indegree) count_waiting(-1);
    finish(k, result, entry, count);
  }

  // Keys of dense numbers that wait: to look at all of them would take too long. The sum of what
  // each worker counts; the last slot is that of other threads.
  struct alignas(64) Waiting {
    std::atomic<std::int64_t> count{0};
  };
  // relaxed: who sums them has seen all tasks and messages end that counted
  void count_waiting(std::int64_t change) {
    const sched::Scheduler& scheduler = scope_.scheduler();
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
    for (int slot = 0; slot <= scope_.scheduler().worker_count(); ++slot) {
      sum += dense_waiting_[static_cast<std::size_t>(slot)].count.load(std::memory_order_relaxed);
    }
    return static_cast<std::uint64_t>(sum > 0 ? sum : 0);
  }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const K& k, int indegree, int count) const {
    if (indegree < 1) graph::refuse_indegree(task_name(k), indegree);
    graph::refuse_count(task_name(k), count);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(const K& k, graph::Fulfil result,
                                                     const graph::Entry& entry, int count) const {
    if (result == graph::Fulfil::over) graph::refuse_over(task_name(k), entry, count);
    graph::refuse_repeat(task_name(k));
  }

  void finish(const K& k, graph::Fulfil result, const graph::Entry& entry, int count) {
    if (result == graph::Fulfil::waiting) return;
    if (result != graph::Fulfil::ready) [[unlikely]]
      refuse(k, result, entry, count);
    spawn(k);
  }

  void spawn(const K& k) {
    const int workers = scope_.scheduler().worker_count();
    const int worker = mapping_(k);
    if (worker < 0 || worker >= workers) graph::refuse_worker(task_name(k), worker, workers);
    auto task = std::make_unique<KeyTask>(*this, k);
    task->scope = &scope_;
    task->worker = static_cast<std::int16_t>(worker);
    if (priority_) task->priority = priority_(k);
    if (binding_) task->bound = binding_(k);
    scope_.scheduler().submit(std::move(task));
  }

  [[nodiscard]] std::span<const Shard> shards() const { return {shards_.get(), shard_mask_ + 1}; }

  [[nodiscard]] std::uint64_t unsatisfied_count() const override {
    std::uint64_t count = dense_waiting_count();
    for (const Shard& shard : shards()) {
      const sync::LastingLock lock(shard.mutex);
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
      const sync::LastingLock lock(shard.mutex);
      shard.table.for_each([&](const K& key, int fulfilled, int indegree) {
        if (some.size() < graph::WaitingList::kKeysMax) {
          some.emplace_back(key, graph::Entry{fulfilled, indegree});
        }
      });
    }
    graph::WaitingList list(name_);
    for (const auto& [key, entry] : some) list.add(graph::progress_of(task_name(key), entry));
    if (dense_ != nullptr) {
      dense_->for_each([&](std::size_t index, int remaining) {
        if (!list.full()) list.add(describe_dense(index, remaining));
      });
    }
    return std::move(list).lines(unsatisfied_count());
  }

  void at_rest() override {
    if (history_ != nullptr) history_->forget();
  }

  [[nodiscard]] std::string describe_dense(std::size_t index, int remaining) const {
    const std::optional<K> key = dense_key_of(index);
    if (!key.has_value()) return graph::progress_of(index, remaining);
    const int indegree = indegree_(*key);
    return graph::progress_of(task_name(*key), {indegree - remaining, indegree});
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

  term::Scope& scope_;
  const std::string name_;
  Function<int(const K&)> indegree_;
  Function<void(const K&)> task_;
  Function<int(const K&)> mapping_;
  Function<int(const K&)> priority_;
  Function<bool(const K&)> binding_;
  Function<std::string(const K&)> task_name_;
  Function<Cost(const K&)> cost_;
  std::atomic<bool> used_{false};      // the functions are there and stay
  std::atomic<bool> complete_{false};  // the same, and fulfill() may take the short way

  const std::size_t shard_mask_;
  std::unique_ptr<graph::History<K>> history_;  // with --check-graphs
  std::unique_ptr<Shard[]> shards_;
  std::unique_ptr<graph::DenseTable> dense_;
  std::unique_ptr<Waiting[]> dense_waiting_;
  Function<std::size_t(const K&)> dense_index_;
  Function<K(std::size_t)> dense_key_;
};

}  // namespace shoal

#pragma once
// The end of an operation, under futures, transfers and collective operations.

#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/base/view.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/ref.hpp>
#include <shoal/future_status.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

template <class T>
class Future;

namespace sched {

/// Name of a promise, in memory that lives as long as the program: no string is made of it.
struct StaticName {
  const char* text;
};

/// The end of one operation, which any number of tasks and threads wait for: of a task with a
/// future, a promise, an access to global memory, a collective operation, or several of these.
/// CompletionOf has the value. It counts its references, and starts with one.
///
/// One atomic word holds the number of references, whether the end has come, and whether a waiter
/// exists: completing without waiters takes one atomic operation and no lock.
class Completion : public WaitingRoom, public sync::Pooled {
  static constexpr auto kRelaxed = std::memory_order_relaxed;

 public:
  explicit Completion(Scheduler& scheduler) : WaitingRoom(scheduler) {}
  Completion(Scheduler& scheduler, std::string name)
      : WaitingRoom(scheduler), name_(std::move(name)) {}
  Completion(Scheduler& scheduler, StaticName name)
      : WaitingRoom(scheduler), static_name_(name.text) {}
  virtual ~Completion();

  bool enlist(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool is_over() const override { return is_ready(); }
  [[nodiscard]] bool needs(const Task& task) const override {
    // Once it is ready, another task may be there.
    return reinterpret_cast<std::uintptr_t>(&task) == task_.load(kRelaxed) && !is_ready();
  }
  /// The task fulfils the promise when it ends, not before. **Precondition**: no waiter yet.
  void set_task(const Task& task) {
    task_.store(reinterpret_cast<std::uintptr_t>(&task), kRelaxed);
  }
  /// Sets the number in traces of the task of set_task(), which has begun.
  void set_trace_id(std::uint64_t id) {
    if (id < kRecorded && task_.load(kRelaxed) != 0) task_.store(id | kRecorded, kRelaxed);
  }
  /// The task that has fulfilled it; 0: that is not recorded, or it is not ready.
  [[nodiscard]] std::uint64_t join() const override {
    const std::uint64_t task = is_ready() ? task_.load(kRelaxed) : 0;
    return (task & kRecorded) != 0 ? task & ~kRecorded : 0;
  }
  [[nodiscard]] bool is_ready() const {
    // acquire pairs with the release in complete()
    return (word_.load(std::memory_order_acquire) & kReady) != 0;
  }
  /// Parks the caller until the end.
  void await();
  /// Waits for the end, for a program: it may have come already. **Errors**: as wait_for().
  void wait() {
    if (!is_ready()) return await();
    if (in_handler()) [[unlikely]]
      refuse_in_handler(describe());
  }
  /// Waits for the end, at most until `due_ns` by the clock of the rank. A caller that gives up
  /// leaves nothing behind. **Errors**: as wait().
  [[nodiscard]] FutureStatus wait_until_ns(std::uint64_t due_ns);
  /// Waits for the end, at most for a Duration or until a Deadline. **Errors**: as wait().
  template <class D>
  [[nodiscard]] FutureStatus wait_until(D limit) {
    return wait_until_ns(sched::due_ns(scheduler(), limit));
  }
  void rethrow_error() {
    if (error_ != nullptr) throw_error();
  }
  /// The error for a caller that passes it on; nullptr without one. **Precondition**: is_ready().
  [[nodiscard]] std::exception_ptr take_error() {
    if (error_ != nullptr) [[unlikely]]
      give_up_error();
    return error_;
  }
  /// Marks an error of it as taken, as another error stands for it. A state that ends with an error
  /// that was not taken fails the team of the code that ends it.
  void give_up_error() { word_.fetch_or(kTaken, kRelaxed); }
  /// Returns whether it has ended with an error that was taken.
  [[nodiscard]] bool has_taken_error() const {
    constexpr std::uint32_t kBoth = kReady | kTaken;
    return (word_.load(std::memory_order_acquire) & kBoth) == kBoth;
  }
  [[nodiscard]] std::string name() const;
  /// "promise 'x'", or "promise of int" without a name.
  [[nodiscard]] std::string promise_name() const;

  /// Marks the state as ready; called once, by the promise, after the value was stored. `leaves`:
  /// gives up the promise's reference.
  void complete(std::exception_ptr error, bool leaves);
  /// Marks the state as ready with a value, see complete() with an error.
  void complete(bool leaves);

  /// Text of an error that nobody has taken; from now on it counts as taken. "" without one.
  /// **Caller**: when the workers of the rank have stopped.
  [[nodiscard]] std::string take_untaken();

  /// Adds a second reference. **Caller**: the owner of the only one.
  void add_second() { word_.store(word_.load(kRelaxed) + kReference, kRelaxed); }
  friend void add_reference(Completion* state) { state->word_.fetch_add(kReference, kRelaxed); }
  /// Gives up the reference of the future. Before the end, abandon() is called.
  friend void remove_future(Completion* state) {
    if (state->word_.load(std::memory_order_acquire) < 2 * kReference) {
      delete state;
    } else {
      state->remove_future_shared();
    }
  }
  // The owner of the only reference needs no read-modify-write: no other thread can add one.
  // acquire and release: the deletion happens after all accesses by former owners.
  friend void remove_reference(Completion* state) {
    if (state->word_.load(std::memory_order_acquire) < 2 * kReference) {
      delete state;
    } else {
      state->remove_shared();
    }
  }

 protected:
  /// Called before the end, when the future is gone and the operation may be given up.
  virtual void abandon() noexcept {}
  [[nodiscard]] bool has_error() const { return error_ != nullptr; }
  /// Called as it ends with an error. Fails the team of the caller, unless the error was taken.
  void report_untaken() noexcept;
  /// Type of the value, in messages.
  [[nodiscard]] virtual std::string value_name() const = 0;

 private:
  static constexpr std::uint32_t kReady = 1;
  static constexpr std::uint32_t kAwaited = 2;  // once set, it stays so
  static constexpr std::uint32_t kTaken = 4;    // an error, or it need not be
  static constexpr std::uint32_t kReference = 8;
  static constexpr std::uint64_t kRecorded = std::uint64_t{1} << 62U;  // no address has it

  [[noreturn]] void throw_error();
  void remove_shared();
  void remove_future_shared();
  void complete_with(std::exception_ptr error, bool leaves);
  void complete_awaited(bool leaves);

  std::atomic<std::uint32_t> word_{kReference};
  const std::string name_;                   // may be empty
  const char* const static_name_ = nullptr;  // in its place
  // The address of the task that fulfils it, if that is known, or with kRecorded, once it has
  // begun, its number in traces. relaxed: a waiter compares it with a task of its own that has not
  // begun.
  std::atomic<std::uint64_t> task_{0};
  std::exception_ptr error_;  // written before kReady
};

/// Whether a result of type T refers to objects that may end with the function that returns it.
template <class T>
inline constexpr bool refers_v = std::is_reference_v<T> || wire::holds_view_v<std::remove_cv_t<T>>;

/// Value of type void.
struct Nothing {};
template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, Nothing, T>;

/// A completion with its value.
template <class T>
class CompletionOf : public Completion {
 public:
  using Completion::Completion;
  /// Makes the future, once, for the owner of a reference.
  [[nodiscard]] Future<T> make_future();
  ~CompletionOf() override {
    if (has_error()) [[unlikely]]
      report_untaken();
  }
  std::optional<Stored<T>> value;  // written before complete()

 protected:
  [[nodiscard]] std::string value_name() const override { return type_name<T>(); }
};
template <class T>
using ValueRef = sync::Ref<CompletionOf<T>>;

/// Returns the error of a promise that is destroyed without a value: the failure of the caller's
/// scope, if that has failed and drops its tasks, else BrokenPromise. Nobody has to take it: it is
/// for those who wait.
[[nodiscard]] std::exception_ptr broken_promise(Completion& state);
/// Returns the exception that is being handled; the failure of the caller's scope if that has
/// cancelled the task.
[[nodiscard]] std::exception_ptr caught_error();
/// Throws CheckError in an attempt of a task that may run again: a promise that it has fulfilled
/// stays fulfilled.
void check_may_fulfil(const Completion* state);
/// Throws CheckError for a wrong use of a promise. `state` is nullptr after the promise has given
/// it up.
[[noreturn]] void refuse_promise(const Completion* state, const char* what);
[[noreturn]] void refuse_future(const char* what);

}  // namespace sched

}  // namespace shoal

namespace shoal::sched {

/// Counts the ends of several completions, and calls pass() when enough of them have come. Part of
/// a completion of its own, to which each place in a list refers.
///
/// Either pass() is called, in the context of the last end that it needs, or leave() has returned
/// true. Before both, it leaves the lists of the completions that have not ended.
class Gate {
 public:
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 protected:
  Gate() = default;
  ~Gate() = default;

  /// nullptr among `parts` stands for one that has ended. They exist until pass() or leave().
  void watch(Completion& self, const std::vector<Completion*>& parts, std::size_t needed);
  /// Returns true if pass() will not be called. **Caller**: as the future of `self` goes.
  [[nodiscard]] bool leave() noexcept;

  virtual void pass() = 0;
  /// Number of the parts in traces, see Waitable::join().
  [[nodiscard]] std::uint64_t join_of_parts() const { return join_; }

 private:
  /// In the list of one completion.
  struct Place final : sync::Waiter {
    void wake() override { gate->end_one(join); }
    Gate* gate = nullptr;
    Completion* of = nullptr;
    std::uint64_t join = 0;  // of that one, in traces
  };
  static constexpr std::int64_t kWatching = std::int64_t{1} << 40U;

  void end_one(std::uint64_t join);
  template <bool kIsRecorded>
  std::int64_t enlist_in(const std::vector<Completion*>& parts);
  void try_to_pass();
  void leave_lists() noexcept;

  Completion* self_ = nullptr;
  std::unique_ptr<Place[]> places_;  // NOLINT(cppcoreguidelines-avoid-c-arrays): of fixed size
  std::size_t place_count_ = 0;
  std::uint64_t join_ = 0;  // of the parts, in traces; 0: not recorded
  // Ends that are missing; kWatching more until watch() has seen all parts.
  std::atomic<std::int64_t> missing_{0};
  std::atomic<bool> decided_{false};  // pass() or leave()
};

}  // namespace shoal::sched

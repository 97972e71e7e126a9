#pragma once
// Values of which each worker uses one: sums, buffers, random generators.

#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace shoal {

namespace loops {

/// Values of a WorkerLocal without their type: those that no task uses.
class FreeValues {
 public:
  struct alignas(64) Value {
    Value* next = nullptr;
  };

  /// **Errors**: CheckError on a thread that is no worker.
  FreeValues();
  /// Takes a value, that which the calling worker gave last if possible; nullptr: all are in use.
  [[nodiscard]] Value* take();
  void give(Value& value) noexcept;
  /// Throws CheckError unless `count` values are here. **Caller**: nobody else takes or gives one.
  void check_all(std::size_t count) const;

 private:
  struct alignas(64) Place {
    std::atomic<Value*> value{nullptr};
  };
  [[nodiscard]] std::atomic<Value*>& mine();

  sched::Scheduler& scheduler_;
  const std::unique_ptr<Place[]> places_;  // of each worker, and of other threads
  mutable sync::Mutex mutex_;
  Value* others_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // whose place was not free
};

}  // namespace loops

/// A value for each worker, for what the iterations of a loop add up or write to. A task uses one
/// through the Use that local() returns, alone, also while it waits and when it goes on on another
/// worker: so a worker whose task waits may get a second value, and there are as many as were in
/// use at once. (oneTBB: enumerable_thread_specific.)
///
/// **Lifetime**: made on a rank, for its tasks and main function, and outlives each Use.
template <class T>
class WorkerLocal {
  struct Value : loops::FreeValues::Value {
    explicit Value(const T& initial) : value(initial) {}
    T value;
  };

 public:
  /// Each value begins as T().
  WorkerLocal() : WorkerLocal(T()) {}
  /// Each value begins as a copy of `initial`. **Errors**: CheckError on a thread that is no
  /// worker.
  explicit WorkerLocal(T initial) : initial_(std::move(initial)) {}
  WorkerLocal(const WorkerLocal&) = delete;
  WorkerLocal& operator=(const WorkerLocal&) = delete;

  /// The caller's value, until this is destroyed.
  class [[nodiscard]] Use {
   public:
    ~Use() { of_.free_.give(value_); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// The value.
    T& operator*() const { return value_.value; }
    /// Members of the value.
    T* operator->() const { return &value_.value; }

   private:
    friend class WorkerLocal;
    explicit Use(WorkerLocal& of) : of_(of), value_(of.take()) {}
    WorkerLocal& of_;
    Value& value_;
  };
  /// A value that nobody else uses. **Caller**: any task, or the main function. **Blocks**: never.
  /// **Cost**: some 10 ns: call it for a piece of a loop, not for each iteration of a short one.
  [[nodiscard]] Use local() { return Use(*this); }

  /// Number of values.
  [[nodiscard]] std::size_t size() const {
    const sync::Lock lock(mutex_);
    return all_.size();
  }
  /// Calls f(value) for each value, in the order in which they were made. **Errors**: CheckError
  /// while a Use exists.
  template <class F>
  void for_each(F&& f) {
    static_assert(std::is_invocable_v<F&, T&>,
                  "shoal: the function of WorkerLocal::for_each() takes a value");
    free_.check_all(size());
    const sync::Lock lock(mutex_);
    for (const std::unique_ptr<Value>& one : all_) f(one->value);
  }
  /// Combines all values with combine(a, b), beginning with a copy of the initial one. **Errors**:
  /// as for_each().
  template <class Combine>
  [[nodiscard]] T combine(const Combine& combine) {
    static_assert(std::is_invocable_r_v<T, const Combine&, T, const T&>,
                  "shoal: combine(a, b) of WorkerLocal takes and returns values of its type");
    T sum = initial_;
    for_each([&](const T& value) { sum = combine(std::move(sum), value); });
    return sum;
  }

 private:
  Value& take() {
    if (loops::FreeValues::Value* const free = free_.take(); free != nullptr) {
      return *static_cast<Value*>(free);
    }
    auto made = std::make_unique<Value>(initial_);
    const sync::Lock lock(mutex_);
    all_.push_back(std::move(made));
    return *all_.back();
  }

  const T initial_;
  loops::FreeValues free_;
  mutable sync::Mutex mutex_;
  std::vector<std::unique_ptr<Value>> all_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal

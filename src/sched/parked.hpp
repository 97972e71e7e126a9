#pragma once
// Parked tasks and threads of a rank, and the operations that they wait in.

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/list.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sched/worker_state.hpp"

namespace shoal::sched {

class LongCall;
class ParkedList;

/// A task that waits for one that it has begun on its own stack.
struct Nesting {
  const Task& task;
  const Waitable& waitable;
  const Nesting* outer;     // in which it was begun itself
  const LongCall* in_call;  // of `task`
};

/// A parked task or thread. Lives on its stack; is in one list from before it can be woken until it
/// continues.
struct Parked {
  const Task* task = nullptr;    // nullptr: a thread of the program
  Waitable* waitable = nullptr;  // nullptr: it waits for `what`, and cannot be taken out
  const char* what = nullptr;
  const char* thread_name = nullptr;  // of a thread of the program that has one
  const Nesting* outer = nullptr;     // those that wait for `task` below it on its stack
  const LongCall* in_call = nullptr;  // of `task`
  sync::StrandHere strand;            // on which it asks whether it need wait
  std::uint64_t since_ns = 0;
  std::uint64_t due_ns = 0;     // deadline of the wait; 0: none
  bool ends_by_itself = false;  // of `waitable`, which may be gone while this is being woken
  bool polls = false;           // that, or yield(): to go on is no progress of the program
  Cancellable cancellable = Cancellable::yes;  // likewise
  const TaskScope* ending_scope = nullptr;     // likewise; not the world's, whose failure ends all
  bool counted = true;                         // for detection it runs
  bool has_begun = true;                       // false: a task of submit_after(), in no count yet
  bool cancelled = false;        // set by the thread that takes it out of what it waits for
  bool ended = false;            // likewise; by the failure of ending_scope
  bool in_list = false;          // guarded by the list's lock
  sync::ListLink<Parked> place;  // likewise
  Parked* taken_next = nullptr;  // of those that cancel() has taken out

  /// Sets the object that the task waits for.
  void stand_in(Waitable& one) {
    waitable = &one;
    ends_by_itself = polls = one.ends_by_itself();
    if (ends_by_itself) due_ns = one.due_ns();
    cancellable = one.cancellable();
    ending_scope = one.ending_scope();
    if (ending_scope != nullptr && ending_scope->outer() == nullptr) ending_scope = nullptr;
  }
  [[nodiscard]] std::string where() const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_main() const { return task != nullptr && task->is_main(); }
  /// Returns whether it is counted in `scope` or in one nested in that. Main functions and threads
  /// of the program belong to the world.
  [[nodiscard]] bool is_within(const TaskScope& scope) const {
    return task != nullptr && !task->is_main() ? task->scope->is_within(scope)
                                               : scope.outer() == nullptr;
  }
  /// Returns whether its wait ends when its TaskGroup is cancelled.
  [[nodiscard]] bool leaves_with_group() const {
    return cancellable == Cancellable::yes && task != nullptr && task->group != nullptr;
  }
  /// Returns whether it is the main function, in a wait that only other tasks can end: its scope
  /// keeps track of that.
  [[nodiscard]] bool is_waiting_main() const {
    return is_main() && waitable != nullptr && !ends_by_itself;
  }
};

/// Waiter that continues when it is woken; tasks and threads differ in how.
class ParkedWaiter : public sync::Waiter, public Parked {
 public:
  /// Continues. `tell_scope`: if it is the main function, its scope does not know yet that it
  /// continues.
  virtual void go_on(bool tell_scope) = 0;
  void wake() final { go_on(true); }

 protected:
  ~ParkedWaiter() = default;
};

/// The tasks parked on one worker, or the parked threads outside the workers. Lock order: its lock
/// before the lock of anything that is waited for.
class ParkedList {
 public:
  void add(ParkedWaiter& one) {
    const sync::Quiet quiet;
    const sync::Lock lock(mutex_);
    link(one);
  }
  /// Adds a waiter to this list and to that of its Waitable, in one step: a cancellation never
  /// finds it in only one. Returns false if there is no need to wait, or if the scope has failed or
  /// the task's group was cancelled, and so is the wait; then it is not added.
  bool enlist(ParkedWaiter& one, const TaskScope* scope);
  void remove(ParkedWaiter& one) {
    const sync::Quiet quiet;
    const sync::Lock lock(mutex_);
    if (one.in_list) unlink(one);
  }

  /// Cancels the waits of the tasks and threads within `scope` that were not woken yet, and lets
  /// them continue; without a scope, only that of the main function, without telling its scope.
  /// Returns the number of waits.
  int cancel(const TaskScope* scope);
  /// Likewise for the tasks of a group, and of those that nest in it.
  void cancel(const TaskGroup& group);

  /// The run of the rank has ended: cancels the waits of threads of the program, now and from now
  /// on.
  void close_to_threads();

  /// Number of parked tasks that are not counted as running.
  [[nodiscard]] std::uint64_t uncounted() const {
    return uncounted_.load(std::memory_order_acquire);
  }
  /// Returns whether any parked task, except the main function, counts as running.
  [[nodiscard]] bool holds_counted() const;
  [[nodiscard]] std::size_t size() const {
    const sync::Lock lock(mutex_);
    return size_;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    const sync::Quiet quiet;
    const sync::Lock lock(mutex_);
    for (const Parked* one = list_.first(); one != nullptr; one = list_.next(*one)) visit(*one);
  }

 private:
  void link(ParkedWaiter& one) SHOAL_REQUIRES(mutex_);
  void unlink(ParkedWaiter& one) SHOAL_REQUIRES(mutex_);
  /// Takes a waiter that is to be cancelled out of what it waits for, unless it was woken, and puts
  /// it before `taken`; returns whether it did.
  static bool take_out(Parked& one, Parked*& taken);
  /// Lets those that were taken out go on; returns their number.
  static int release(Parked* taken, bool tell_scope);

  mutable sync::Mutex mutex_;
  sync::List<Parked, &Parked::place> list_ SHOAL_GUARDED_BY(mutex_);
  std::size_t size_ SHOAL_GUARDED_BY(mutex_) = 0;
  bool closed_to_threads_ SHOAL_GUARDED_BY(mutex_) = false;
  // Written under mutex_; read by detection, when no counted task is left to write.
  std::atomic<std::uint64_t> uncounted_{0};
};

/// Returns the name of a task, even if the program's code for it throws.
std::string name_of(const Task& task);

/// Places in the source where tasks are, by the tasks; "": not known.
using TaskPlaces = std::map<const Task*, std::string>;
/// Sets the function that fills in, for reports, the places of those tasks that are in code of
/// another language. It is called with locks held, by any thread, and must not wait for a task.
void set_place_finder(void (*find)(TaskPlaces&));

/// Texts of waits, with the places of the tasks, and with those that hold locks for which others
/// are parked. A holder is looked up by its address among the tasks that are there, as it may have
/// ended and kept the lock.
class WaitTexts {
 public:
  /// Of these lists. Their own tasks are named if they are among the holders. `running`: others
  /// whose places are asked for.
  explicit WaitTexts(const std::vector<const ParkedList*>& lists,
                     const std::vector<const Task*>& running = {});
  /// A task that is there: it is named if it is one of the holders.
  void add(const Task& task);
  /// Text of a wait, with its place, the holder of what is waited for, and the call that it is part
  /// of.
  [[nodiscard]] std::string where(const Parked& one) const;
  [[nodiscard]] std::string where(const Nesting& one) const;
  /// " (heat.py:57 in exchange)", or nothing.
  [[nodiscard]] std::string place_of(const Task* task) const;

 private:
  std::map<const Task*, std::string> names_;  // of holders; "": not seen
  TaskPlaces places_;
};

/// Tasks and threads that wait, and count as finished meanwhile.
struct Uncounted {
  std::uint64_t all = 0;
  std::uint64_t not_begun = 0;  // of these: tasks that were never counted as created either
};
/// Returns the number of those of a scope and of the ones nested in it. **Caller**: any thread.
[[nodiscard]] Uncounted uncounted_in(const WaitingTasks& waiting, const TaskScope& scope);

/// Lines that name the waiters that are not counted, their Waitables, and cycles of locks among
/// them.
std::vector<std::string> describe_waits(const std::vector<const ParkedList*>& lists);

}  // namespace shoal::sched

#pragma once
// Tasks that run when the events that they depend on have come: the EDAT model.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/timers.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/send.hpp>
#include <shoal/event/event.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Options of a submitted task.
struct EventTaskOptions {
  std::string name{};       // for is_submitted(), remove() and reports; need not be unique
  bool persistent = false;  // runs as often as its dependencies are met, and keeps no world waiting
  bool greedy = false;      // persistent only: takes all events that fit until it begins to run
  int priority = 0;         // larger first, among the tasks that are ready
  int retries = 0;          // how often it runs again after it has thrown: see TaskOptions
};

namespace event {

class Core;

/// The function of a task, without its type.
class TaskBody {
 public:
  virtual ~TaskBody() = default;
  TaskBody(const TaskBody&) = delete;
  TaskBody& operator=(const TaskBody&) = delete;
  virtual void run(EventList& events) = 0;
  /// Runs it as an attempt: it begins with the captures with which it was submitted.
  virtual void run_again(EventList& events) { run(events); }
  [[nodiscard]] virtual bool may_repeat() const { return true; }

  // Set when it is submitted.
  std::string name{};  // "": it has none
  int priority = 0;
  int retries = 0;
  std::uint64_t number = 0;  // among the tasks of this rank
  bool is_wait = false;      // a task stands still instead

 protected:
  TaskBody() = default;
};

template <class F>
class FunctionBody final : public TaskBody {
 public:
  explicit FunctionBody(F function) : function_(std::move(function)) {}
  void run(EventList& events) override {
    if constexpr (std::is_invocable_v<F&, EventList&>) {
      function_(events);
    } else {
      function_();
    }
  }
  void run_again(EventList& events) override {
    if constexpr (std::is_invocable_v<F&, EventList&>) {
      if constexpr (sched::may_repeat_v<F, EventList&>) sched::call_afresh(function_, events);
    } else {
      if constexpr (sched::may_repeat_v<F>) sched::call_afresh(function_);
    }
  }
  [[nodiscard]] bool may_repeat() const override {
    return std::is_invocable_v<F&, EventList&> ? sched::may_repeat_v<F, EventList&>
                                               : sched::may_repeat_v<F>;
  }

 private:
  F function_;
};

/// Type that a value of many bytes is encoded as: a view does not change its elements.
template <class T>
struct StoredAs {
  using type = T;
};
template <class T, std::size_t Extent>
struct StoredAs<std::span<T, Extent>> {
  using type = std::span<const T, Extent>;
};

/// Keeps the value of an event, encoded as a T. A large one that is moved or Immutable is not
/// copied.
template <class T, class Arg>
void keep_value(Content& content, Arg&& value) {
  using Stored = typename StoredAs<T>::type;
  const auto keep = [&](const T& sent) {
    const std::size_t size_bytes = encoded_size<T>(sent);
    if constexpr (!wire::is_view_v<T> ||
                  std::is_constructible_v<Stored, const team::Storage<Stored>&>) {
      if (size_bytes >= net::kPieceBytes) {
        content.pieces = team::make_pieces(TypeList<Stored>{}, std::forward<Arg>(value));
        return;
      }
    }
    content.bytes.resize(size_bytes);
    encode<T>(std::span(content.bytes), sent);
  };
  keep(team::as_wire<T>(value));
}

}  // namespace event

/// Tasks and events of one rank (edat paper, sections II and IV; docs/design/events.md).
///
/// A task names the events that it depends on by source and name, and runs once it has them all.
/// An event goes to the earliest submitted task that still needs such a one, or waits for one to be
/// submitted. All ranks make their Events in the same order; several are separate name spaces.
///
/// **Ordering**: events of one source arrive at each target in the order fired, whether to `all` or
/// to it alone: as one task fires them, and one fire() after another that has returned. The tasks
/// of a rank begin in the order in which they became ready, by priority. Writes before an event was
/// fired are visible to the task that gets it. **Completion**: World::wait() returns when, on all
/// ranks, tasks have run and events have been consumed; StuckError names tasks that still wait, and
/// events that no task takes. Persistent events, and the oldest incomplete run of a persistent task
/// with the events that it holds, are left out of that. **Caller**: any thread, task or handler,
/// except where said otherwise. **Lifetime**: until wait() has returned; Events that end before
/// with tasks or events left fail the world.
class Events {
 public:
  /// `name` is used in reports; with `place` it tells these events from others that are made in
  /// another order on another rank. `rule` tells which task gets an event. **Caller**: main
  /// functions.
  explicit Events(Team& team, std::string name = "events", MatchingRule rule = MatchingRule::paper,
                  const std::source_location& place = std::source_location::current());
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Runs `function`, void(EventList&) or void(), once its dependencies are met; at once if there
  /// are none. The function of a persistent task may run on several workers at the same time.
  /// **Blocks**: never. **Errors**: CheckError for a rank that does not exist, an unset function,
  /// a persistent task without dependencies, a greedy one that is not persistent, and a function
  /// that cannot be tried again. With `options.retries`, each attempt gets the same events.
  template <class F>
  void submit(const std::vector<EventDependency>& dependencies, F function,
              const EventTaskOptions& options = {}) {
    constexpr bool fits = std::is_invocable_v<F&, EventList&> || std::is_invocable_v<F&>;
    static_assert(fits,
                  "shoal: the function of an event task takes a shoal::EventList& or nothing");
    if constexpr (std::is_constructible_v<bool, F&> && !std::is_empty_v<F>) {
      if (!static_cast<bool>(function)) refuse_unset(options);
    }
    if constexpr (fits) {
      submit_body(dependencies, std::make_shared<event::FunctionBody<F>>(std::move(function)),
                  options);
    }
  }

  /// Fires an event without a value to a rank, `self` or `all`.
  ///
  /// **Blocks**: as ActiveMessage::send(); not when fired to the own rank. **Errors**: CheckError
  /// for `any` and for a rank that does not exist. If it cannot be sent (no memory, no stack left
  /// to wait on) the world fails too, because later events must not overtake it.
  /// **Cost**: one message; to `all`, up to four from
  /// here and each rank that passes them on, log4(size) hops deep.
  void fire(EventPeer target, std::string_view name) { fire_nothing(target, name, false); }
  /// Fires an event with a copy of `value` to a rank, `self` or `all`. The value is of any type
  /// that an active message can carry; Event::get() returns views and text as std::vector and
  /// std::string, or as views again. **Blocks**, **Errors**, **Cost**: as fire() without a value.
  template <class T>
  void fire(EventPeer target, std::string_view name, const T& value) {
    fire_value<event::Encoded<T>>(target, name, value, false);
  }
  /// Fires an event with a value that may be moved: one of 16 KiB or more is not copied before it
  /// travels, and a view of it on a rank of this process is the value itself. **Blocks**,
  /// **Errors**, **Cost**: as fire() without a value.
  template <class T>
    requires(!std::is_reference_v<T> && !std::is_const_v<T>)
  void fire(EventPeer target, std::string_view name, T&& value) {
    fire_value<event::Encoded<T>>(target, name, std::forward<T>(value), false);
  }

  /// Fires a persistent event without a value: as soon as a task has got it, it is there again on
  /// the target, so that all tasks that need such an event get it. A persistent task gets it for
  /// one set of events after the other; one that depends on nothing else runs again and again,
  /// until it is removed. **Blocks**, **Errors**, **Cost**: as fire().
  void fire_persistent(EventPeer target, std::string_view name) {
    fire_nothing(target, name, true);
  }
  /// Fires a persistent event with a copy of `value`: it is there again on the target as soon as a
  /// task has got it. **Blocks**, **Errors**, **Cost**: as fire().
  template <class T>
  void fire_persistent(EventPeer target, std::string_view name, const T& value) {
    fire_value<event::Encoded<T>>(target, name, value, true);
  }

  /// Fires an event with an address, which is valid on this rank only. **Blocks**: never.
  /// **Errors**: CheckError unless `target` is `self` or the caller's rank.
  template <class T>
  void fire_address(EventPeer target, std::string_view name, T* address) {
    fire_pointer(target, name, address, false);
  }
  /// Fires a persistent event with an address, which is valid on this rank only. **Blocks**: never.
  /// **Errors**: CheckError unless `target` is `self` or the caller's rank.
  template <class T>
  void fire_persistent_address(EventPeer target, std::string_view name, T* address) {
    fire_pointer(target, name, address, true);
  }

  // --- events that the machine fires. Each happens once, and keeps the world going until it has
  // been fired, or cancelled. The number is for cancel().

  /// Fires an event once `delay`, a std::chrono::duration, has passed; virtual time in simulated
  /// worlds.
  template <sched::Duration D, class... T>
  std::uint64_t fire_after(D delay, EventPeer target, std::string_view name, const T&... value) {
    static_assert(sizeof...(T) <= 1, "shoal: an event has one value, or none");
    const std::uint64_t delay_ns = sched::to_ns(delay);
    if constexpr (sizeof...(T) == 0) {
      return fire_draft_after(delay_ns, target, draft_of(name));
    } else {
      return fire_draft_after(delay_ns, target, draft_of<event::Encoded<T>...>(name, value...));
    }
  }
  /// Fires an event once there is something to read, or the other end was closed.
  /// **Errors**, also of the next two: CheckError in simulated worlds and as fire(); Error for what
  /// cannot be watched (a descriptor that is not open, a signal that the program handles).
  std::uint64_t fire_when_readable(int descriptor, EventPeer target, std::string_view name);
  /// Fires an event when this process gets the signal, in place of the signal's default action.
  std::uint64_t fire_on_signal(int signal, EventPeer target, std::string_view name);
  /// Fires an event when the process's resident memory exceeds `size_bytes`.
  std::uint64_t fire_when_memory_above(std::size_t size_bytes, EventPeer target,
                                       std::string_view name);
  /// Cancels an event that the machine was to fire; returns false if it has been fired, or is being
  /// fired.
  bool cancel(std::uint64_t number);

  /// Fires an event with a copy of `payload.bytes`, for interfaces of other languages. **Blocks**,
  /// **Errors**, **Cost**: as fire().
  void fire_raw(EventPeer target, std::string_view name, const RawPayload& payload,
                bool persistent = false);
  /// Fires an event with a copy of `payload.bytes` once `delay_ns` nanoseconds have passed; returns
  /// the number for cancel(), and does not block. **Errors**: as fire().
  std::uint64_t fire_raw_after(std::uint64_t delay_ns, EventPeer target, std::string_view name,
                               const RawPayload& payload);

  /// Returns the first event that has arrived for each dependency, if there is one: at most as many
  /// as dependencies, in their order. **Blocks**: never. **Errors**: as submit().
  [[nodiscard]] EventList retrieve_any(const std::vector<EventDependency>& dependencies);

  /// Returns once the events that it depends on are there, like a task that is submitted here: the
  /// caller is parked until then, its named locks are released, and taken again before it goes on.
  /// **Caller**: a task, the main function. **Blocks**: parks the task; its worker goes on.
  /// **Errors**: as submit(); CheckError in a handler; CancelledError when the world has failed,
  /// after which the locks stay released (to unlock them does nothing then); in the main function
  /// TaskError and StuckError, with its locks taken again.
  [[nodiscard]] EventList wait(const std::vector<EventDependency>& dependencies);

  /// Returns one event, the first that is there for any of the dependencies; if several are, that
  /// of the first dependency which has one. The others stay for those that need them. **Caller**,
  /// **Blocks**: as wait(). **Errors**: as wait(); CheckError without a dependency.
  [[nodiscard]] EventList wait_any(const std::vector<EventDependency>& dependencies);

  /// Locks of this rank, by name. A task that ends releases those that it holds; a thread of the
  /// program releases them itself. **Caller**: not handlers, except for try_lock(). **Blocks**:
  /// lock() parks the task. **Errors**: CheckError when the caller locks what it holds, or unlocks
  /// what it does not hold. Tasks that wait for each other are reported as a cycle.
  void lock(std::string_view lock_name);
  /// Releases a lock of this name.
  void unlock(std::string_view lock_name);
  /// Takes the lock if it is free; returns whether the caller holds it now. **Blocks**: never.
  [[nodiscard]] bool try_lock(std::string_view lock_name);
  /// Name of try_lock() in 0.1.
  [[deprecated("its name is try_lock()")]] [[nodiscard]] bool test_lock(
      std::string_view lock_name) {
    return try_lock(lock_name);
  }

  /// Returns whether a task of this name waits for events, or is persistent.
  [[nodiscard]] bool is_submitted(std::string_view task_name) const;
  /// Removes the earliest submitted task of this name; returns false if there is none. Other tasks
  /// get the events that it held. A task that is ready still runs.
  bool remove(std::string_view task_name);

  /// Name in reports.
  [[nodiscard]] const std::string& name() const;

 private:
  using Draft = std::shared_ptr<event::Content>;  // until it is fired

  [[noreturn]] void refuse_unset(const EventTaskOptions& options) const;
  void submit_body(const std::vector<EventDependency>& dependencies,
                   const std::shared_ptr<event::TaskBody>& body, const EventTaskOptions& options);
  static Draft draft(std::string_view name, bool persistent, const event::RequestedType& what);
  void fire_draft(EventPeer target, const Draft& content);
  void fire_nothing(EventPeer target, std::string_view name, bool persistent);
  std::uint64_t fire_draft_after(std::uint64_t delay_ns, EventPeer target, const Draft& content);

  static Draft draft_of(std::string_view name);
  static Draft raw_draft(std::string_view name, const RawPayload& payload);
  template <class T, class Arg>
  static Draft draft_of(std::string_view name, Arg&& value) {
    Draft content = draft(name, false, event::requested_type<wire::Owner<T>>(EventType::value));
    event::keep_value<T>(*content, std::forward<Arg>(value));
    return content;
  }

  template <class T, class Arg>
  void fire_value(EventPeer target, std::string_view name, Arg&& value, bool persistent) {
    const Draft content = draft_of<T>(name, std::forward<Arg>(value));
    content->persistent = persistent;
    fire_draft(target, content);
  }

  template <class T>
  void fire_pointer(EventPeer target, std::string_view name, T* address, bool persistent) {
    const Draft content = draft(name, persistent, event::requested_type<T>(EventType::address));
    content->address = const_cast<std::remove_cv_t<T>*>(address);
    fire_draft(target, content);
  }

  const std::unique_ptr<event::Core> core_;
};

}  // namespace shoal

#pragma once
// Events without templates: matching, messages, tasks and reports of one rank.

#include "env/machine_watch.hpp"
#include "event/matcher.hpp"
#include "event/order.hpp"

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/event/events.hpp>
#include <shoal/message.hpp>
#include <shoal/sync.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shoal::event {

/// An event that happens once, or is stopped before. The task that submit_after() keeps for it
/// counts as running.
class Source : public sched::WaitingRoom, public std::enable_shared_from_this<Source> {
 public:
  Source(sched::Scheduler& scheduler, std::string text)
      : WaitingRoom(scheduler), text_(std::move(text)) {}
  virtual ~Source();

  /// Starts to watch. **Errors**: Error for a source that cannot be watched.
  virtual void start() = 0;
  /// Stops the source and destroys the task that waits for it; returns false if the event has
  /// happened, or is just happening.
  bool stop();
  [[nodiscard]] bool was_stopped() const { return stopped_.load(std::memory_order_acquire); }

  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override { return text_; }
  [[nodiscard]] bool ends_by_itself() const override { return true; }

 protected:
  void happen();
  /// Stops watching; returns false if the event is just happening.
  virtual bool unwatch() = 0;

 private:
  const std::string text_;
  std::atomic<bool> stopped_{false};  // written before happened_
  bool happened_ SHOAL_GUARDED_BY(mutex_) = false;
};

/// Sources of one rank. **Caller**: any thread.
class Sources {
 public:
  explicit Sources(sched::Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Calls `action` in a task called `name` after `delay_ns`; returns the number for cancel().
  std::uint64_t after(std::uint64_t delay_ns, std::string name, Function<void()> action);
  // **Errors**: CheckError in simulated worlds; Error for a source that cannot be watched.
  std::uint64_t when_readable(int descriptor, std::string name, Function<void()> action);
  std::uint64_t on_signal(int signal, std::string name, Function<void()> action);
  std::uint64_t when_memory_above(std::size_t size_bytes, std::string name,
                                  Function<void()> action);
  /// Cancels a source; returns false if its event has happened.
  bool cancel(std::uint64_t number);

 private:
  using Begin = Function<env::MachineWatch::Id(env::MachineWatch&, Function<void()>)>;
  std::uint64_t watch(std::string text, std::string name, Begin begin, Function<void()> action);
  std::uint64_t add(const std::shared_ptr<Source>& source, std::string name,
                    Function<void()> action);

  sched::Scheduler& scheduler_;
  env::MachineWatch machine_;
  sync::Mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Source>> sources_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
};

/// Named locks of one rank. **Caller**: tasks, the main function, threads of the program.
class NamedLocks {
 public:
  explicit NamedLocks(sched::Scheduler& scheduler) : scheduler_(scheduler) {}
  /// Releases the locks that the caller still holds.
  ~NamedLocks();
  NamedLocks(const NamedLocks&) = delete;
  NamedLocks& operator=(const NamedLocks&) = delete;

  /// Waits until the caller holds the lock. **Errors**: CheckError when it holds the lock already.
  void lock(std::string_view name);
  [[nodiscard]] bool try_lock(std::string_view name);
  /// Releases the lock. **Errors**: CheckError when the caller does not hold it, unless it lost it
  /// in wait_without().
  void unlock(std::string_view name);

  /// Releases the locks that the caller holds, also those of other Events, calls `wait`, and takes
  /// the locks again, in the order of their names, which is the same for all callers. It also takes
  /// them again when `wait` throws, except after CancelledError: then they are lost, and to unlock
  /// them does nothing.
  void wait_without(FunctionRef<void()> wait);

 private:
  class Held;
  Mutex& find(std::string_view name);
  Held* held_here(bool make);

  sched::Scheduler& scheduler_;
  sync::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Mutex>, std::less<>> locks_ SHOAL_GUARDED_BY(mutex_);
};

class EventWait;

class Core final : private team::Unsatisfied {
 public:
  Core(TeamCore& team, std::string name, MatchingRule rule, const std::source_location& place);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // As in Events.
  void submit(const std::vector<EventDependency>& dependencies,
              const std::shared_ptr<TaskBody>& body, const EventTaskOptions& options);
  /// Submits a task that was checked.
  void add(const std::vector<Dependency>& expanded, const std::shared_ptr<TaskBody>& body,
           const EventTaskOptions& options);
  void fire(EventPeer target, const std::shared_ptr<Content>& content);
  [[nodiscard]] EventList retrieve_any(const std::vector<EventDependency>& dependencies);
  [[nodiscard]] bool is_submitted(std::string_view task_name) const;
  bool remove(std::string_view task_name);
  [[nodiscard]] EventList wait(const std::vector<EventDependency>& dependencies);
  [[nodiscard]] EventList wait_any(const std::vector<EventDependency>& dependencies);
  [[nodiscard]] NamedLocks& locks() {
    check_runs();
    return locks_;
  }
  [[nodiscard]] Sources& sources() {
    check_runs();
    note_use();
    return sources_;
  }
  /// Throws CheckError unless the event can be fired to `target`.
  Rank check_target(EventPeer target, const Content& content) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns a text such as "events 'x': task 'y'".
  [[nodiscard]] std::string describe_task(const EventTaskOptions& options) const;

 private:
  friend class EventWait;
  class Runner;
  /// A task that is ready, with its events once it begins.
  struct Begun {
    std::shared_ptr<TaskBody> body;
    std::vector<Payload> payloads;  // of the events
    Ready ready;                    // that this has made ready, to be submitted
    EventList events;
  };

  [[nodiscard]] Rank rank() const { return team_.rank(); }
  [[nodiscard]] int size() const { return team_.size(); }
  /// `who`: subject of the text of a refusal.
  using Who = FunctionRef<std::string()>;
  [[nodiscard]] std::vector<Dependency> expand(const std::vector<EventDependency>& dependencies,
                                               const Who& who) const;
  void check_rank(Rank rank, const Who& who) const;
  void deliver_here(const SharedContent& content);
  void fire_to_all(const SharedContent& content);
  void send(Rank target, Parcel&& parcel);
  void receive(const Parcel& parcel);
  void multicast(Parcel&& parcel);
  template <class Send>
  void insist(Send send);
  void arrive(const SharedContent& content, Ready& ready) SHOAL_REQUIRES(mutex_);
  void enqueue(const Ready& ready) SHOAL_REQUIRES(mutex_);
  void submit_runners(const Ready& ready);
  static EventList to_events(const std::vector<Payload>& payloads);
  Begun begin_next();
  /// Name of a task in reports.
  [[nodiscard]] std::string name_of(const TaskBody& task) const;
  /// Name of the task that begins next.
  [[nodiscard]] std::string next_name() const;

  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  void close_handlers() override;
  void at_rest() override { in_use_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool is_in_use() const override { return in_use_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string title() const override;
  bool run_ended() override {
    run_has_ended_ = true;
    return true;
  }
  // relaxed: a task that does it ends before at_rest() is called, or before this ends
  void note_use() { in_use_.store(true, std::memory_order_relaxed); }
  void check_runs() const;

  TeamCore& team_;
  const std::string name_;
  std::atomic<bool> in_use_{false};  // since a wait() has returned
  bool run_has_ended_ = false;       // written when the workers have stopped
  NamedLocks locks_;
  Sources sources_;

  mutable sync::Mutex out_mutex_;
  Outbox outbox_ SHOAL_GUARDED_BY(out_mutex_);

  mutable sync::Mutex mutex_;
  Matcher matcher_ SHOAL_GUARDED_BY(mutex_);
  Inbox inbox_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t task_count_ SHOAL_GUARDED_BY(mutex_) = 0;
  // By priority, in the order in which they became ready. There is a Runner for each.
  std::map<int, std::deque<std::shared_ptr<Instance>>, std::greater<>> ready_
      SHOAL_GUARDED_BY(mutex_);

  // The last member: its handler uses the others.
  const ActiveMessage<Parcel> message_;
};

}  // namespace shoal::event

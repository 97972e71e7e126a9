#include "event/core.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/trace.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "event/matcher.hpp"

#include <array>
#include <atomic>
#include <map>
#include <tuple>
#include <utility>

namespace shoal::event {

class EventWait;

/// Body of a wait, in place of the function of a task. Guarded by the lock of the core.
class WaitBody final : public TaskBody {
 public:
  explicit WaitBody(EventWait& of) : wait(&of) { is_wait = true; }
  void run(EventList& /*events*/) override {}

  EventWait* const wait;           // gone once it was given its events
  sync::Waiter* waiter = nullptr;  // to be woken
};

/// One wait() of a task. Its fields are guarded by the lock of the core.
class EventWait final : public sched::Waitable {
 public:
  /// For all of the dependencies, or any of them.
  EventWait(Core& core, const std::vector<Dependency>& dependencies, bool any)
      : Waitable(core.team_.scheduler()), core_(core), dependencies_(dependencies), any_(any) {}

  bool enlist(sync::Waiter& waiter) override;
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const sched::TaskScope* ending_scope() const override { return &core_.team_; }

  /// Waits for the events and returns them. **Errors**: as sched::wait_for(); then its events are
  /// matched with other consumers, and nothing refers to this object any more.
  std::vector<Payload> wait();

 private:
  friend class Core;
  /// Submits the wait; returns whether it is ready already.
  bool submit();
  void leave() SHOAL_REQUIRES(core_.mutex_);
  void give_back();
  std::vector<Payload> take();

  Core& core_;
  const std::vector<Dependency>& dependencies_;
  const bool any_;
  ConsumerId id_ = 0;
  sync::Waiter* waiter_ = nullptr;
  std::shared_ptr<Instance> instance_;  // once it is ready
  Ready others_;                        // made ready by what this gave back
};

namespace {

TaskBody& task_of(const Instance& instance) {
  return *static_cast<TaskBody*>(instance.action().get());
}

ConsumerKind kind_of(const EventTaskOptions& options) {
  if (!options.persistent) return ConsumerKind::task;
  return options.greedy ? ConsumerKind::greedy : ConsumerKind::persistent;
}

}  // namespace

/// Runs the task that became ready first among those that have not begun, not the one for which it
/// was made: the queue of a worker is last in, first out for tasks that are made on that worker.
class Core::Runner final : public sched::Task {
 public:
  Runner(Core& core, int task_priority) : core_(core) {
    scope = &core.team_;
    priority = task_priority;
  }
  void run() override {
    if (begun_.body == nullptr) begin();
    core_.submit_runners(begun_.ready);
    begun_.events = core_.to_events(begun_.payloads);
    TaskBody& body = *begun_.body;
    if (body.retries == 0) return body.run(begun_.events);
    sched::run_attempts(body.retries, [this, &body] {
      EventList events = begun_.events;
      body.run_again(events);
    });
  }
  bool begin_recorded() override {
    begin();
    return true;
  }
  [[nodiscard]] std::string name() const override {
    const TaskBody* const body = body_.load(std::memory_order_acquire);
    return body != nullptr ? core_.name_of(*body) : core_.next_name();
  }

 private:
  void begin() {
    begun_ = core_.begin_next();
    // release pairs with the acquire in name(), which reports call from other threads
    body_.store(begun_.body.get(), std::memory_order_release);
  }

  Core& core_;
  Begun begun_;
  std::atomic<const TaskBody*> body_{nullptr};
};

Core::Core(TeamCore& team, std::string name, MatchingRule rule, const std::source_location& place)
    : team_(team),
      name_(std::move(name)),
      locks_(team.scheduler()),
      sources_(team.scheduler()),
      outbox_(team.rank(), team.size()),
      matcher_(rule),
      inbox_(team.rank(), team.size()),
      message_(
          team, [this](const Parcel& parcel) { receive(parcel); },
          team::model_options(fmt::format("events '{}'", name_)), place) {
  team_.add(*this);
}

Core::~Core() { team_.remove(*this); }

void Core::close_handlers() { team_.close_handlers(std::array{message_.number()}); }

EventList Core::to_events(const std::vector<Payload>& payloads) {
  EventList events;
  events.reserve(payloads.size());
  for (const Payload& payload : payloads) {
    auto content = std::static_pointer_cast<const Content>(payload);
    if (trace::on<trace::Category::event>()) {
      const sched::Task* const task = sched::current_task();
      trace::event_matched(content->trace_id, task != nullptr ? task->trace_id : 0,
                           trace::intern(content->name));
    }
    events.emplace_back(std::move(content));
  }
  return events;
}

// --- tasks

void Core::check_runs() const {
  if (run_has_ended_) team::refuse_after_run(title());
}

std::string Core::title() const { return fmt::format("events '{}'", name_); }

std::string Core::describe_task(const EventTaskOptions& options) const {
  if (options.name.empty()) return fmt::format("events '{}': a task", name_);
  return fmt::format("events '{}': task '{}'", name_, options.name);
}

std::string Core::name_of(const TaskBody& task) const {
  return task.name.empty() ? fmt::format("{}[{}]", name_, task.number) : task.name;
}

void Core::check_rank(Rank rank, const Who& who) const {
  if (rank >= 0 && rank < size()) return;
  team_.refuse_rank(who(), rank.value());
}

std::vector<Dependency> Core::expand(const std::vector<EventDependency>& dependencies,
                                     const Who& who) const {
  std::vector<Dependency> expanded;
  expanded.reserve(dependencies.size());
  for (const EventDependency& dependency : dependencies) {
    switch (dependency.source.kind()) {
      case EventPeer::Kind::rank:
        check_rank(dependency.source.rank(),
                   [&] { return fmt::format("{} depends on \"{}\"", who(), dependency.name); });
        expanded.push_back({dependency.source.rank(), dependency.name});
        break;
      case EventPeer::Kind::self:
        expanded.push_back({rank(), dependency.name});
        break;
      case EventPeer::Kind::any:
        expanded.push_back({kAnySource, dependency.name});
        break;
      case EventPeer::Kind::all:
        for (int source = 0; source < size(); ++source) {
          expanded.push_back({source, dependency.name});
        }
        break;
    }
  }
  return expanded;
}

void Core::submit(const std::vector<EventDependency>& dependencies,
                  const std::shared_ptr<TaskBody>& body, const EventTaskOptions& options) {
  check_runs();
  note_use();
  const auto who = [&] { return describe_task(options); };
  if (options.retries != 0) {
    sched::check_retries(options.retries, who());
    if (!body->may_repeat()) sched::refuse_function(who());
  }
  if (options.greedy && !options.persistent) {
    throw CheckError(fmt::format("{} is greedy but not persistent: set both, or neither", who()));
  }
  if (options.persistent && dependencies.empty()) {
    throw CheckError(
        fmt::format("{} is persistent and depends on nothing: it would run for ever", who()));
  }
  const std::vector<Dependency> expanded = expand(dependencies, who);
  body->name = options.name;
  body->priority = options.priority;
  body->retries = options.retries;
  if (sched::Attempt* const attempt = sched::current_attempt()) {
    return attempt->withhold([this, expanded, body, options] { add(expanded, body, options); });
  }
  add(expanded, body, options);
}

void Core::add(const std::vector<Dependency>& expanded, const std::shared_ptr<TaskBody>& body,
               const EventTaskOptions& options) {
  Ready ready;
  {
    const sync::Lock lock(mutex_);
    body->number = task_count_++;
    matcher_.add_consumer({kind_of(options), options.name, expanded, body}, ready);
    enqueue(ready);
  }
  submit_runners(ready);
}

void Core::enqueue(const Ready& ready) {
  for (const auto& instance : ready) {
    TaskBody& task = task_of(*instance);
    if (!task.is_wait) {
      ready_[task.priority].push_back(instance);
      continue;
    }
    auto& body = static_cast<WaitBody&>(task);
    body.wait->instance_ = instance;
    // A waiter that is not parked yet sees that it need not park.
    body.waiter = std::exchange(body.wait->waiter_, nullptr);
  }
}

// Called without the lock. The code that made the instances ready is itself counted, or is a main
// function that runs, so the world cannot end before they are submitted.
void Core::submit_runners(const Ready& ready) {
  for (const auto& instance : ready) {
    TaskBody& task = task_of(*instance);
    if (!task.is_wait) {
      team_.scheduler().submit(std::make_unique<Runner>(*this, task.priority));
    } else if (sync::Waiter* const waiter = static_cast<WaitBody&>(task).waiter) {
      waiter->wake();
    }
  }
}

Core::Begun Core::begin_next() {
  Begun begun;
  {
    const sync::Lock lock(mutex_);
    auto& [priority, queue] = *ready_.begin();
    const std::shared_ptr<Instance> instance = std::move(queue.front());
    queue.pop_front();
    if (queue.empty()) ready_.erase(ready_.begin());
    begun.body = std::static_pointer_cast<TaskBody>(instance->action());
    begun.payloads = matcher_.begin_run(*instance, begun.ready);
    enqueue(begun.ready);
  }
  return begun;
}

std::string Core::next_name() const {
  const sync::Lock lock(mutex_);
  if (ready_.empty()) return fmt::format("a task of events '{}'", name_);
  return name_of(task_of(*ready_.begin()->second.front()));
}

bool Core::is_submitted(std::string_view task_name) const {
  check_runs();
  const sync::Lock lock(mutex_);
  return matcher_.is_submitted(task_name);
}

bool Core::remove(std::string_view task_name) {
  check_runs();
  sched::refuse_in_attempt("remove() of a task of events");
  Ready ready;
  bool found = false;
  {
    const sync::Lock lock(mutex_);
    found = matcher_.remove(task_name, ready);
    enqueue(ready);
  }
  submit_runners(ready);
  return found;
}

EventList Core::retrieve_any(const std::vector<EventDependency>& dependencies) {
  check_runs();
  sched::refuse_in_attempt("retrieve_any()");
  const std::vector<Dependency> expanded =
      expand(dependencies, [this] { return fmt::format("events '{}': retrieve_any()", name_); });
  const sync::Lock lock(mutex_);
  return to_events(matcher_.retrieve_any(expanded));
}

// --- events

Rank Core::check_target(EventPeer target, const Content& content) const {
  const auto who = [&] {
    return fmt::format("events '{}': \"{}\" cannot be fired to", name_, content.name);
  };
  if (target.kind() == EventPeer::Kind::any) {
    throw CheckError(fmt::format("{} any: name a rank, or shoal::self, or shoal::all", who()));
  }
  if (target.kind() == EventPeer::Kind::rank) {
    check_rank(target.rank(),
               [&] { return fmt::format("events '{}': fire() of \"{}\"", name_, content.name); });
  }
  const bool to_all = target.kind() == EventPeer::Kind::all;
  const Rank to = target.kind() == EventPeer::Kind::rank ? target.rank() : rank();
  if (content.type == EventType::address && (to_all || to != rank())) {
    throw CheckError(fmt::format("{} {} with an address: it means nothing on other ranks", who(),
                                 to_all ? "all" : fmt::format("rank {}", to.value())));
  }
  return to;
}

void Core::fire(EventPeer target, const std::shared_ptr<Content>& content) {
  check_runs();
  content->source = rank();
  const Rank to = check_target(target, *content);
  if (sched::Attempt* const attempt = sched::current_attempt()) {
    return attempt->withhold([this, target, content] { fire(target, content); });
  }
  if (trace::on<trace::Category::event>()) {
    content->trace_id = trace::new_id();
    trace::event_fired(content->trace_id, static_cast<std::uint32_t>(to.value()),
                       trace::intern(content->name));
  }
  if (target.kind() == EventPeer::Kind::all) {
    fire_to_all(content);
  } else if (to != rank()) {
    Parcel parcel;
    {
      const sync::Lock lock(out_mutex_);
      parcel = outbox_.to_one(to, content);
    }
    send(to, std::move(parcel));
  } else {
    deliver_here(content);
  }
}

// An event to the own rank needs no message to keep its order: fire() has matched it when it
// returns.
void Core::deliver_here(const SharedContent& content) {
  Ready ready;
  {
    const sync::Lock lock(mutex_);
    arrive(content, ready);
    enqueue(ready);
  }
  submit_runners(ready);
}

void Core::fire_to_all(const SharedContent& content) {
  Parcel parcel;
  {
    const sync::Lock lock(out_mutex_);
    parcel = outbox_.to_all(content);
  }
  multicast(std::move(parcel));
  deliver_here(content);
}

// The event has its number already: if it were lost, later events would wait for it for ever.
template <class Send>
void Core::insist(Send send) {
  try {
    send();
  } catch (...) {
    team_.fail(fmt::format("fire() of events '{}'", name_), std::current_exception());
    throw;
  }
}

void Core::send(Rank target, Parcel&& parcel) {
  insist([&] { message_.send(target, std::move(parcel)); });
}

// The tree lists the ranks from this one on, cyclically, so that each source has a tree of its own.
void Core::multicast(Parcel&& parcel) {
  constexpr int kArity = 4;
  std::vector<Rank> others;
  others.reserve(static_cast<std::size_t>(size()));
  for (int i = 1; i < size(); ++i) others.emplace_back((rank().value() + i) % size());
  insist([&] {
    message_.multicast(Recipients(others, {TreeShape::k_ary, kArity}), std::move(parcel));
  });
}

void Core::receive(const Parcel& parcel) {
  Ready ready;
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    inbox_.accept(parcel, [&](const SharedContent& content)
                              SHOAL_UNCHECKED_LOCKING { arrive(content, ready); });
    enqueue(ready);
  });
  submit_runners(ready);
}

void Core::arrive(const SharedContent& content, Ready& ready) {
  note_use();
  matcher_.arrive({content->source, content->name, content, content->persistent}, ready);
}

// --- reports

std::uint64_t Core::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  return matcher_.waiting_count() + matcher_.later_count() + matcher_.starved_count() +
         matcher_.unconsumed_count() + inbox_.held_count();
}

std::vector<std::string> Core::describe_unsatisfied() const {
  Leftovers leftovers;
  std::map<std::tuple<std::string, int, std::string>, std::uint64_t> kinds;
  {
    const sync::Lock lock(mutex_);
    leftovers.waiting = matcher_.waiting(kLinesMax);
    leftovers.waiting_count =
        matcher_.waiting_count() + matcher_.later_count() + matcher_.starved_count();
    leftovers.held_sources = inbox_.held_sources();
    matcher_.for_each_unconsumed([&](int source, const std::string& name, const Payload& payload) {
      const Content& content = *static_cast<const Content*>(payload.get());
      ++kinds[{name, source, type_of(content)}];
    });
  }
  for (WaitingConsumer& one : leftovers.waiting) {
    one.name = name_of(*static_cast<const TaskBody*>(one.action.get()));
  }
  for (const auto& [kind, count] : kinds) {
    const auto& [name, source, type] = kind;
    leftovers.unconsumed.push_back({name, source, type, count});
  }
  return describe(name_, leftovers);
}

bool EventWait::enlist(sync::Waiter& waiter) {
  const sync::Lock lock(core_.mutex_);
  if (instance_ != nullptr) return false;
  waiter_ = &waiter;
  return true;
}

bool EventWait::withdraw(sync::Waiter& /*waiter*/) {
  const sync::Lock lock(core_.mutex_);
  if (std::exchange(waiter_, nullptr) == nullptr) return false;
  leave();
  return true;
}

// Once: if it has left, or is ready, the matcher does not know it any more.
void EventWait::leave() {
  if (core_.matcher_.withdraw(id_, others_)) core_.enqueue(others_);
}

std::string EventWait::describe() const {
  constexpr std::size_t kNamesMax = 8;
  std::vector<std::string> names;
  for (const Dependency& one : dependencies_) {
    if (names.size() == kNamesMax) {
      names.emplace_back("...");
      break;
    }
    names.push_back(one.source == kAnySource
                        ? fmt::format("\"{}\" from any rank", one.name)
                        : fmt::format("\"{}\" from rank {}", one.name, one.source));
  }
  return fmt::format("{} of events '{}' for {}", any_ ? "wait_any()" : "wait()", core_.name(),
                     fmt::join(names, any_ ? " or " : ", "));
}

std::vector<Payload> EventWait::wait() {
  check_may_wait();
  const bool is_ready = submit();
  try {
    if (!is_ready) {
      core_.locks_.wait_without([this] { core_.team_.wait_for_part([this] { wait_here(); }); });
    }
  } catch (...) {
    give_back();
    throw;
  }
  return take();
}

bool EventWait::submit() {
  const auto body = std::make_shared<WaitBody>(*this);
  body->name = fmt::format("{} in '{}'", any_ ? "wait_any()" : "wait()", sched::current_activity());
  Ready ready;
  bool is_ready = false;
  {
    const sync::Lock lock(core_.mutex_);
    id_ = core_.matcher_.add_consumer({ConsumerKind::wait, "", dependencies_, body, any_}, ready);
    core_.enqueue(ready);
    is_ready = instance_ != nullptr;
  }
  core_.submit_runners(ready);
  return is_ready;
}

// It may have thrown before it was parked, when it was taken out, or with its events in hand.
void EventWait::give_back() {
  {
    const sync::Lock lock(core_.mutex_);
    if (instance_ == nullptr) {
      leave();
    } else {
      core_.matcher_.give_back(*instance_, others_);
      core_.enqueue(others_);
    }
  }
  core_.submit_runners(others_);
}

std::vector<Payload> EventWait::take() {
  Ready ready;
  std::vector<Payload> payloads;
  {
    const sync::Lock lock(core_.mutex_);
    payloads = core_.matcher_.begin_run(*instance_, ready);
    core_.enqueue(ready);
  }
  core_.submit_runners(ready);
  return payloads;
}

EventList Core::wait(const std::vector<EventDependency>& dependencies) {
  check_runs();
  const std::vector<Dependency> expanded =
      expand(dependencies, [this] { return fmt::format("events '{}': wait()", name_); });
  return to_events(EventWait(*this, expanded, false).wait());
}

EventList Core::wait_any(const std::vector<EventDependency>& dependencies) {
  check_runs();
  const std::vector<Dependency> expanded =
      expand(dependencies, [this] { return fmt::format("events '{}': wait_any()", name_); });
  SHOAL_CHECK(!expanded.empty(),
              "events '{}': wait_any() without events would wait for ever: name at least one",
              name_);
  return to_events(EventWait(*this, expanded, true).wait());
}

}  // namespace shoal::event

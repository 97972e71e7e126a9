#pragma once
// Matching engine of one rank: decides which consumer gets which event. Pure and single-threaded;
// callers lock.
//
// Invariant, between two calls: no event that waits fits an unfilled dependency of a consumer that
// waits. So an event that arrives has to be compared with consumers only, a new consumer with
// events only, and either finds what it needs at the head of a list. (A persistent event waits for
// ever, and consumers get copies. With it the invariant is about the dependencies that may have a
// copy: wants_copy().)
// - `Slot` is where events of one source (or of any) under one name meet: the events that wait, in
//   the order of arrival, and the dependencies that wait, in the order of submission.
// - `Group` is the dependencies of one consumer on one slot. They are filled in turn, so a counter
//   says which is next, also over the instances of a persistent task: the instances of each
//   dependency that are filled are always the first ones.
//
// MatchingRule::library makes two differences. A group of a persistent task leaves its slot once
// the dependencies of one instance are filled, as that of a transient task does, and enters it
// again, at its place, when that instance is complete (greedy: when it begins). And waits come
// behind all tasks in the list of a slot.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/list.hpp>
#include <shoal/event/event.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shoal::event {

inline constexpr int kAnySource = -1;

struct Dependency {
  int source = 0;  // rank, or kAnySource
  std::string name;
};

/// Payload of an event; the matcher does not look at it.
using Payload = std::shared_ptr<const void>;

struct Arrival {
  int source = 0;
  std::string_view name;
  Payload payload;
  bool persistent = false;
};

enum class ConsumerKind : std::uint8_t {
  task,        // runs once
  persistent,  // runs as often as its dependencies are met
  greedy,      // persistent; an instance takes all that fits until it begins to run
  wait,        // a task that stands still
};

/// Submissions are numbered from 0 on.
using ConsumerId = std::uint64_t;

struct ConsumerSpec {
  ConsumerKind kind = ConsumerKind::task;
  std::string name;  // "": it cannot be found by name
  std::span<const Dependency> dependencies;
  std::shared_ptr<void> action;  // what the instances are for; passed on
  bool needs_one = false;        // a wait that any of its dependencies ends
};

/// A consumer in reports.
struct WaitingConsumer {
  ConsumerId id = 0;
  ConsumerKind kind = ConsumerKind::task;
  std::string name;
  std::shared_ptr<void> action;
  std::size_t held_count = 0;       // events that it was given
  std::vector<Dependency> missing;  // in the order of the dependencies; each once
  std::uint64_t later_count = 0;  // see Matcher::later_count(); all numbers are of these instances
  std::size_t missing_count = 0;  // events that it lacks
  bool is_starved = false;        // see Matcher::starved_count()
};

// Defined in matcher_parts.hpp.
struct Consumer;
struct Group;
struct NameEntry;
struct Slot;
struct StoredEvent;
struct ConsumerLists;
class HeldEvents;
using EventPtr = std::unique_ptr<StoredEvent>;

/// One set of events on its way to a consumer.
class Instance {
 public:
  Instance(std::shared_ptr<void> action, std::size_t dependency_count);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Action of the consumer's spec.
  [[nodiscard]] const std::shared_ptr<void>& action() const { return action_; }
  /// Returns whether all dependencies are met; once true, it stays so.
  [[nodiscard]] bool is_ready() const { return missing_ == 0; }

 private:
  friend class Matcher;
  struct Extra;

  std::shared_ptr<void> action_;
  Consumer* held_up_ = nullptr;   // until this begins: see Consumer::held_up_by
  bool copies_only_ = true;       // it has no event that is not persistent
  std::vector<EventPtr> events_;  // by dependency
  std::vector<Extra> extras_;     // greedy: further ones, in the order taken
  std::size_t missing_;
};

/// Instances, in the order in which they became ready.
using Ready = std::vector<std::shared_ptr<Instance>>;

struct StringHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class T>
using ByString = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

/// Matching engine. Functions that make instances ready append them to `ready`; the caller must
/// call begin_run() for each.
class Matcher {
 public:
  explicit Matcher(MatchingRule rule = MatchingRule::paper);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// A persistent consumer has dependencies. Cost, here and below: a few look-ups per dependency
  /// and per event taken, however much else waits.
  ConsumerId add_consumer(const ConsumerSpec& spec, Ready& ready);
  void arrive(const Arrival& arrival, Ready& ready);
  /// Removes at most one event for each dependency, of those that have arrived, and returns their
  /// payloads.
  std::vector<Payload> retrieve_any(std::span<const Dependency> dependencies);
  /// Returns the events of a ready instance, in the order of its dependencies.
  std::vector<Payload> begin_run(Instance& instance, Ready& ready);

  /// Returns whether a task of this name waits, or is persistent.
  [[nodiscard]] bool is_submitted(std::string_view name) const;
  /// Removes the earliest submitted task of this name; returns false if there is none. The events
  /// that it held return to their old places in the order of arrival and are matched again.
  /// Instances that are ready stay. Cost: for each event that returns, up to the number of older
  /// ones of its name that wait.
  bool remove(std::string_view name, Ready& ready);
  /// Removes a wait, and matches its events again; returns false if the wait is ready, or does not
  /// exist any more.
  bool withdraw(ConsumerId wait, Ready& ready);
  /// Matches the events of a ready wait again, instead of begin_run().
  void give_back(Instance& instance, Ready& ready);

  // --- work that keeps the world from ending

  /// Returns the number of transient tasks and waits that are not ready.
  [[nodiscard]] std::uint64_t waiting_count() const { return waiting_count_; }
  /// Returns the number of incomplete instances of persistent tasks, without the oldest one of
  /// each. They hold events that other tasks may need.
  [[nodiscard]] std::uint64_t later_count() const { return later_count_; }
  /// Returns the number of persistent tasks without later instances that would run with the events
  /// that incomplete instances of others hold. By the library's rule there are none: it does not
  /// wait for events that persistent tasks hold. Cost: for each dependency of persistent tasks and
  /// each event held.
  [[nodiscard]] std::uint64_t starved_count() const { return starved().size(); }
  /// Returns the number of events that are not persistent and were not taken.
  [[nodiscard]] std::uint64_t unconsumed_count() const { return unconsumed_count_; }

  // --- reports

  /// At most `count_max` consumers: those of the waiting_count(), then persistent ones with later
  /// instances, then those of the starved_count(). Each group in the order of submission.
  [[nodiscard]] std::vector<WaitingConsumer> waiting(std::size_t count_max) const;
  using Visit = FunctionRef<void(int source, const std::string& name, const Payload& payload)>;
  /// Calls `visit` for each of the unconsumed_count(); those of one name in the order of arrival.
  void for_each_unconsumed(const Visit& visit) const;

  /// Returns the number of entries of lists and tables that were looked at so far, as a measure of
  /// cost in tests.
  [[nodiscard]] std::uint64_t probe_count() const { return probe_count_; }

 private:
  NameEntry& intern(std::string_view text);
  void sweep_names();
  /// Returns the slot of a dependency; nullptr if it was never used.
  Slot* find_slot(const Dependency& dependency);
  Slot& make_slot(NameEntry& name, int source);

  void make_groups(Consumer& consumer, std::span<const Dependency> dependencies);
  /// The group of the slot before which one of the consumer belongs; nullptr: at the end.
  Group* place_of(const Slot& slot, const Consumer& consumer);
  void enter_slots(Consumer& consumer);
  void take_what_waits(Consumer& consumer, Ready& ready);
  bool take_in_turn(Consumer& consumer, Ready& ready);
  void take_all(Consumer& greedy, Ready& ready);
  void match(EventPtr event, Ready& ready);
  Group* choose(const StoredEvent& event);
  /// Fills the next dependency of the group; returns whether that completed an instance. A consumer
  /// that is not persistent does not exist any more then.
  bool give(Group& group, EventPtr event, Ready& ready);
  std::shared_ptr<Instance>& instance_at(Consumer& consumer, std::uint64_t number);
  void complete(Consumer& consumer, Ready& ready);

  void keep(EventPtr event);
  void keep_persistent(EventPtr event, Ready& ready);
  /// Returns whether the group's consumer does not exist any more.
  bool give_copies(StoredEvent& event, Group& group, Ready& ready);
  void take_for_next(Consumer& consumer, Ready& ready);
  void go_on(Consumer& consumer, Ready& ready);
  EventPtr copy(StoredEvent& event);
  EventPtr take_first(Slot& slot, bool or_copy);
  void discard(Consumer& consumer, Ready& ready);
  static void take_out(Instance& instance, std::vector<EventPtr>& events);
  void match_again(std::vector<EventPtr> events, Ready& ready);
  void forget(Consumer& consumer);
  [[nodiscard]] std::vector<const Consumer*> starved() const;
  static void add_held(const Consumer& consumer, HeldEvents& held);

  const MatchingRule rule_;
  ByString<std::unique_ptr<NameEntry>> names_;
  std::size_t sweep_at_;  // number of names at which those without use are dropped
  std::unique_ptr<ConsumerLists> lists_;
  std::vector<Group*> group_of_;  // of each dependency of the consumer that is being added
  ConsumerId next_consumer_ = 0;
  std::uint64_t next_arrival_ = 0;
  std::uint64_t waiting_count_ = 0;
  std::uint64_t later_count_ = 0;
  std::uint64_t unconsumed_count_ = 0;
  std::uint64_t persistent_count_ = 0;  // of events
  std::uint64_t probe_count_ = 0;
};

/// Events of one name, source and type.
struct Unconsumed {
  std::string name;
  int source = 0;
  std::string type;
  std::uint64_t count = 0;
};

/// Consumers and events that are left when nothing runs any more.
struct Leftovers {
  std::vector<WaitingConsumer> waiting;  // the first ones
  std::uint64_t waiting_count = 0;       // of all; with the later and the starved instances
  std::vector<Unconsumed> unconsumed;
  std::vector<Rank> held_sources;  // events from there wait for earlier ones that have not come
};

/// At most kLinesMax tasks and as many kinds of events, and how many more; each with a hint if
/// an event and a dependency differ a little only.
inline constexpr std::size_t kLinesMax = 16;
[[nodiscard]] std::vector<std::string> describe(const std::string& events,
                                                const Leftovers& leftovers);

/// Type of a fired event, as people write it: "int", "std::vector<double>", "nothing".
[[nodiscard]] std::string type_of(const Content& content);

}  // namespace shoal::event

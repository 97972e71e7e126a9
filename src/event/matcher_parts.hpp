#pragma once
// Parts of a Matcher; matcher.hpp explains how they work together.

#include <shoal/detail/sync/list.hpp>

#include "event/matcher.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::event {

/// An event that waits, or is held by an instance; or the copy of a persistent one that an instance
/// holds.
struct StoredEvent {
  std::uint64_t number = 0;  // place in the order of arrival
  NameEntry* name = nullptr;
  Slot* slot = nullptr;  // of its source
  Payload payload;
  bool persistent = false;
  sync::ListLink<StoredEvent> in_slot;
  sync::ListLink<StoredEvent> in_name;
};

/// The dependencies of one consumer on one slot. In the slot's list while is_open().
struct Group {
  Consumer* consumer = nullptr;
  Slot* slot = nullptr;
  std::uint64_t filled_count = 0;  // over all instances of a persistent task
  std::uint32_t size = 0;
  std::uint32_t offset = 0;  // into Consumer::members
  sync::ListLink<Group> in_slot;

  /// Returns whether one of its dependencies may be filled now.
  [[nodiscard]] bool is_open() const;
};

/// Meeting point of the events of one source and name, or of any source, with the dependencies on
/// them.
struct Slot {
  NameEntry* name = nullptr;
  int source = kAnySource;
  // For any source, the lists of NameEntry are used instead.
  sync::List<StoredEvent, &StoredEvent::in_slot> events;
  sync::List<StoredEvent, &StoredEvent::in_slot> persistent;
  sync::List<Group, &Group::in_slot> groups;  // by the turn of their consumers
};

struct NameEntry {
  const std::string* text = nullptr;                      // the key in the table of names
  std::uint64_t use_count = 0;                            // events and groups that refer to it
  sync::List<StoredEvent, &StoredEvent::in_name> events;  // of all sources
  sync::List<StoredEvent, &StoredEvent::in_name> persistent;
  Slot any;
  std::unordered_map<int, Slot> by_source;
};

struct Consumer {
  ConsumerId id = 0;
  std::uint64_t turn = 0;  // the smaller is served first
  ConsumerKind kind = ConsumerKind::task;
  bool needs_one = false;     // any event completes it
  bool one_at_a_time = true;  // takes no event for an instance before the previous one is complete
  std::string name;
  std::shared_ptr<void> action;
  std::size_t dependency_count = 0;
  std::vector<Group> groups;           // never grows after the first has entered a slot
  std::vector<std::uint32_t> members;  // dependencies, by group
  std::vector<Group*> group_of;        // of each dependency; of persistent consumers only
  std::vector<std::shared_ptr<Instance>> instances;  // not ready; greedy: the one not begun
  std::uint64_t first_instance = 0;                  // number of instances[0]
  std::size_t left_count = 0;                        // so many first ones have become ready
  // Ready; until it begins no other one gets copies. Greedy: it takes more until then. Else it has
  // copies only, and there would be more of its kind without end.
  std::shared_ptr<Instance> held_up_by;
  sync::ListLink<Consumer> in_order;
  sync::ListLink<Consumer> in_name;

  [[nodiscard]] bool is_transient() const {
    return kind == ConsumerKind::task || kind == ConsumerKind::wait;
  }
  [[nodiscard]] bool is_greedy() const { return kind == ConsumerKind::greedy; }

  [[nodiscard]] std::uint64_t oldest() const { return first_instance + left_count; }
  /// Returns the number of incomplete instances after the oldest one.
  [[nodiscard]] std::uint64_t later_count() const {
    const std::size_t incomplete = instances.size() - left_count;
    return incomplete > 0 ? incomplete - 1 : 0;
  }
  std::shared_ptr<Instance> take_oldest() {
    std::shared_ptr<Instance> oldest = std::move(instances[left_count++]);
    if (2 * left_count > instances.size()) {
      instances.erase(instances.begin(),
                      instances.begin() + static_cast<std::ptrdiff_t>(left_count));
      first_instance += std::exchange(left_count, 0);
    }
    return oldest;
  }
};

/// Owns the consumers.
struct ConsumerLists {
  sync::List<Consumer, &Consumer::in_order> transient;   // in the order of submission
  sync::List<Consumer, &Consumer::in_order> persistent;  // the same
  ByString<sync::List<Consumer, &Consumer::in_name>> by_name;
  std::unordered_map<ConsumerId, Consumer*> waits;

  [[nodiscard]] sync::List<Consumer, &Consumer::in_order>& of(const Consumer& consumer) {
    return consumer.is_transient() ? transient : persistent;
  }
};

/// Further event for a dependency that has one already.
struct Instance::Extra {
  std::uint32_t dependency;
  EventPtr event;
};

}  // namespace shoal::event

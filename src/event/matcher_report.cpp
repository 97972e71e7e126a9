// Reports of a matcher about waiting consumers and events.

#include "event/matcher.hpp"
#include "event/matcher_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::event {

namespace {

/// Number of instances in which the dependency at `place` of the group is filled: the first ones.
std::uint64_t filled_instances(const Group& group, std::uint32_t place) {
  return (group.filled_count + group.size - 1 - place) / group.size;
}

/// The consumer with the dependencies that its instances [from, to) lack.
WaitingConsumer describe(const Consumer& consumer, std::uint64_t from, std::uint64_t to) {
  WaitingConsumer one;
  one.id = consumer.id;
  one.kind = consumer.kind;
  one.name = consumer.name;
  one.action = consumer.action;
  std::vector<std::pair<std::uint32_t, const Slot*>> missing;
  for (const Group& group : consumer.groups) {
    for (std::uint32_t place = 0; place < group.size; ++place) {
      const std::uint64_t filled = std::max(filled_instances(group, place), from);
      if (filled >= to) continue;
      one.missing_count += static_cast<std::size_t>(to - filled);
      missing.emplace_back(consumer.members[group.offset + place], group.slot);
    }
  }
  one.held_count =
      consumer.dependency_count * static_cast<std::size_t>(to - from) - one.missing_count;
  std::ranges::sort(missing, {}, &std::pair<std::uint32_t, const Slot*>::first);
  for (const auto& [dependency, slot] : missing) {
    one.missing.push_back({slot->source, *slot->name->text});
  }
  return one;
}

}  // namespace

/// Numbers of events by name and source.
class HeldEvents {
 public:
  void add(const StoredEvent& event) {
    ++of_source_[event.slot];
    ++of_name_[event.name];
  }
  [[nodiscard]] bool empty() const { return of_name_.empty(); }
  /// Events outside of `used` fill all dependencies that instance `number` of the consumer lacks.
  /// Dependencies on one rank choose first; those on any rank take the rest.
  [[nodiscard]] bool complete(const Consumer& consumer, std::uint64_t number,
                              HeldEvents used) const {
    for (const bool any : {false, true}) {
      for (const Group& group : consumer.groups) {
        if ((group.slot->source == kAnySource) != any) continue;
        for (std::uint32_t place = 0; place < group.size; ++place) {
          if (filled_instances(group, place) <= number && !use(*group.slot, used)) return false;
        }
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool use(const Slot& slot, HeldEvents& used) const {
    if (slot.source != kAnySource && ++used.of_source_[&slot] > count(of_source_, &slot)) {
      return false;
    }
    return ++used.of_name_[slot.name] <= count(of_name_, slot.name);
  }
  template <class Map, class Key>
  static std::uint64_t count(const Map& map, const Key* key) {
    const auto it = map.find(key);
    return it != map.end() ? it->second : 0;
  }

  std::unordered_map<const Slot*, std::uint64_t> of_source_;
  std::unordered_map<const NameEntry*, std::uint64_t> of_name_;
};

void Matcher::add_held(const Consumer& consumer, HeldEvents& held) {
  for (const auto& instance : consumer.instances) {
    if (instance == nullptr || instance->is_ready()) continue;
    for (const EventPtr& event : instance->events_) {
      if (event != nullptr && !event->persistent) held.add(*event);
    }
    for (const Instance::Extra& extra : instance->extras_) held.add(*extra.event);
  }
}

std::vector<const Consumer*> Matcher::starved() const {
  std::vector<const Consumer*> result;
  if (rule_ == MatchingRule::library) return result;
  HeldEvents all;
  const Consumer* one = lists_->persistent.first();
  for (; one != nullptr; one = one->in_order.next) add_held(*one, all);
  if (all.empty()) return result;
  for (one = lists_->persistent.first(); one != nullptr; one = one->in_order.next) {
    if (one->later_count() > 0 || one->held_up_by != nullptr) continue;
    HeldEvents own;
    add_held(*one, own);
    if (all.complete(*one, one->oldest(), std::move(own))) result.push_back(one);
  }
  return result;
}

std::vector<WaitingConsumer> Matcher::waiting(std::size_t count_max) const {
  std::vector<WaitingConsumer> result;
  const Consumer* one = lists_->transient.first();
  for (; one != nullptr && result.size() < count_max; one = one->in_order.next) {
    result.push_back(describe(*one, 0, 1));
  }
  one = lists_->persistent.first();
  for (; one != nullptr && result.size() < count_max; one = one->in_order.next) {
    if (one->later_count() == 0) continue;
    const std::uint64_t later = one->oldest() + 1;
    result.push_back(describe(*one, later, later + one->later_count()));
    result.back().later_count = one->later_count();
  }
  for (const Consumer* const consumer : starved()) {
    if (result.size() == count_max) break;
    result.push_back(describe(*consumer, consumer->oldest(), consumer->oldest() + 1));
    result.back().is_starved = true;
  }
  return result;
}

void Matcher::for_each_unconsumed(const Visit& visit) const {
  for (const auto& [text, name] : names_) {
    for (const StoredEvent* event = name->events.first(); event != nullptr;
         event = event->in_name.next) {
      visit(event->slot->source, text, event->payload);
    }
  }
}

}  // namespace shoal::event

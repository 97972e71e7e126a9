#include "event/matcher.hpp"

#include <shoal/detail/base/type_name.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/edit_distance.hpp"
#include "event/matcher_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::event {

namespace {

constexpr std::size_t kMissingMax = 8;  // per task

std::string source_text(int source) {
  return source == kAnySource ? "any rank" : fmt::format("rank {}", source);
}

std::string dependency_text(const Dependency& dependency) {
  return fmt::format("\"{}\" from {}", dependency.name, source_text(dependency.source));
}

bool looks_alike(const std::string& a, const std::string& b) {
  const std::size_t allowed = std::min(a.size(), b.size()) <= 3 ? 1 : 2;
  return edit_distance(a, b) <= allowed;
}

/// Hint at a likely mistake: the right name from another rank, or a similar name.
std::string hint_for(const WaitingConsumer& consumer, const std::vector<Unconsumed>& unconsumed) {
  const Unconsumed* alike = nullptr;
  for (const Dependency& wanted : consumer.missing) {
    for (const Unconsumed& there : unconsumed) {
      if (there.name == wanted.name) {
        return fmt::format("; \"{}\" is here from {}: is the source right?", there.name,
                           source_text(there.source));
      }
      const bool fits = wanted.source == kAnySource || wanted.source == there.source;
      if (alike == nullptr && fits && looks_alike(there.name, wanted.name)) alike = &there;
    }
  }
  if (alike == nullptr) return "";
  return fmt::format("; \"{}\" is here from {}: is the name right?", alike->name,
                     source_text(alike->source));
}

bool runs_once(const WaitingConsumer& consumer) {
  return consumer.kind == ConsumerKind::task || consumer.kind == ConsumerKind::wait;
}

std::string name_of(const WaitingConsumer& consumer) {
  return runs_once(consumer) ? consumer.name : consumer.name + " (persistent)";
}

/// Its part of Leftovers::waiting_count.
std::uint64_t counted(const WaitingConsumer& consumer) {
  return runs_once(consumer) || consumer.is_starved ? 1 : consumer.later_count;
}

std::string later_text(std::uint64_t count) {
  if (count == 0) return "";
  return count == 1 ? " for a later run" : fmt::format(" for {} later runs", count);
}

std::string describe_waiting(const WaitingConsumer& consumer,
                             const std::vector<Unconsumed>& unconsumed) {
  std::vector<std::string> missing;
  for (const Dependency& dependency : consumer.missing) {
    if (missing.size() == kMissingMax) {
      missing.push_back(fmt::format("{} more", consumer.missing.size() - kMissingMax));
      break;
    }
    missing.push_back(dependency_text(dependency));
  }
  return fmt::format("{} has {} of {} events{} and waits for {}{}", name_of(consumer),
                     consumer.held_count, consumer.held_count + consumer.missing_count,
                     later_text(consumer.later_count), fmt::join(missing, ", "),
                     consumer.is_starved ? "; another persistent task holds what it lacks"
                                         : hint_for(consumer, unconsumed));
}

std::string describe_unconsumed(const Unconsumed& event) {
  const std::string times = event.count == 1 ? "" : fmt::format(", {} times", event.count);
  return fmt::format("no task took \"{}\" from {} with {}{}", event.name, source_text(event.source),
                     event.type, times);
}

/// The types that all interfaces for other languages have: those of <shoal/event.h>.
std::string raw_text(const RawPayload& raw) {
  constexpr int kFirstContext = 1000;
  static constexpr std::array<std::string_view, 7> kOne{"nothing", "int",     "float", "double",
                                                        "byte",    "address", "long"};
  if (raw.type == 0) return std::string(kOne[0]);
  if (raw.type >= kFirstContext) return "a context";
  if (raw.type < 0 || raw.type >= static_cast<int>(kOne.size())) {
    return fmt::format("{} elements of type {}", raw.count, raw.type);
  }
  const std::string_view name = kOne[static_cast<std::size_t>(raw.type)];
  if (raw.count == 1) return fmt::format("1 {}", name);
  return fmt::format("{} {}{}", raw.count, name, name.ends_with('s') ? "es" : "s");
}

}  // namespace

std::string type_of(const Content& content) {
  const std::string text = naming::tidy(content.type_text);
  switch (content.type) {
    case EventType::none:
      return "nothing";
    case EventType::value:
      return text;
    case EventType::raw:
      return raw_text(content.raw);
    case EventType::address:
      return fmt::format("the address of {}", text);
  }
  return text;
}

std::vector<std::string> describe(const std::string& events, const Leftovers& leftovers) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& text) {
    lines.push_back(fmt::format("events '{}': {}", events, text));
  };
  std::uint64_t more_count = leftovers.waiting_count;
  for (const WaitingConsumer& consumer : leftovers.waiting) {
    add(describe_waiting(consumer, leftovers.unconsumed));
    more_count -= counted(consumer);
  }
  if (more_count > 0) add(fmt::format("and {} more tasks", more_count));
  const std::size_t shown = std::min(leftovers.unconsumed.size(), kLinesMax);
  for (std::size_t i = 0; i < shown; ++i) add(describe_unconsumed(leftovers.unconsumed[i]));
  std::uint64_t left_out = 0;
  for (std::size_t i = shown; i < leftovers.unconsumed.size(); ++i) {
    left_out += leftovers.unconsumed[i].count;
  }
  if (left_out > 0) add(fmt::format("and {} more events that no task took", left_out));
  for (const Rank source : leftovers.held_sources) {
    add(fmt::format("events from rank {} wait for earlier ones that were lost", source.value()));
  }
  return lines;
}

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

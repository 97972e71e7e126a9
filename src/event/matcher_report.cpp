// Reports of a matcher about waiting consumers and events.

#include "event/matcher.hpp"
#include "event/matcher_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace shoal::event {

std::vector<WaitingConsumer> Matcher::waiting(std::size_t count_max) const {
  std::vector<WaitingConsumer> result;
  const Consumer* consumer = lists_->transient.first();
  for (; consumer != nullptr && result.size() < count_max; consumer = consumer->in_order.next) {
    WaitingConsumer& one = result.emplace_back();
    one.id = consumer->id;
    one.kind = consumer->kind;
    one.name = consumer->name;
    one.action = consumer->action;
    std::vector<std::pair<std::uint32_t, const Slot*>> missing;
    for (const Group& group : consumer->groups) {
      for (std::uint64_t i = group.filled_count; i < group.size; ++i) {
        missing.emplace_back(consumer->members[group.offset + i], group.slot);
      }
    }
    std::ranges::sort(missing, {}, &std::pair<std::uint32_t, const Slot*>::first);
    one.held_count = consumer->dependency_count - missing.size();
    for (const auto& [dependency, slot] : missing) {
      one.missing.push_back({slot->source, *slot->name->text});
    }
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

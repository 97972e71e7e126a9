// Matcher: consumers that are removed before they run.

#include "event/matcher.hpp"

#include "event/matcher_parts.hpp"

#include <algorithm>
#include <utility>

namespace shoal::event {

bool Matcher::is_submitted(std::string_view name) const {
  return lists_->by_name.find(name) != lists_->by_name.end();
}

bool Matcher::remove(std::string_view name, Ready& ready) {
  ++probe_count_;
  const auto it = lists_->by_name.find(name);
  if (it == lists_->by_name.end()) return false;
  discard(*it->second.first(), ready);
  return true;
}

bool Matcher::withdraw(ConsumerId wait, Ready& ready) {
  ++probe_count_;
  const auto it = lists_->waits.find(wait);
  if (it == lists_->waits.end()) return false;
  discard(*it->second, ready);
  return true;
}

void Matcher::give_back(Instance& instance, Ready& ready) {
  std::vector<EventPtr> events;
  take_out(instance, events);
  match_again(std::move(events), ready);
}

void Matcher::discard(Consumer& consumer, Ready& ready) {
  std::vector<EventPtr> events;
  later_count_ -= consumer.later_count();
  if (consumer.held_up_by != nullptr) consumer.held_up_by->held_up_ = nullptr;
  for (const auto& instance : consumer.instances) {
    if (instance == nullptr || instance->is_ready()) continue;  // left, or greedy and still to run
    take_out(*instance, events);
  }
  forget(consumer);
  match_again(std::move(events), ready);
}

void Matcher::take_out(Instance& instance, std::vector<EventPtr>& events) {
  for (EventPtr& event : instance.events_) {
    if (event != nullptr && !event->persistent) events.push_back(std::move(event));
  }
  for (Instance::Extra& extra : instance.extras_) events.push_back(std::move(extra.event));
}

void Matcher::match_again(std::vector<EventPtr> events, Ready& ready) {
  std::ranges::sort(events, {}, [](const EventPtr& event) { return event->number; });
  for (EventPtr& event : events) match(std::move(event), ready);
}

}  // namespace shoal::event

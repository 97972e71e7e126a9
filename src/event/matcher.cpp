#include "event/matcher.hpp"

#include <shoal/detail/base/check.hpp>

#include "event/matcher_parts.hpp"

#include <algorithm>
#include <utility>

namespace shoal::event {

Instance::Instance(std::shared_ptr<void> action, std::size_t dependency_count)
    : action_(std::move(action)), events_(dependency_count), missing_(dependency_count) {}
Instance::~Instance() = default;

namespace {

constexpr std::size_t kNamesMin = 64;  // fewer are kept without a look at their use
constexpr std::uint64_t kBehindTasks = std::uint64_t{1} << 63;  // a turn

/// Place that a group fills next; the group with the smaller one comes first.
struct Place {
  std::uint64_t round;  // number of the instance; greedy: 1 if every dependency has an event
  std::uint32_t dependency;
  auto operator<=>(const Place&) const = default;
};

Place next_place(const Group& group) {
  const Consumer& consumer = *group.consumer;
  const std::uint32_t* const members = consumer.members.data() + group.offset;
  if (consumer.is_greedy() && group.filled_count >= group.size) return {1, members[0]};
  return {group.filled_count / group.size, members[group.filled_count % group.size]};
}

/// Returns whether the group takes a copy: only for the oldest incomplete instance, as otherwise
/// copies would make instances without end.
bool wants_copy(const Group& group) {
  const Consumer& consumer = *group.consumer;
  return consumer.held_up_by == nullptr && next_place(group).round == consumer.oldest();
}

/// Removes the event from the matcher and returns its payload.
Payload consume(const StoredEvent& event) {
  if (!event.persistent) --event.name->use_count;
  return event.payload;
}

}  // namespace

bool Group::is_open() const {
  if (consumer->is_transient()) return filled_count < size;
  return !consumer->one_at_a_time || next_place(*this).round == consumer->oldest();
}

Matcher::Matcher(MatchingRule rule)
    : rule_(rule), sweep_at_(kNamesMin), lists_(std::make_unique<ConsumerLists>()) {}

Matcher::~Matcher() {
  for (auto* const list : {&lists_->transient, &lists_->persistent}) {
    while (Consumer* consumer = list->first()) {
      list->erase(*consumer);
      const std::unique_ptr<Consumer> owned(consumer);
    }
  }
  for (auto& [text, name] : names_) {
    for (auto* const list : {&name->events, &name->persistent}) {
      while (StoredEvent* event = list->first()) {
        list->erase(*event);
        const EventPtr owned(event);
      }
    }
  }
}

// --- names. Unused names are dropped when the table has doubled: so no name is made and dropped in
// turn, and dropping costs a constant for each name made.

NameEntry& Matcher::intern(std::string_view text) {
  ++probe_count_;
  if (const auto it = names_.find(text); it != names_.end()) return *it->second;
  if (names_.size() >= sweep_at_) sweep_names();
  const auto it = names_.emplace(std::string(text), std::make_unique<NameEntry>()).first;
  NameEntry& name = *it->second;
  name.text = &it->first;
  name.any.name = &name;
  return name;
}

void Matcher::sweep_names() {
  probe_count_ += names_.size();
  std::erase_if(names_, [](const auto& entry) { return entry.second->use_count == 0; });
  sweep_at_ = std::max(kNamesMin, 2 * names_.size());
}

Slot& Matcher::make_slot(NameEntry& name, int source) {
  ++probe_count_;
  if (source == kAnySource) return name.any;
  Slot& slot = name.by_source[source];
  slot.name = &name;
  slot.source = source;
  return slot;
}

Slot* Matcher::find_slot(const Dependency& dependency) {
  ++probe_count_;
  const auto name = names_.find(dependency.name);
  if (name == names_.end()) return nullptr;
  if (dependency.source == kAnySource) return &name->second->any;
  const auto slot = name->second->by_source.find(dependency.source);
  return slot == name->second->by_source.end() ? nullptr : &slot->second;
}

// --- consumers

ConsumerId Matcher::add_consumer(const ConsumerSpec& spec, Ready& ready) {
  const ConsumerId id = next_consumer_++;
  if (spec.dependencies.empty()) {
    SHOAL_DCHECK(spec.kind == ConsumerKind::task || spec.kind == ConsumerKind::wait,
                 "a persistent consumer without dependencies would always be ready");
    ready.push_back(std::make_shared<Instance>(spec.action, 0));
    return id;
  }
  Consumer& consumer = *std::make_unique<Consumer>().release();  // owned by the lists
  consumer.id = id;
  consumer.kind = spec.kind;
  consumer.needs_one = spec.needs_one;
  const bool by_library = rule_ == MatchingRule::library;
  consumer.turn = by_library && spec.kind == ConsumerKind::wait ? id + kBehindTasks : id;
  consumer.one_at_a_time = by_library || consumer.is_transient();
  consumer.name = spec.name;
  consumer.action = spec.action;
  consumer.dependency_count = spec.dependencies.size();
  if (consumer.is_transient()) ++waiting_count_;
  lists_->of(consumer).push_back(consumer);
  if (consumer.kind == ConsumerKind::wait) lists_->waits.emplace(id, &consumer);
  if (!spec.name.empty()) lists_->by_name[spec.name].push_back(consumer);
  make_groups(consumer, spec.dependencies);
  take_what_waits(consumer, ready);
  return id;
}

void Matcher::make_groups(Consumer& consumer, std::span<const Dependency> dependencies) {
  std::vector<Group*>& group_of = group_of_;
  group_of.clear();
  consumer.groups.reserve(dependencies.size());
  for (const Dependency& dependency : dependencies) {
    Slot& slot = make_slot(intern(dependency.name), dependency.source);
    Group* const place = place_of(slot, consumer);
    Group* group = place != nullptr ? place->in_slot.previous : slot.groups.last();
    if (group == nullptr || group->consumer != &consumer) {
      group = &consumer.groups.emplace_back();
      group->consumer = &consumer;
      group->slot = &slot;
      slot.groups.insert_before(place, *group);
      ++slot.name->use_count;
    }
    ++group->size;
    group_of.push_back(group);
  }
  std::uint32_t offset = 0;
  for (Group& group : consumer.groups) {
    group.offset = offset;
    offset += std::exchange(group.size, 0);
  }
  consumer.members.resize(dependencies.size());
  for (std::uint32_t i = 0; i < dependencies.size(); ++i) {
    Group& group = *group_of[i];
    consumer.members[group.offset + group.size++] = i;
  }
  if (!consumer.is_transient()) consumer.group_of = group_of;
}

// Searches from both ends at once, as most groups belong near one of them. The list is in order, so
// that both searches end before they reach the other end.
Group* Matcher::place_of(const Slot& slot, const Consumer& consumer) {
  Group* last = slot.groups.last();
  for (Group* first = slot.groups.first(); first != nullptr; first = first->in_slot.next) {
    if (last->consumer->turn <= consumer.turn) return last->in_slot.next;
    if (first->consumer->turn > consumer.turn) return first;
    ++probe_count_;
    last = last->in_slot.previous;
  }
  return nullptr;
}

// All of its groups were full.
void Matcher::enter_slots(Consumer& consumer) {
  for (Group& group : consumer.groups) {
    ++probe_count_;
    group.slot->groups.insert_before(place_of(*group.slot, consumer), group);
  }
}

// Takes the earliest event that fits, dependency by dependency; a persistent task then fills its
// next instance, and a greedy one takes the rest.
void Matcher::take_what_waits(Consumer& consumer, Ready& ready) {
  const bool greedy = consumer.is_greedy();
  for (bool more = true; more;) more = take_in_turn(consumer, ready) && !greedy;
  if (greedy && !consumer.one_at_a_time) take_all(consumer, ready);
}

void Matcher::take_all(Consumer& greedy, Ready& ready) {
  for (Group* const group : greedy.group_of) {
    while (EventPtr event = take_first(*group->slot, false)) give(*group, std::move(event), ready);
  }
}

// Returns whether there may be more events, for the next instance.
bool Matcher::take_in_turn(Consumer& consumer, Ready& ready) {
  const bool once = consumer.is_transient();
  const std::vector<Group*>& group_of = once ? group_of_ : consumer.group_of;
  bool took = false;
  for (std::uint32_t i = 0; i < group_of.size(); ++i) {
    Group& group = *group_of[i];
    if (!group.is_open() || next_place(group).dependency != i) continue;
    EventPtr event = take_first(*group.slot, wants_copy(group));
    if (event == nullptr) continue;
    took = true;
    if (give(group, std::move(event), ready)) return !once;
  }
  return took && !once;
}

void Matcher::match(EventPtr event, Ready& ready) {
  Group* const group = choose(*event);
  if (group == nullptr) return keep(std::move(event));
  Consumer& consumer = *group->consumer;
  const bool once = consumer.is_transient();
  if (give(*group, std::move(event), ready) && !once) take_for_next(consumer, ready);
}

// The earliest consumer is first in one of two lists. If it is first in both, the event goes to its
// oldest instance, and in it to the first dependency.
Group* Matcher::choose(const StoredEvent& event) {
  probe_count_ += 2;
  Group* const exact = event.slot->groups.first();
  Group* const any = event.name->any.groups.first();
  if (exact == nullptr || any == nullptr) return exact != nullptr ? exact : any;
  if (exact->consumer != any->consumer) {
    return exact->consumer->turn < any->consumer->turn ? exact : any;
  }
  return next_place(*exact) < next_place(*any) ? exact : any;
}

bool Matcher::give(Group& group, EventPtr event, Ready& ready) {
  ++probe_count_;
  Consumer& consumer = *group.consumer;
  const Place place = next_place(group);
  Instance& instance = *instance_at(consumer, place.round);
  const bool was_open = group.is_open();
  ++group.filled_count;
  if (was_open && !group.is_open()) group.slot->groups.erase(group);
  if (consumer.is_greedy() && place.round > 0) {
    instance.extras_.push_back({place.dependency, std::move(event)});
    return false;
  }
  if (!event->persistent) instance.copies_only_ = false;
  instance.events_[place.dependency] = std::move(event);
  if (consumer.needs_one) instance.missing_ = 1;
  if (--instance.missing_ > 0) return false;
  complete(consumer, ready);
  return true;
}

std::shared_ptr<Instance>& Matcher::instance_at(Consumer& consumer, std::uint64_t number) {
  const std::uint64_t index = consumer.is_greedy() ? 0 : number - consumer.first_instance;
  if (index == consumer.instances.size()) {
    if (consumer.instances.size() > consumer.left_count) ++later_count_;
    consumer.instances.push_back(
        std::make_shared<Instance>(consumer.action, consumer.dependency_count));
  }
  return consumer.instances[static_cast<std::size_t>(index)];
}

// The oldest instance is the one that is ready: younger ones got their events later.
void Matcher::complete(Consumer& consumer, Ready& ready) {
  std::shared_ptr<Instance> instance =
      consumer.is_greedy() ? consumer.instances.front() : consumer.take_oldest();
  ready.push_back(instance);
  if (consumer.is_transient()) return forget(consumer);
  if (!consumer.is_greedy()) {
    if (consumer.instances.size() > consumer.left_count) --later_count_;
    if (consumer.one_at_a_time) enter_slots(consumer);
    if (!instance->copies_only_) return;
  }
  instance->held_up_ = &consumer;
  consumer.held_up_by = std::move(instance);
}

void Matcher::forget(Consumer& consumer) {
  for (Group& group : consumer.groups) {
    ++probe_count_;
    if (group.is_open()) group.slot->groups.erase(group);
    --group.slot->name->use_count;
  }
  if (consumer.is_transient()) --waiting_count_;
  lists_->of(consumer).erase(consumer);
  if (consumer.kind == ConsumerKind::wait) lists_->waits.erase(consumer.id);
  if (!consumer.name.empty()) {
    const auto it = lists_->by_name.find(consumer.name);
    it->second.erase(consumer);
    if (it->second.empty()) lists_->by_name.erase(it);
  }
  const std::unique_ptr<Consumer> owned(&consumer);
}

// --- events

void Matcher::arrive(const Arrival& arrival, Ready& ready) {
  auto event = std::make_unique<StoredEvent>();
  event->number = next_arrival_++;
  event->name = &intern(arrival.name);
  event->slot = &make_slot(*event->name, arrival.source);
  event->payload = arrival.payload;
  event->persistent = arrival.persistent;
  ++event->name->use_count;
  if (event->persistent) return keep_persistent(std::move(event), ready);
  match(std::move(event), ready);
}

// At the end, unless it comes back: then only others that came back earlier, or that are of other
// sources, can be older.
void Matcher::keep(EventPtr owned) {
  StoredEvent& event = *owned.release();
  ++unconsumed_count_;
  const auto place_in = [&](const auto& list) -> StoredEvent* {
    ++probe_count_;
    if (list.empty() || list.last()->number < event.number) return nullptr;
    StoredEvent* place = list.first();
    for (; place->number < event.number; place = list.next(*place)) ++probe_count_;
    return place;
  };
  event.slot->events.insert_before(place_in(event.slot->events), event);
  event.name->events.insert_before(place_in(event.name->events), event);
}

// Each consumer that may have a copy gets one, in the order of submission.
void Matcher::keep_persistent(EventPtr owned, Ready& ready) {
  StoredEvent& event = *owned.release();
  ++persistent_count_;
  event.slot->persistent.push_back(event);
  event.name->persistent.push_back(event);
  std::vector<std::pair<Group*, Consumer*>> groups;  // they may leave the slot, and enter it again
  Group* exact = event.slot->groups.first();
  Group* any = event.name->any.groups.first();
  while (exact != nullptr || any != nullptr) {
    const bool exact_first =
        any == nullptr || (exact != nullptr && exact->consumer->turn <= any->consumer->turn);
    Group*& next = exact_first ? exact : any;
    groups.emplace_back(next, next->consumer);
    next = next->in_slot.next;
  }
  // A transient consumer ends with the last of its groups in this slot, or, if one event is enough,
  // with the first.
  const Consumer* ended = nullptr;
  for (const auto& [group, consumer] : groups) {
    if (consumer != ended && give_copies(event, *group, ready)) ended = consumer;
  }
}

bool Matcher::give_copies(StoredEvent& event, Group& group, Ready& ready) {
  ++probe_count_;
  if (!group.is_open() || !wants_copy(group)) return false;
  Consumer& consumer = *group.consumer;
  const bool once = consumer.is_transient();
  bool completed = false;
  for (auto lacking = group.size - group.filled_count % group.size; lacking > 0; --lacking) {
    completed = give(group, copy(event), ready);
    if (completed && once) return true;
  }
  if (completed) take_for_next(consumer, ready);
  return false;
}

// For the next instance of a persistent consumer: copies, and, if it takes one at a time, events
// that it left.
void Matcher::take_for_next(Consumer& consumer, Ready& ready) {
  if (persistent_count_ > 0 || consumer.one_at_a_time) take_what_waits(consumer, ready);
}

// A copy fires the event again: it goes behind all waiting events.
EventPtr Matcher::copy(StoredEvent& event) {
  event.number = next_arrival_++;
  event.slot->persistent.erase(event);
  event.slot->persistent.push_back(event);
  event.name->persistent.erase(event);
  event.name->persistent.push_back(event);
  auto made = std::make_unique<StoredEvent>();
  made->payload = event.payload;
  made->persistent = true;
  return made;
}

EventPtr Matcher::take_first(Slot& slot, bool or_copy) {
  ++probe_count_;
  const bool any = slot.source == kAnySource;
  StoredEvent* const event = any ? slot.name->events.first() : slot.events.first();
  if (or_copy) {
    StoredEvent* const other = any ? slot.name->persistent.first() : slot.persistent.first();
    const bool is_earlier = other != nullptr && (event == nullptr || other->number < event->number);
    if (is_earlier) return copy(*other);
  }
  if (event == nullptr) return nullptr;
  event->slot->events.erase(*event);
  event->name->events.erase(*event);
  --unconsumed_count_;
  return EventPtr(event);
}

std::vector<Payload> Matcher::retrieve_any(std::span<const Dependency> dependencies) {
  std::vector<Payload> payloads;
  for (const Dependency& dependency : dependencies) {
    Slot* const slot = find_slot(dependency);
    const EventPtr event = slot != nullptr ? take_first(*slot, true) : nullptr;
    if (event != nullptr) payloads.push_back(consume(*event));
  }
  return payloads;
}

std::vector<Payload> Matcher::begin_run(Instance& instance, Ready& ready) {
  Consumer* const held_up = std::exchange(instance.held_up_, nullptr);
  const bool left_some = held_up != nullptr && held_up->is_greedy() && held_up->one_at_a_time;
  if (left_some) take_all(*held_up, ready);
  std::vector<Payload> payloads;
  payloads.reserve(instance.events_.size() + instance.extras_.size());
  std::ranges::stable_sort(instance.extras_, {}, &Instance::Extra::dependency);
  auto extra = instance.extras_.begin();
  for (std::uint32_t i = 0; i < instance.events_.size(); ++i) {
    if (instance.events_[i] == nullptr) continue;  // another one was enough
    payloads.push_back(consume(*instance.events_[i]));
    for (; extra != instance.extras_.end() && extra->dependency == i; ++extra) {
      payloads.push_back(consume(*extra->event));
    }
  }
  instance.events_.clear();
  instance.extras_.clear();
  if (held_up != nullptr) go_on(*held_up, ready);
  return payloads;
}

void Matcher::go_on(Consumer& consumer, Ready& ready) {
  consumer.held_up_by = nullptr;
  if (consumer.is_greedy()) {
    consumer.instances.clear();
    for (Group& group : consumer.groups) group.filled_count = 0;
    if (consumer.one_at_a_time) enter_slots(consumer);
  }
  take_for_next(consumer, ready);
}

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

#include <shoal/detail/base/function.hpp>
#include <shoal/event/events.hpp>

#include "event/core.hpp"
#include "event/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shoal {

namespace event {

void check_type(const Content& content, const RequestedType& requested) {
  if (content.type == requested.type && content.signature == requested.signature) return;
  Content wanted;
  wanted.type = requested.type;
  wanted.type_text = requested.type_text;
  throw CheckError(
      fmt::format("event \"{}\" from rank {} was fired with {}, not with {}: get it as it was "
                  "fired",
                  content.name, content.source.value(), type_of(content), type_of(wanted)));
}

void refuse_event(std::size_t n, std::span<const Event> events) {
  constexpr std::size_t kNamesMax = 8;
  std::vector<std::string> names;
  for (const Event& event : events.first(std::min(events.size(), kNamesMax))) {
    names.push_back(fmt::format("\"{}\" from rank {}", event.name(), event.source().value()));
  }
  if (events.size() > kNamesMax) names.emplace_back("...");
  throw CheckError(fmt::format("a list of {} events has no event {} (the first is 0): it has {}",
                               events.size(), n,
                               names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace event

Events::Events(Team& team, std::string name, MatchingRule rule, const std::source_location& place)
    : core_(std::make_unique<event::Core>(core_of(team), std::move(name), rule, place)) {}
Events::~Events() = default;

const std::string& Events::name() const { return core_->name(); }

void Events::refuse_unset(const EventTaskOptions& options) const {
  throw CheckError(fmt::format("{} has no function: it was submitted with an empty one",
                               core_->describe_task(options)));
}

void Events::submit_body(const std::vector<EventDependency>& dependencies,
                         const std::shared_ptr<event::TaskBody>& body,
                         const EventTaskOptions& options) {
  core_->submit(dependencies, body, options);
}

Events::Draft Events::draft(std::string_view name, bool persistent,
                            const event::RequestedType& what) {
  auto content = std::make_shared<event::Content>();
  content->name = name;
  content->persistent = persistent;
  content->type = what.type;
  content->signature = what.signature;
  content->type_text = what.type_text;
  return content;
}

void Events::fire_draft(EventPeer target, const Draft& content) { core_->fire(target, content); }

void Events::fire_nothing(EventPeer target, std::string_view name, bool persistent) {
  fire_draft(target, draft(name, persistent, {EventType::none, 0, ""}));
}

Events::Draft Events::draft_of(std::string_view name) {
  return draft(name, false, {EventType::none, 0, ""});
}

namespace {

/// Function that fires the event when it is called. Refuses now an event that cannot be fired.
Function<void()> firing(event::Core& core, EventPeer target,
                        const std::shared_ptr<event::Content>& content) {
  static_cast<void>(core.check_target(target, *content));
  return [&core, target, content] { core.fire(target, content); };
}

}  // namespace

std::uint64_t Events::fire_draft_after(std::uint64_t delay_ns, EventPeer target,
                                       const Draft& content) {
  return core_->sources().after(delay_ns, fmt::format("timer for \"{}\"", content->name),
                                firing(*core_, target, content));
}

std::uint64_t Events::fire_when_readable(int descriptor, EventPeer target, std::string_view name) {
  return core_->sources().when_readable(descriptor,
                                        fmt::format("descriptor {} for \"{}\"", descriptor, name),
                                        firing(*core_, target, draft_of(name)));
}

std::uint64_t Events::fire_on_signal(int signal, EventPeer target, std::string_view name) {
  return core_->sources().on_signal(signal, fmt::format("signal {} for \"{}\"", signal, name),
                                    firing(*core_, target, draft_of(name)));
}

std::uint64_t Events::fire_when_memory_above(std::size_t size_bytes, EventPeer target,
                                             std::string_view name) {
  return core_->sources().when_memory_above(
      size_bytes, fmt::format("memory above {} bytes for \"{}\"", size_bytes, name),
      firing(*core_, target, draft_of(name)));
}

bool Events::cancel(std::uint64_t number) { return core_->sources().cancel(number); }

Events::Draft Events::raw_draft(std::string_view name, const RawPayload& payload) {
  Draft content = draft(name, false, {EventType::raw, 0, ""});
  content->bytes.assign(payload.bytes.begin(), payload.bytes.end());
  content->raw = {payload.type, payload.count, content->bytes};
  return content;
}

void Events::fire_raw(EventPeer target, std::string_view name, const RawPayload& payload,
                      bool persistent) {
  const Draft content = raw_draft(name, payload);
  content->persistent = persistent;
  fire_draft(target, content);
}

std::uint64_t Events::fire_raw_after(std::uint64_t delay_ns, EventPeer target,
                                     std::string_view name, const RawPayload& payload) {
  return fire_draft_after(delay_ns, target, raw_draft(name, payload));
}

EventList Events::retrieve_any(const std::vector<EventDependency>& dependencies) {
  return core_->retrieve_any(dependencies);
}

EventList Events::wait(const std::vector<EventDependency>& dependencies) {
  return core_->wait(dependencies);
}

EventList Events::wait_any(const std::vector<EventDependency>& dependencies) {
  return core_->wait_any(dependencies);
}

void Events::lock(std::string_view lock_name) { core_->locks().lock(lock_name); }
void Events::unlock(std::string_view lock_name) { core_->locks().unlock(lock_name); }
bool Events::try_lock(std::string_view lock_name) { return core_->locks().try_lock(lock_name); }

bool Events::is_submitted(std::string_view task_name) const {
  return core_->is_submitted(task_name);
}

bool Events::remove(std::string_view task_name) { return core_->remove(task_name); }

}  // namespace shoal

#include "trace_tool/slices.hpp"

#include <algorithm>

namespace shoal::trace_tool {

namespace {

/// The kind of the begin that belongs to this kind of end; none: not an end of a slice.
Kind begin_of(Kind end) {
  switch (end) {
    case Kind::task_parked:
    case Kind::task_ended:
      return Kind::task_started;
    case Kind::message_done:
      return Kind::message_handled;
    case Kind::wake:
      return Kind::sleep;
    case Kind::progress_end:
      return Kind::progress_begin;
    case Kind::window_open:
      return Kind::window_full;
    default:
      return Kind::none;
  }
}

bool begins(Kind kind) {
  return kind == Kind::task_started || kind == Kind::task_resumed ||
         kind == Kind::message_handled || kind == Kind::sleep || kind == Kind::progress_begin ||
         kind == Kind::window_full;
}

}  // namespace

std::string slice_name(Kind kind, const std::string& name) {
  switch (kind) {
    case Kind::sleep:
      return "asleep";
    case Kind::progress_begin:
      return "progress";
    case Kind::window_full:
      return "window full";
    case Kind::message_handled:
      return name.empty() ? "handler" : name;
    default:
      return name.empty() ? "task" : name;
  }
}

// Merging orders events of one moment by their track: in a simulated run a task may start before
// the event that makes it.
void Slices::for_each(FunctionRef<void(const Event&)> each) {
  constexpr std::size_t kMomentMax = 65536;  // bounds the memory
  std::vector<Event> moment;
  const auto flush = [&] {
    for (const Event& event : moment) {
      if (event.kind() == Kind::task_created) waiting_[event.id] = event.name;
    }
    for (const Event& event : moment) {
      add(event);
      each(event);
    }
    moment.clear();
  };
  input_.for_each([&](const Event& event) {
    const bool is_next = !moment.empty() && event.time != moment.front().time;
    if (is_next || moment.size() >= kMomentMax) flush();
    for_each_part(event, [&](const Event& part) { moment.push_back(part); });
  });
  flush();
  for (std::uint32_t track = 0; track < open_.size(); ++track) {
    for (std::size_t i = open_[track].size(); i > 0; --i) sink_.end(last_, track);
    open_[track].clear();
  }
}

void Slices::add(const Event& event) {
  const std::uint32_t track = event.track();
  if (track >= open_.size()) return;
  last_ = std::max(last_, event.time);
  const Kind kind = event.kind();
  if (begins(kind)) {
    const bool follows = kind == Kind::message_handled && event.value != 0;
    if (follows) close(event.time, track, kind);  // the handler of the message before it
    NameId name = event.name;
    if (kind == Kind::task_started || kind == Kind::task_resumed) {
      const auto waiting = waiting_.find(event.id);
      if (waiting != waiting_.end()) {
        if (name == 0) name = waiting->second;
        waiting_.erase(waiting);
      }
    }
    const Kind as = kind == Kind::task_resumed ? Kind::task_started : kind;
    open_[track].push_back({as, name});
    sink_.begin(event, as, slice_name(as, input_.name(name)));
    return;
  }
  const Kind begun = begin_of(kind);
  if (begun == Kind::none) return;
  if (kind == Kind::task_parked) {
    for (const Open& one : open_[track]) {
      if (one.kind == Kind::task_started) waiting_[event.id] = one.name;
    }
  }
  close(event.time, track, begun);
}

void Slices::close(std::uint64_t time, std::uint32_t track, Kind kind) {
  auto& open = open_[track];
  const auto found = std::find_if(open.rbegin(), open.rend(),
                                  [kind](const Open& one) { return one.kind == kind; });
  if (found == open.rend()) return;
  for (auto count = found - open.rbegin() + 1; count > 0; --count) {
    sink_.end(time, track);
    open.pop_back();
  }
}

}  // namespace shoal::trace_tool

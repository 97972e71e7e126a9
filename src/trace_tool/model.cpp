#include "trace_tool/model.hpp"

#include "trace/insertion.hpp"
#include "trace/shared_call.hpp"
#include "trace_tool/loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

namespace shoal::trace_tool {

Model::Model(Input& input)
    : usage(input.tracks().size()), input_(input), regions_(input), now_(usage.size()) {
  for (std::uint32_t track = 0; track < now_.size(); ++track) {
    now_[track].rank = rank_of(track);
    now_[track].process = input.track(track).process;
  }
  input.for_each([this](Event event) {
    ++events;
    const auto time = static_cast<std::int64_t>(event.time);
    whole = std::max(whole, time);
    if (!regions_.go_on(input_.track(event.track()).process, event.kind())) return;
    event.time = static_cast<std::uint64_t>(regions_.recorded_before(time));
    const bool is_joined = event.kind() == Kind::task_submitted && event.value != 0;
    if (is_joined) joined_.emplace_back(event.id, event.value);
    for_each_part(event, [this](const Event& part) { add(part); });
  });
  close_all();
  join_stretches();
  join_needs();
  for (std::size_t i = 0; i < tasks.size() && has_regions(); ++i) forget_pauses(tasks[i]);
  input.for_each_key([this](std::uint64_t task, std::string_view key) {
    if (task_index_.contains(task)) keys[task] = key;
  });
  input.for_each_fact([this](trace::Fact fact, std::string_view name, std::string_view value) {
    add_fact(fact, std::string(name), std::string(value));
  });
  find_insertions();
}

// Tasks name their places by numbers, and facts have the texts.
void Model::find_insertions() {
  if (inserted_.empty()) return;
  std::unordered_map<std::uint64_t, const std::string*> texts;
  for (const auto& [name, all] : places) {
    for (const std::string& text : all) texts.try_emplace(trace::place_id(text), &text);
  }
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  std::map<std::pair<NameId, std::uint64_t>, std::int64_t> sums;
  for (const auto& [id, place] : inserted_) {
    const auto task = task_index_.find(id);
    const auto text = texts.find(place);
    if (task == task_index_.end() || text == texts.end()) continue;
    const auto [number, is_new] =
        numbers.try_emplace(place, static_cast<std::uint32_t>(insertions.size()));
    if (is_new) insertions.push_back(*text->second);
    Task& one = tasks[task->second];
    one.inserted = number->second;
    sums[{one.name, place}] += one.busy;
  }
  inserted_ = {};
  std::map<std::pair<std::string_view, std::uint64_t>, std::int64_t> times;
  for (const auto& [key, ns] : sums) times[{input_.name(key.first), key.second}] += ns;
  for (auto& [name, all] : places) {
    std::ranges::stable_sort(all, std::greater<>(), [&](const std::string& text) {
      const auto found = times.find({name, trace::place_id(text)});
      return found == times.end() ? kNever : found->second;
    });
  }
}

void Model::add_fact(trace::Fact fact, std::string name, const std::string& value) {
  switch (fact) {
    case trace::Fact::place:
      if (auto& all = places[std::move(name)]; std::ranges::find(all, value) == all.end())
        all.push_back(value);
      break;
    case trace::Fact::colour:
      colours.try_emplace(std::move(name), value);
      break;
    case trace::Fact::datum:
      if (Datum datum; std::istringstream(value) >> datum.bytes >> datum.owner)
        data.try_emplace(std::move(name), datum);
      break;
  }
}

bool Model::has(Category category) const {
  const std::uint32_t known = input_.categories();
  return ((known != 0 ? known : seen_) & trace::bit_of(category)) != 0;
}

bool Model::has_losses() const { return lost > 0 || input_.has_losses(); }

std::vector<std::string> Model::gaps() const {
  std::vector<std::string> all = input_.gaps();
  if (has_regions()) {
    all.push_back(fmt::format(
        "only some regions of the run were recorded: {} in {} region{}; all times are without the "
        "pauses",
        time_text(static_cast<double>(duration)), regions_.count(),
        regions_.count() == 1 ? "" : "s"));
  }
  if (has_silence_) {
    all.emplace_back(
        "workers have no events in some regions, in which they may have run a long "
        "task, so that nothing is known of idle workers");
  }
  return all;
}

NameId Model::name_of(const Stretch& stretch) const {
  return stretch.is_handler ? intervals[stretch.index].name
                            : tasks[segments[stretch.index].task].name;
}

// Handlers in tasks, and in handlers, are within other stretches.
void Model::join_stretches() {
  busy.resize(usage.size());
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    busy[segments[i].track].push_back({segments[i].begin, segments[i].end, i, false});
  }
  for (std::uint32_t i = 0; i < intervals.size(); ++i) {
    const Interval& one = intervals[i];
    if (one.what == Interval::What::handler) {
      busy[one.track].push_back({one.begin, one.end, i, true});
    }
  }
  for (auto& of_track : busy) {
    std::sort(of_track.begin(), of_track.end(), [](const Stretch& a, const Stretch& b) {
      return std::tuple(a.begin, -a.end, a.is_handler) < std::tuple(b.begin, -b.end, b.is_handler);
    });
    std::int64_t until = kNever;
    std::erase_if(of_track, [&until](const Stretch& one) {
      if (one.end <= until) return true;
      until = one.end;
      return false;
    });
  }
}

std::uint32_t Model::awaited_by(const Segment& segment) const {
  const std::int64_t parked = segments[segment.previous_of_task].end;
  const std::int64_t until = segment.ready != kNever ? segment.ready : segment.begin;
  // Segments are in the order of their ends.
  auto last =
      std::upper_bound(segments.begin(), segments.end(), until,
                       [](std::int64_t time, const Segment& one) { return time < one.end; });
  while (last != segments.begin()) {
    --last;
    if (last->end <= parked) break;
    if (is_main(tasks[last->task])) continue;
    return static_cast<std::uint32_t>(last - segments.begin());
  }
  return kNone;
}

void Model::add(const Event& event) {
  if (event.track() >= now_.size()) return;  // the table of tracks is damaged
  seen_ |= trace::bit_of(trace::info_of(event.kind()).category);
  Now& now = now_[event.track()];
  const auto time = static_cast<std::int64_t>(event.time);
  duration = std::max(duration, time);
  if (now.accounted == 0 && event.kind() == Kind::thread_counter) usage[event.track()].began = time;
  account(event.track(), now, time);
  if (has_regions()) catch_up(event, now);
  if (event.kind() != Kind::task_created && event.kind() != Kind::task_ready) {
    now.created_at = kNever;
  }
  switch (trace::info_of(event.kind()).category) {
    case Category::task:
      add_task(event, now);
      break;
    case Category::message:
      add_message(event, now);
      break;
    default:
      add_other(event, now);
      break;
  }
}

void Model::account(std::uint32_t track, Now& now, std::int64_t until) {
  const std::int64_t ns = until - std::exchange(now.accounted, until);
  Usage& sum = usage[track];
  if (now.segment_task != kNone) {
    sum.tasks += ns;
  } else if (now.message != kNone) {
    sum.handlers += ns;
  } else if (now.sleeps_since != kNever) {
    sum.asleep += ns;
  } else {
    sum.other += ns;
  }
}

std::uint32_t Model::task_of(std::uint64_t id) {
  const auto [entry, is_new] =
      task_index_.try_emplace(id, static_cast<std::uint32_t>(tasks.size()));
  if (is_new) tasks.emplace_back().id = id;
  return entry->second;
}

std::uint32_t Model::message_of(std::uint64_t id) {
  const auto [entry, is_new] =
      message_index_.try_emplace(id, static_cast<std::uint32_t>(messages.size()));
  if (is_new) messages.emplace_back().id = id;
  return entry->second;
}

Cause Model::cause_of(std::uint64_t id, const Now& now) const {
  if (id != 0) {
    const auto message = message_index_.find(id);
    if (message != message_index_.end()) {
      const Message& one = messages[message->second];
      const bool has_left = one.from >= 0 && one.from != one.to && one.from == now.rank;
      if (has_left && now.segment_task != kNone) {  // a task that polls has gone on since
        return {Cause::What::task, now.segment_task};
      }
      return {has_left ? Cause::What::release : Cause::What::message, message->second};
    }
    const auto task = task_index_.find(id);
    if (task != task_index_.end()) return {Cause::What::task, task->second};
  }
  // The code that runs there is the cause. A handler in a task is nearer than the task.
  if (now.message != kNone) return {Cause::What::message, now.message};
  if (now.segment_task != kNone) return {Cause::What::task, now.segment_task};
  return {};
}

std::int64_t Model::iteration_of(const Cause& sender) const {
  if (sender.what == Cause::What::task) return tasks[sender.index].makes_for;
  return sender.what == Cause::What::unknown ? kNever : messages[sender.index].iteration;
}

void Model::begin_segment(std::uint32_t task, std::uint32_t track, Now& now, std::int64_t time) {
  Task& one = tasks[task];
  const bool is_first = one.last_segment == kNone;
  one.running_on = track;
  now.segment_task = task;
  now.segment_begin = time;
  now.segment_ready = is_first ? one.ready : std::exchange(one.woken, kNever);
  now.segment_cause = is_first ? one.cause : std::exchange(one.woken_by, {});
  now.segment_join = std::exchange(one.parked_join, 0);
  now.segment_waited_for = is_first ? 0 : one.parked_for;
}

void Model::end_segment(std::uint32_t track, Now& now, std::int64_t time) {
  if (now.segment_task == kNone) return;
  Task& task = tasks[now.segment_task];
  Segment segment{now.segment_task,  track,
                  now.segment_begin, time,
                  task.last_segment, now.last_segment,
                  now.segment_ready, now.segment_cause,
                  now.segment_join,  now.segment_waited_for};
  task.running_on = kNone;
  task.busy += time - now.segment_begin;
  task.last_segment = static_cast<std::uint32_t>(segments.size());
  now.last_segment = task.last_segment;
  now.segment_task = kNone;
  segments.push_back(segment);
}

// Events of one moment on different tracks come in any order: a task may start before it is ready.
void Model::add_ready(std::uint32_t index, std::int64_t time, const Cause& cause) {
  Task& task = tasks[index];
  Now* const running = task.running_on != kNone ? &now_[task.running_on] : nullptr;
  const bool is_first = task.ready == kNever && (running != nullptr || task.end != kNever);
  const bool is_known = task.start == kNever && task.ready != kNever;
  if (is_known) return;  // an order of its own has queued it again: it was ready before
  if (task.start == kNever || is_first) {
    task.ready = time;
    task.cause = cause;
  }
  if (task.start == kNever) return;
  const bool is_late = running != nullptr && running->segment_ready == kNever &&
                       (is_first || running->segment_begin >= time);
  if (is_late) {
    running->segment_ready = time;
    running->segment_cause = cause;
  } else if (is_first && running == nullptr) {  // it has ended as well
    segments[task.last_segment].ready = time;
    segments[task.last_segment].cause = cause;
  } else if (!is_first) {
    add_woken(task, time, cause);
  }
}

void Model::add_woken(Task& task, std::int64_t time, const Cause& cause) {
  if (task.running_on == kNone && task.last_segment != kNone) {
    Segment& last = segments[task.last_segment];
    const bool has_no_cause = last.previous_of_task != kNone && last.ready == kNever;
    if (has_no_cause && last.begin >= time) {  // it has gone on already, and parked again
      last.ready = time;
      last.cause = cause;
      return;
    }
  }
  task.woken = time;
  task.woken_by = cause;
}

void Model::add_task(const Event& event, Now& now) {
  constexpr std::uint64_t kWorkersMax = 1U << 15U;
  const auto time = static_cast<std::int64_t>(event.time);
  const std::uint32_t index = task_of(event.id);
  Task& task = tasks[index];
  const bool is_named = event.name != 0 && event.kind() != Kind::task_parked;
  // It may have started, and taken its name, at the moment at which it was made.
  const bool is_late = event.kind() == Kind::task_created && task.name != 0;
  if (is_named && !is_late) task.name = event.name;
  switch (event.kind()) {
    case Kind::task_created:
      task.created = time;
      task.bound_to = event.value <= kWorkersMax ? static_cast<int>(event.value) - 1 : -1;
      if (now.segment_task != kNone && now.message == kNone) {
        Task& maker = tasks[now.segment_task];
        task.maker = now.segment_task;
        const bool goes_on = maker.made++ > 0 && maker.makes_in == maker.last_segment;
        if (!goes_on) {
          maker.making = static_cast<std::uint32_t>(makings.size());
          makings.push_back({now.segment_task, event.track(), time, time, 0});
        }
        maker.makes_in = maker.last_segment;
        Making& making = makings[maker.making];
        making.end = time;
        ++making.count;
        task.maker_since = making.begin;
        task.iteration = task.makes_for = maker.makes_for;
      } else if (now.message != kNone) {
        task.iteration = task.makes_for = messages[now.message].iteration;
      }
      if (now.created_at != kNever) creations.push_back(time - now.created_at);
      now.created_at = time;
      break;
    case Kind::task_ready:
      add_ready(index, time, cause_of(event.value, now));
      break;
    case Kind::task_started:
      end_segment(event.track(), now, time);  // an end that was lost
      tasks[index].start = time;
      tasks[index].track = event.track();
      tasks[index].priority = static_cast<std::int32_t>(static_cast<std::int64_t>(event.value));
      ++usage[event.track()].task_count;
      begin_segment(index, event.track(), now, time);
      break;
    case Kind::task_resumed:
      end_segment(event.track(), now, time);
      if (has_nested(tasks[index], now)) {
        tasks[index].woken_by = {Cause::What::task, segments[now.last_segment].task};
      }
      unpark(tasks[index], index, time);
      begin_segment(index, event.track(), now, time);
      break;
    case Kind::task_parked:
      end_segment(event.track(), now, time);
      tasks[index].parked = time;
      tasks[index].parked_for = event.name;
      tasks[index].parked_join = event.value;
      tasks[index].track = event.track();
      break;
    case Kind::task_ended:
      end_segment(event.track(), now, time);
      tasks[index].end = time;
      break;
    default:
      break;
  }
}

// A wait may run the task that it needs on the same stack. Then nothing wakes the one that waits.
bool Model::has_nested(const Task& task, const Now& now) const {
  if (task.woken != kNever || task.parked == kNever || is_main(task)) return false;
  if (now.last_segment == kNone) return false;
  const Task& last = tasks[segments[now.last_segment].task];
  return last.start >= task.parked && last.end != kNever;
}

void Model::unpark(Task& task, std::uint32_t index, std::int64_t time) {
  if (task.parked == kNever) return;
  parks.push_back({index, task.track, task.parked_for, std::exchange(task.parked, kNever), time});
}

void Model::add_phase(const Event& event, Now& now) {
  const auto time = static_cast<std::int64_t>(event.time);
  const std::string& phase = input_.name(event.name);
  if (phase == "payload announced") {
    // Shoal's own messages have no event of their sending, unless they have a payload.
    const Cause sender = cause_of(0, now);
    Message& message = messages[message_of(event.id)];
    message.sent = time;
    message.from = rank_of(event.track());
    message.from_track = event.track();
    message.to = static_cast<int>(trace::peer_of(event.value));
    message.size_bytes = trace::size_bytes_of(event.value);
    message.sender = sender;
    message.iteration = iteration_of(sender);
  } else if (phase == "payload awaited") {
    now.copies_since = time;
  } else if (phase == "payload arrived" && now.copies_since != kNever && now.message != kNone &&
             messages[now.message].id == event.id) {
    messages[now.message].copied += time - std::exchange(now.copies_since, kNever);
  }
}

void Model::add_message(const Event& event, Now& now) {
  const auto time = static_cast<std::int64_t>(event.time);
  const std::uint32_t track = event.track();
  switch (event.kind()) {
    case Kind::message_sent: {
      const Cause sender = cause_of(0, now);
      Message& message = messages[message_of(event.id)];
      message.sent = time;
      message.name = event.name;
      message.from = rank_of(track);
      message.from_track = track;
      message.to = static_cast<int>(trace::peer_of(event.value));
      message.size_bytes = trace::size_bytes_of(event.value);
      message.sender = sender;
      message.iteration = iteration_of(sender);
      break;
    }
    case Kind::message_received: {
      Message& message = messages[message_of(event.id)];
      message.received = time;
      message.from = static_cast<int>(trace::peer_of(event.value));
      message.to = rank_of(track);
      message.to_track = track;
      message.size_bytes = std::max(message.size_bytes, trace::size_bytes_of(event.value));
      break;
    }
    case Kind::message_handled: {
      const std::uint32_t index = message_of(event.id);
      Message& message = messages[index];
      message.handled = time;
      message.to_track = track;
      message.to = rank_of(track);
      if (message.name == 0) message.name = event.name;
      if (event.value != 0) {
        end_handler(track, now, time);
      } else if (now.message != kNone) {
        now.outer_messages.push_back(now.message);
      }
      now.message = index;
      break;
    }
    case Kind::message_done: {
      now.message = message_of(event.id);
      now.copies_since = kNever;
      end_handler(track, now, time);
      now.message = now.outer_messages.empty() ? kNone : now.outer_messages.back();
      if (!now.outer_messages.empty()) now.outer_messages.pop_back();
      break;
    }
    case Kind::large_phase:
      add_phase(event, now);
      break;
    case Kind::window_full:
      waiting_senders_[{now.rank, event.value}].push_back({track, time});
      break;
    case Kind::window_open: {
      // Each sender waits by itself, and may go on elsewhere; the first one goes on first.
      auto& senders = waiting_senders_[{now.rank, event.value}];
      const WaitingSender first = senders.empty() ? WaitingSender{track, kNever} : senders.front();
      if (!senders.empty()) senders.pop_front();
      add_interval(Interval::What::window, first.track, first.since, time, event.value);
      break;
    }
    case Kind::collective_begin:
      spans_[event.id] = {track, event.name, time, Interval::What::collective};
      break;
    case Kind::collective_end:
      add_other(event, now);
      break;
    default:
      break;
  }
}

void Model::end_handler(std::uint32_t track, const Now& now, std::int64_t time) {
  if (now.message == kNone) return;  // its begin was lost
  Message& message = messages[now.message];
  message.done = time;
  if (message.handled == kNever) return;
  add_interval(Interval::What::handler, track, message.handled, time, now.message);
  intervals.back().name = message.name;
}

void Model::add_other(const Event& event, Now& now) {
  const auto time = static_cast<std::int64_t>(event.time);
  const std::uint32_t track = event.track();
  switch (event.kind()) {
    case Kind::sleep:
      now.sleeps_since = time;
      break;
    case Kind::wake:
      add_interval(Interval::What::sleep, track, now.sleeps_since, time);
      now.sleeps_since = kNever;
      break;
    case Kind::progress_begin:
      now.progress_since = time;
      break;
    case Kind::progress_end:
      add_interval(Interval::What::progress, track, now.progress_since, time, event.value);
      now.progress_since = kNever;
      break;
    case Kind::span_begin:
      begin_span(event, now);
      break;
    case Kind::span_end:
    case Kind::collective_end:
      end_span(event);
      break;
    case Kind::counter:
    case Kind::memory_counter:
    case Kind::thread_counter:
      add_counter(event);
      break;
    case Kind::mark:
      marks.push_back({time, track, event.name});
      break;
    case Kind::event_fired:
      fired_[event.id] = cause_of(0, now);
      break;
    case Kind::event_matched:
      if (event.id != 0 && event.value != 0) matched_.emplace_back(event.id, event.value);
      break;
    case Kind::steal:
      ++steals;
      break;
    case Kind::lost:
      lost += event.value;
      break;
    case Kind::region_begin:
      begin_region(now.process, time);
      break;
    case Kind::region_end:
      end_region(now.process, time);
      break;
    default:
      break;
  }
}

void Model::begin_span(const Event& event, const Now& now) {
  OpenSpan span{event.track(), event.name, static_cast<std::int64_t>(event.time),
                Interval::What::span};
  const bool is_iteration =
      input_.name(event.name) == kIterationName && event.value != trace::kSharedCall;
  constexpr std::uint64_t kIterationMax = std::uint64_t{1} << 53U;  // a number of the page
  if (is_iteration && now.segment_task != kNone && now.message == kNone) {
    Task& task = tasks[now.segment_task];
    const auto iteration = static_cast<std::int64_t>(std::min(event.value, kIterationMax));
    span.task = now.segment_task;
    span.made_before = std::exchange(task.makes_for, iteration);
    // A task that others have made for an iteration may belong to the next one, and say so.
    if (!task.says_iteration && !is_main(task)) task.iteration = task.makes_for;
    task.says_iteration = true;
  }
  const bool is_call = event.value == trace::kSharedCall && now.message == kNone;
  if (is_call) span.caller = now.segment_task;
  spans_[event.id] = span;
}

void Model::add_call(const OpenSpan& span, std::int64_t end) {
  if (span.caller != kNone) calls.push_back({span.caller, span.name, span.begin, end});
}

void Model::end_span(const Event& event) {
  const auto found = spans_.find(event.id);
  if (found == spans_.end()) return;
  const OpenSpan& span = found->second;
  if (span.task != kNone) tasks[span.task].makes_for = span.made_before;
  add_interval(span.what, span.track, span.begin, static_cast<std::int64_t>(event.time), event.id);
  intervals.back().name = span.name;
  add_call(span, static_cast<std::int64_t>(event.time));
  spans_.erase(found);
}

// Figures of a thread are sums since its start: the first one is where the recording begins.
void Model::add_counter(const Event& event) {
  const double value = std::bit_cast<double>(event.value);
  if (event.kind() != Kind::thread_counter) {
    samples.push_back({static_cast<std::int64_t>(event.time), event.track(), event.name, value});
    return;
  }
  Usage& sum = usage[event.track()];
  Now& now = now_[event.track()];
  const auto ns = static_cast<std::int64_t>(std::clamp(value, 0.0, 1e18));
  const bool is_wait = input_.name(event.name) == trace::kKeptWaitingName;
  std::int64_t& first = is_wait ? now.first_kept_waiting : now.first_ran;
  if (first == kNever) {
    first = ns;
  } else {
    (is_wait ? sum.kept_waiting : sum.ran) = ns - first;
  }
}

void Model::add_interval(Interval::What what, std::uint32_t track, std::int64_t begin,
                         std::int64_t end, std::uint64_t value) {
  // It began before the region, or its begin was lost.
  if (begin == kNever) begin = now_[track].recorded_since;
  intervals.push_back({what, track, 0, begin, end, value});
}

void Model::begin_region(int process, std::int64_t time) {
  for (std::uint32_t track = 0; track < now_.size(); ++track) {
    Now& now = now_[track];
    if (now.process != process) continue;
    account(track, now, time);
    now.recorded_since = time;
    now.other_before = usage[track].other;
    now.is_known = false;
  }
}

// Ends that are not recorded must not last until the end of the run.
void Model::end_region(int process, std::int64_t time) {
  const auto is_here = [&](std::uint32_t track) { return now_[track].process == process; };
  for (std::uint32_t track = 0; track < now_.size(); ++track) {
    if (!is_here(track)) continue;
    Now& now = now_[track];
    account(track, now, time);
    end_segment(track, now, time);
    end_handler(track, now, time);
    now.message = kNone;
    now.outer_messages.clear();
    if (now.sleeps_since != kNever) {
      add_interval(Interval::What::sleep, track, now.sleeps_since, time);
    }
    now.sleeps_since = now.progress_since = now.copies_since = now.created_at = kNever;
    if (std::exchange(now.is_known, false)) now.known += time - now.recorded_since;
  }
  for (auto& [place, senders] : waiting_senders_) {
    std::erase_if(senders, [&, target = place.second](const WaitingSender& one) {
      if (!is_here(one.track)) return false;
      add_interval(Interval::What::window, one.track, one.since, time, target);
      return true;
    });
  }
  std::erase_if(spans_, [&](const auto& entry) {
    const auto& [id, span] = entry;
    if (!is_here(span.track)) return false;
    add_interval(span.what, span.track, span.begin, time, id);
    intervals.back().name = span.name;
    add_call(span, time);
    return true;
  });
}

// In a region, the first event of a task, or of a sleep, tells what the track has done before: the
// end of a task is that of one that ran from the begin of the region on. A handler tells of itself
// only: it may have interrupted a task.
void Model::catch_up(const Event& event, Now& now) {
  if (now.is_known) return;
  Usage& sum = usage[event.track()];
  const auto book = [&](std::int64_t& part) {
    part += sum.other - now.other_before;
    sum.other = now.other_before;
  };
  switch (event.kind()) {
    case Kind::message_done:
      if (now.message != kNone) return;  // it began in the region
      book(sum.handlers);
      messages[message_of(event.id)].handled = now.recorded_since;
      return;
    case Kind::task_parked:
    case Kind::task_ended:
      book(sum.tasks);
      begin_segment(task_of(event.id), event.track(), now, now.recorded_since);
      break;
    case Kind::wake:
      book(sum.asleep);
      break;
    case Kind::task_started:
    case Kind::task_resumed:
    case Kind::sleep:
      break;
    default:
      return;
  }
  now.is_known = true;
}

void Model::close_all() {
  std::set<int> processes;
  for (const Now& now : now_) processes.insert(now.process);
  for (const int process : processes) end_region(process, duration);
  std::sort(calls.begin(), calls.end(), [](const SharedCall& a, const SharedCall& b) {
    return std::tuple(a.task, a.begin, -a.end) < std::tuple(b.task, b.begin, -b.end);
  });
  // With regions, the end of a wait may not have been recorded.
  for (std::uint32_t i = 0; i < tasks.size() && !has_regions(); ++i) unpark(tasks[i], i, duration);
  find_silence();
  now_.clear();
}

// The end of a task may lie in a pause: the task must not last until the end of the run.
void Model::forget_pauses(Task& task) {
  if (task.start == kNever) {
    task.ready = kNever;
  } else if (task.end == kNever && task.last_segment != kNone) {
    task.end = segments[task.last_segment].end;
  }
}

void Model::find_silence() {
  constexpr double kMuch = 0.05;
  double silent = 0;
  double all = 0;
  for (std::uint32_t track = 0; track < now_.size(); ++track) {
    if (!is_worker(*this, track)) continue;
    silent += static_cast<double>(duration - now_[track].known);
    all += static_cast<double>(duration);
  }
  has_silence_ = has_regions() && silent >= kMuch * all && silent > 0;
}

}  // namespace shoal::trace_tool

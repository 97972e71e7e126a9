#include "trace_tool/analysis.hpp"

#include <algorithm>
#include <tuple>

namespace shoal::trace_tool {

namespace {

class Walk {
 public:
  explicit Walk(const Model& model) : model_(model) {}

  std::vector<PathStep> run() {
    if (model_.segments.empty()) return {};
    // In the order of ends: the last one ended last.
    at_segment(static_cast<std::uint32_t>(model_.segments.size() - 1), model_.segments.back().end);
    // Each step leads back; events of equal times must not lead it round in a circle.
    std::size_t left = 2 * (model_.segments.size() + model_.messages.size());
    while ((segment_ != kNone || message_ != kNone) && left-- > 0) {
      if (message_ != kNone) {
        through_message();
      } else {
        through_segment();
      }
    }
    if (time_ > 0) add(PathStep::What::begin, kNone, name_of_first(), last_rank_, 0);
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  void at_segment(std::uint32_t segment, std::int64_t time) {
    segment_ = segment;
    message_ = kNone;
    time_ = time;
  }
  /// The first known step, if tasks ran before it: what it waited for is not known.
  [[nodiscard]] NameId name_of_first() const {
    if (path_.empty()) return 0;
    const bool is_late =
        std::any_of(model_.segments.begin(), model_.segments.end(),
                    [this](const Segment& segment) { return segment.end < time_; });
    return is_late ? path_.back().name : 0;
  }
  void stop() { segment_ = message_ = kNone; }

  /// A step that ends here and begins at `begin`.
  void add(PathStep::What what, std::uint32_t index, NameId name, int rank, std::int64_t begin) {
    begin = std::min(begin, time_);  // clocks that disagree
    last_rank_ = rank;
    if (begin < time_) path_.push_back({what, index, name, rank, begin, time_});
    time_ = begin;
  }

  void through_segment() {
    const std::uint32_t index = segment_;
    const Segment& segment = model_.segments[index];
    const Task& task = model_.tasks[segment.task];
    const int rank = model_.rank_of(segment.track);
    add(PathStep::What::task, index, task.name, rank, segment.begin);
    if (segment.previous_of_task != kNone && segment.cause.what == Cause::What::unknown) {
      through_wait(index, task, rank);
      return;
    }
    const bool is_first = segment.previous_of_task == kNone;
    const std::int64_t known = segment.ready != kNever || !is_first ? segment.ready : task.created;
    const std::int64_t ready = known != kNever ? std::min(known, segment.begin) : segment.begin;
    const std::uint32_t previous = segment.previous_on_track;
    if (previous != kNone && model_.segments[previous].end >= ready) {  // waited for the worker
      add(PathStep::What::start, index, task.name, rank, model_.segments[previous].end);
      at_segment(previous, time_);
      return;
    }
    add(PathStep::What::start, index, task.name, rank, ready);
    if (waits_for_worker(segment)) return;
    const bool is_known = segment.cause.what != Cause::What::unknown || !is_first;
    follow(is_known ? segment.cause : last_need(segment.task));
  }

  /// The dependency of a task that was fulfilled last, as far as that is known.
  [[nodiscard]] Cause last_need(std::uint32_t task) const {
    Cause last;
    std::int64_t latest = kNever;
    for (const Cause& need : model_.needs_of(task)) {
      const bool is_task = need.what == Cause::What::task;
      const std::int64_t end =
          is_task ? model_.tasks[need.index].end : model_.messages[need.index].handled;
      if (end == kNever || end > time_ || end <= latest) continue;
      latest = end;
      last = need;
    }
    return last;
  }

  /// A message made it ready that the rank could not take before, as its workers were busy: it
  /// could not have run before, either.
  bool waits_for_worker(const Segment& segment) {
    if (segment.cause.what != Cause::What::message) return false;
    const Message& message = model_.messages[segment.cause.index];
    const Blocked blocked = blocked_before(model_, message);
    if (blocked.busy_since == kNever || message.to_track != segment.track) return false;
    const std::uint32_t previous = segment.previous_on_track;
    if (previous == kNone || model_.segments[previous].end > time_) return false;
    add(PathStep::What::start, kNone, model_.tasks[segment.task].name,
        model_.rank_of(segment.track), model_.segments[previous].end);
    at_segment(previous, time_);
    return true;
  }

  /// A parked task went on, and no task or message is known that woke it: completion detection
  /// woke those that wait for the end of everything.
  void through_wait(std::uint32_t index, const Task& task, int rank) {
    const Segment& segment = model_.segments[index];
    const std::uint32_t awaited = model_.awaited_by(segment);
    const std::uint32_t next = awaited != kNone ? awaited : segment.previous_of_task;
    if (segment.ready != kNever) {  // it waited for its worker, which ran another task or a handler
      const std::uint32_t previous = segment.previous_on_track;
      const bool is_task = previous != kNone && model_.segments[previous].end > segment.ready;
      add(PathStep::What::start, index, task.name, rank,
          is_task ? model_.segments[previous].end : segment.ready);
      if (is_task) {
        at_segment(previous, time_);
        return;
      }
    }
    add(PathStep::What::parked, index, task.name, rank, model_.segments[next].end);
    at_segment(next, time_);
  }

  void through_message() {
    const Message& message = model_.messages[message_];
    const std::int64_t sent = message.sent != kNever ? message.sent : time_;
    through_progress(message);
    add(PathStep::What::message, message_, message.name, message.to, sent);
    if (message.sender.what == Cause::What::message && message.sender.index == message_) {
      stop();
      return;
    }
    follow(message.sender);
  }

  /// The rank did not look for the message while it was busy.
  void through_progress(const Message& message) {
    const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
    if (arrived == kNever || arrived > time_) return;
    const Blocked blocked = blocked_before(model_, message);
    if (blocked.busy_since == kNever) return;
    add(PathStep::What::message, message_, message.name, message.to, arrived);
    const std::uint32_t segment = blocked.by.is_handler ? kNone : blocked.by.index;
    add(PathStep::What::blocked, segment, model_.name_of(blocked.by),
        model_.rank_of(message.to_track), blocked.busy_since);
  }

  /// A message has left, and that made a task ready: the receiver has taken it before.
  void through_release(std::uint32_t index) {
    const Message& message = model_.messages[index];
    const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
    if (arrived != kNever && arrived < time_) {
      add(PathStep::What::message, index, message.name, message.to, arrived);
    }
    segment_ = kNone;
    message_ = index;
  }

  /// The event at `time_` happened in the cause.
  void follow(const Cause& cause) {
    const bool in_circle = ++steps_ > model_.tasks.size() + model_.messages.size();
    if (in_circle || cause.what == Cause::What::unknown) {
      stop();
    } else if (cause.what == Cause::What::message) {
      segment_ = kNone;
      message_ = cause.index;
    } else if (cause.what == Cause::What::release) {
      through_release(cause.index);
    } else {
      std::uint32_t segment = model_.tasks[cause.index].last_segment;
      while (segment != kNone && model_.segments[segment].begin > time_) {
        segment = model_.segments[segment].previous_of_task;
      }
      if (segment == kNone) {
        stop();
      } else {
        at_segment(segment, std::min(time_, model_.segments[segment].end));
      }
    }
  }

  const Model& model_;
  std::vector<PathStep> path_;  // backwards
  std::uint32_t segment_ = kNone;
  std::uint32_t message_ = kNone;
  std::int64_t time_ = 0;
  int last_rank_ = -1;
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<PathStep> critical_path(const Model& model) { return Walk(model).run(); }

std::vector<PathShare> path_shares(const Model& model, const std::vector<PathStep>& path) {
  std::map<std::tuple<PathStep::What, NameId, int>, PathShare> sums;
  for (const PathStep& step : path) {
    // Messages are summed over all ranks, and so is the way to the first step.
    const bool everywhere =
        step.what == PathStep::What::message || step.what == PathStep::What::begin;
    const int rank = everywhere ? -1 : step.rank;
    PathShare& sum = sums[{step.what, step.name, rank}];
    sum.what = step.what;
    sum.name = model.input().name(step.name);
    sum.rank = rank;
    sum.ns += step.end - step.begin;
    ++sum.steps;
  }
  std::vector<PathShare> all;
  all.reserve(sums.size());
  for (auto& [key, sum] : sums) all.push_back(std::move(sum));
  std::stable_sort(all.begin(), all.end(),
                   [](const PathShare& a, const PathShare& b) { return a.ns > b.ns; });
  return all;
}

}  // namespace shoal::trace_tool

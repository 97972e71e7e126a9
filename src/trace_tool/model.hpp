#pragma once
// A trace in memory: tasks, messages and activities of workers, joined from events.

#include "trace_tool/input.hpp"
#include "trace_tool/regions.hpp"

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kNever = -1;
/// Name of the task that is a rank's main function.
inline constexpr std::string_view kMainName = "the main function";
/// Name of the program's spans in which tasks of one iteration are made. Their value is its number.
inline constexpr std::string_view kIterationName = "iteration";

/// Reason for something: a task, a message that came, a message that has left, or unknown. `index`
/// into Model::tasks or ::messages.
struct Cause {
  enum class What : std::uint8_t { unknown, task, message, release };
  What what = What::unknown;
  std::uint32_t index = kNone;

  auto operator<=>(const Cause&) const = default;
};

/// One task. Times in nanoseconds, kNever when not recorded.
struct Task {
  std::uint64_t id = 0;
  NameId name = 0;
  std::int32_t priority = 0;
  std::uint32_t track = kNone;  // where it started
  std::int64_t created = kNever;
  std::int64_t ready = kNever;
  std::int64_t start = kNever;
  std::int64_t end = kNever;
  std::int64_t busy = 0;
  Cause cause;                         // made it ready
  std::uint32_t maker = kNone;         // task that made it
  std::uint32_t made = 0;              // tasks that it has made
  std::int64_t maker_since = kNever;   // when that made the first one since it went on
  std::uint32_t makes_in = kNone;      // its segment before the one in which it makes tasks
  std::uint32_t making = kNone;        // of them, the entry of Model::makings
  int bound_to = -1;                   // the only worker that may run it; -1: any, or not recorded
  std::int64_t iteration = kNever;     // of the program, to which it belongs
  bool says_iteration = false;         // by a span of its own
  std::int64_t makes_for = kNever;     // iteration of the tasks that it makes now
  std::uint32_t last_segment = kNone;  // of its segments
  std::int64_t woken = kNever;         // while events are read: since it was parked
  Cause woken_by;
  std::uint32_t inserted = kNone;    // by the program, at this one of Model::insertions
  std::uint32_t running_on = kNone;  // track, meanwhile
  std::int64_t parked = kNever;      // meanwhile
  NameId parked_for = 0;
  std::uint64_t parked_join = 0;  // of the parts of that
};

/// A task on a worker, from its start or resumption until it parks or ends.
struct Segment {
  std::uint32_t task = 0;
  std::uint32_t track = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t previous_of_task = kNone;
  std::uint32_t previous_on_track = kNone;
  std::int64_t ready = kNever;  // the task was made ready, or woken
  Cause cause;                  // by this
  std::uint64_t join = 0;       // of the parts of what it waited for before, see Detail::Type
  NameId waited_for = 0;        // before it; 0: it is the first one of its task
};

/// A task was in a call of which other workers take over work, such as a loop.
struct SharedCall {
  std::uint32_t task = 0;
  NameId name = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Something that a task has waited for in its middle, before it went on with a segment.
struct Wait {
  std::uint32_t segment = 0;
  Cause cause;

  auto operator<=>(const Wait&) const = default;
};

struct Message {
  std::uint64_t id = 0;
  NameId name = 0;
  std::uint64_t size_bytes = 0;
  int from = -1;  // ranks
  int to = -1;
  std::uint32_t from_track = kNone;
  std::uint32_t to_track = kNone;
  std::int64_t sent = kNever;
  std::int64_t received = kNever;
  std::int64_t handled = kNever;
  std::int64_t done = kNever;
  std::int64_t copied = 0;          // time in its handler to copy its payload, within a process
  Cause sender;                     // task or handler that sent it
  std::int64_t iteration = kNever;  // of the tasks that its sender makes
};

/// A task stood still.
struct Park {
  std::uint32_t task = 0;
  std::uint32_t track = 0;  // on which it stopped
  NameId reason = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Anything else with a begin and an end.
struct Interval {
  enum class What : std::uint8_t { sleep, progress, handler, window, collective, span };
  What what = What::span;
  std::uint32_t track = 0;
  NameId name = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t value = 0;  // window: target rank; handler: index of the message
};

struct Sample {
  std::int64_t time = 0;
  std::uint32_t track = 0;
  NameId name = 0;
  double value = 0;
};

struct Mark {
  std::int64_t time = 0;
  std::uint32_t track = 0;
  NameId name = 0;
};

/// A task made others, one after the other, without standing still.
struct Making {
  std::uint32_t task = 0;
  std::uint32_t track = 0;
  std::int64_t begin = 0;  // the first of them
  std::int64_t end = 0;    // the last of them
  std::uint32_t count = 0;
};

/// How a track spent its time. Nanoseconds; their sum is the duration of the run.
struct Usage {
  std::int64_t tasks = 0;
  std::int64_t handlers = 0;  // outside of tasks
  std::int64_t asleep = 0;
  std::int64_t other = 0;  // looks for work, handles packets, or is not recorded
  std::uint64_t task_count = 0;
  std::int64_t began = 0;  // its thread, which may take long to start
  // Of the thread, by the operating system; kNever: not recorded.
  std::int64_t ran = kNever;           // on a processor
  std::int64_t kept_waiting = kNever;  // for a processor
};

/// A stretch in which a track is busy with a task, or with a handler outside of tasks.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t index = kNone;  // of a segment, or of an interval
  bool is_handler = false;
};

/// Datum of a flow.
struct Datum {
  std::uint64_t bytes = 0;
  int owner = 0;  // its rank
};

/// **Cost**: about 100 bytes for a task and for a message.
class Model {
 public:
  explicit Model(Input& input);

  std::vector<Task> tasks;
  std::vector<Segment> segments;  // in the order of their ends
  std::vector<Message> messages;
  std::vector<Interval> intervals;
  std::vector<Sample> samples;
  std::vector<Mark> marks;
  std::vector<Park> parks;
  std::vector<Making> makings;
  std::vector<SharedCall> calls;           // by task; of one task in the order of time
  std::vector<std::vector<Stretch>> busy;  // by track, in the order of time, apart
  // Times between two creations in a row, one after the other on a track: the cost of each.
  std::vector<std::int64_t> creations;
  std::vector<Usage> usage;                             // by track
  std::unordered_map<std::uint64_t, std::string> keys;  // of tasks that were described, by id
  // FILE:LINE of tasks and handlers, by name: at least one each, as recorded; first those where
  // tasks were inserted, by how long these ran.
  std::map<std::string, std::vector<std::string>, std::less<>> places;
  std::vector<std::string> insertions;  // FILE:LINE where tasks were inserted, each once
  std::map<std::string, std::string, std::less<>> colours;  // RRGGBB, likewise by name
  std::map<std::string, Datum, std::less<>> data;           // by name
  // Nanoseconds that were recorded: all times are without the pauses of the recording.
  std::int64_t duration = 0;
  std::int64_t whole = 0;  // of the run, with the pauses
  std::uint64_t events = 0;
  std::uint64_t steals = 0;
  std::uint64_t lost = 0;

  [[nodiscard]] const Input& input() const { return input_; }
  [[nodiscard]] int rank_of(std::uint32_t track) const {
    return track == kNone ? -1 : input_.track(track).rank;
  }
  [[nodiscard]] const std::string& name_of(const Task& task) const {
    return input_.name(task.name);
  }
  [[nodiscard]] bool is_main(const Task& task) const { return name_of(task) == kMainName; }
  /// FILE:LINE where the program has inserted the task; "": not recorded.
  [[nodiscard]] std::string_view place_of(const Task& task) const {
    return task.inserted == kNone ? std::string_view() : insertions[task.inserted];
  }
  /// Returns whether events of the category were recorded.
  [[nodiscard]] bool has(Category category) const;
  /// Returns whether a worker without a task is known to be idle: it may run handlers, which are
  /// events of messages, and in a region without an event of it, it may run anything. A trace that
  /// does not name its categories has all.
  [[nodiscard]] bool knows_idleness() const {
    return has(Category::task) && (input_.categories() == 0 || has(Category::message)) &&
           !has_silence_;
  }
  /// Sentences on parts that the trace lacks; empty: it is whole.
  [[nodiscard]] std::vector<std::string> gaps() const;
  /// Returns whether events may be missing among those of the recorded categories.
  [[nodiscard]] bool has_losses() const;
  /// Returns whether only some regions of the run were recorded.
  [[nodiscard]] bool has_regions() const { return regions_.any(); }
  /// Tasks and messages that a task has waited for, each once: all that were recorded.
  [[nodiscard]] std::span<const Cause> needs_of(std::uint32_t task) const {
    if (needs_begin_.empty()) return {};
    return std::span(needs_).subspan(needs_begin_[task],
                                     needs_begin_[task + std::size_t{1}] - needs_begin_[task]);
  }
  /// Tasks and messages that its task has waited for before it went on with the segment, each once:
  /// all that were recorded.
  [[nodiscard]] std::span<const Wait> waits_of(std::uint32_t segment) const;
  /// The task behind a cause: that which has sent the message, perhaps over others. kNone: none.
  [[nodiscard]] std::uint32_t source_of(Cause cause) const;
  /// Name of what a track does in a stretch.
  [[nodiscard]] NameId name_of(const Stretch& stretch) const;
  /// The segment that ended last, on any rank, before the task of `segment` went on, and after it
  /// had parked; of no main function. kNone: there is none.
  [[nodiscard]] std::uint32_t awaited_by(const Segment& segment) const;

 private:
  /// Current activity of a track, while events are read.
  struct Now {
    std::uint32_t segment_task = kNone;  // the task that runs
    std::int64_t segment_begin = 0;
    std::int64_t segment_ready = kNever;
    Cause segment_cause;
    std::uint64_t segment_join = 0;
    NameId segment_waited_for = 0;
    std::uint32_t last_segment = kNone;
    std::uint32_t message = kNone;  // whose handler runs
    std::vector<std::uint32_t> outer_messages;
    std::int64_t sleeps_since = kNever;
    std::int64_t progress_since = kNever;
    std::int64_t copies_since = kNever;  // a payload, in its handler
    std::int64_t accounted = 0;          // usage is complete up to here
    std::int64_t created_at = kNever;    // a task, and nothing else happened since
    int rank = -1;
    int process = 0;
    std::int64_t recorded_since = 0;  // the begin of the region, or of the run
    std::int64_t other_before = 0;    // its time without a known activity up to there
    bool is_known = false;            // what it did in the region
    std::int64_t known = 0;           // sum of regions
    std::int64_t first_ran = kNever;  // of the counters of the thread
    std::int64_t first_kept_waiting = kNever;
  };
  struct WaitingSender {
    std::uint32_t track = 0;
    std::int64_t since = 0;
  };
  struct OpenSpan {
    std::uint32_t track = 0;
    NameId name = 0;
    std::int64_t begin = 0;
    Interval::What what = Interval::What::span;
    std::uint32_t task = kNone;         // of an iteration: that began it
    std::int64_t made_before = kNever;  // likewise: the one for which that task made tasks before
    std::uint32_t caller = kNone;       // of a shared call: the task that is in it
  };

  friend class Needs;

  void add(const Event& event);
  void add_task(const Event& event, Now& now);
  void add_ready(std::uint32_t index, std::int64_t time, const Cause& cause);
  void add_woken(Task& task, std::int64_t time, const Cause& cause);
  void add_message(const Event& event, Now& now);
  void add_other(const Event& event, Now& now);
  void add_phase(const Event& event, Now& now);
  void add_counter(const Event& event);
  void begin_span(const Event& event, const Now& now);
  void end_span(const Event& event);
  void add_call(const OpenSpan& span, std::int64_t end);
  void unpark(Task& task, std::uint32_t index, std::int64_t time);
  [[nodiscard]] bool has_nested(const Task& task, const Now& now) const;
  void add_fact(trace::Fact fact, std::string name, const std::string& value);
  void find_insertions();
  void join_stretches();
  void join_needs();
  void end_handler(std::uint32_t track, const Now& now, std::int64_t time);
  void account(std::uint32_t track, Now& now, std::int64_t until);
  void begin_segment(std::uint32_t task, std::uint32_t track, Now& now, std::int64_t time);
  void end_segment(std::uint32_t track, Now& now, std::int64_t time);
  void begin_region(int process, std::int64_t time);
  void end_region(int process, std::int64_t time);
  void catch_up(const Event& event, Now& now);
  void close_all();
  void forget_pauses(Task& task);
  void find_silence();
  std::uint32_t task_of(std::uint64_t id);
  std::uint32_t message_of(std::uint64_t id);
  [[nodiscard]] Cause cause_of(std::uint64_t id, const Now& now) const;
  /// The iteration for which a sender makes tasks.
  [[nodiscard]] std::int64_t iteration_of(const Cause& sender) const;
  void add_interval(Interval::What what, std::uint32_t track, std::int64_t begin, std::int64_t end,
                    std::uint64_t value = 0);

  Input& input_;
  Regions regions_;
  std::vector<Now> now_;
  std::unordered_map<std::uint64_t, std::uint32_t> task_index_;
  std::unordered_map<std::uint64_t, std::uint32_t> message_index_;
  std::unordered_map<std::uint64_t, OpenSpan> spans_;
  // By rank and target.
  std::map<std::pair<int, std::uint64_t>, std::deque<WaitingSender>> waiting_senders_;
  std::unordered_map<std::uint64_t, Cause> fired_;                // events, by what has fired them
  std::vector<std::pair<std::uint64_t, std::uint64_t>> matched_;  // events, and tasks
  std::vector<std::pair<std::uint64_t, std::uint64_t>> joined_;   // tasks, and their joins
  // Tasks, and place_id() of where they were inserted.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> inserted_;
  std::vector<Wait> waits_;               // by segment
  std::vector<Cause> needs_;              // by task
  std::vector<std::size_t> needs_begin_;  // of each task in needs_, and the end
  std::uint32_t seen_ = 0;                // categories of which there are events
  bool has_silence_ = false;              // workers have no events in much of the regions
};

}  // namespace shoal::trace_tool

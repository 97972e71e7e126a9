#pragma once
// Answers to "why is my program slow?", from the model of a trace.

#include "trace_tool/loads.hpp"
#include "trace_tool/model.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

inline double number(std::integral auto value) { return static_cast<double>(value); }

/// Value in the middle of some, of which there are any. Of two: the smaller one.
template <class T>
[[nodiscard]] T lower_median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
/// Value in the middle of some, of which there are any. Of two: the larger one.
template <class T>
[[nodiscard]] T upper_median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Durations of the tasks of one name. Nanoseconds.
struct NameStatistics {
  static constexpr std::size_t kBuckets = 40;  // bucket b: durations in [2^b, 2^(b+1)) ns

  std::string name;
  std::uint64_t count = 0;
  std::int64_t total = 0;
  // The total, if the longest hundredth of the tasks took no longer than the others. A worker that
  // loses its processor to other programs for a turn of the scheduler makes few tasks long.
  std::int64_t total_without_turns = 0;
  std::int64_t least = 0;
  std::int64_t median = 0;
  std::int64_t most = 0;
  std::int64_t ready_wait = 0;  // sum over tasks, from ready to started
  std::array<std::uint64_t, kBuckets> histogram{};
  /// Tasks of the name on one rank.
  struct OnRank {
    std::uint64_t count = 0;
    std::int64_t total = 0;
    std::int64_t least = 0;
    std::int64_t median = 0;
    std::int64_t high = 0;  // the longest, without the longest tenth
  };
  std::map<int, OnRank> by_rank;
};

/// Messages from one rank to another.
struct PairStatistics {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t latency = 0;  // sum of those with both ends
  std::uint64_t with_both_ends = 0;
};

/// Parts of the time from the sending of a message to the start of the tasks that it makes ready,
/// summed over the messages with both ends of one handler. Nanoseconds.
struct LatencyStatistics {
  std::string name;  // of the handler
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t window = 0;    // its sender waited for room in the window
  std::int64_t wire = 0;      // it was on its way
  std::int64_t progress = 0;  // it had come, and its rank was too busy to look, or to handle it
  std::int64_t worker = 0;    // tasks that it made ready waited for a worker

  [[nodiscard]] std::int64_t total() const { return window + wire + progress + worker; }
};

/// Tasks of one iteration of the program. Times in nanoseconds, kNever when not recorded.
struct IterationStatistics {
  std::int64_t number = 0;
  std::uint64_t count = 0;
  std::int64_t made = kNever;   // the last of them: the submission is past the iteration
  std::int64_t begin = kNever;  // of the first one that runs
  std::int64_t end = kNever;    // of the last one
  std::int64_t busy = 0;        // sum over tasks
};

/// One step of the critical path, in the order of time.
struct PathStep {
  enum class What : std::uint8_t {
    task,     // runs
    message,  // is on its way, or waits for its handler
    start,    // from ready to started, while nothing else ran there
    parked,   // a task stands still
    begin,    // before the first known step; has the name of that if tasks ran before it
    blocked,  // a message has come, and the task or handler `name` keeps the rank from looking
  };
  What what = What::task;
  std::uint32_t index = kNone;  // of a segment, or of a message
  NameId name = 0;
  int rank = -1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Part of the critical path, summed over steps of one kind, name and rank.
struct PathShare {
  PathStep::What what = PathStep::What::task;
  std::string name;
  int rank = -1;
  std::int64_t ns = 0;
  std::uint64_t steps = 0;
};

/// Reason for which workers of a rank had no task.
struct IdleCause {
  enum class What : std::uint8_t {
    message,       // the next task needed a message
    task,          // the next task needed another one of the same rank
    not_taken,     // the next task was ready, and no worker took it
    no_more_work,  // nothing came until the end of the run
    start_up,      // nothing had begun yet
    bound,         // ready tasks were bound to other workers
    insertion,     // the task that makes tasks had not made the next one
    others,        // the main function waited for all tasks and handlers, of any rank
    unknown,
  };
  What what = What::unknown;
  std::string name;  // of the message, or of the task that was waited for
  int from = -1;     // rank
  std::int64_t ns = 0;
};

struct RankUsage {
  int rank = 0;
  int workers = 0;  // tracks that ran tasks or slept
  Usage sum;
  // Stretches of time in which a sender waited for room in a window, or several did, apart.
  std::vector<Stretch> full;
  std::int64_t window_full = 0;  // their sum
  std::vector<IdleCause> idle;   // largest first
  std::int64_t idle_ns = 0;
};

/// Subject of a hint. `kind` is stable, for tests and scripts.
struct HintSubject {
  std::string kind;
  double share = 0;  // of the run, or of the workers' time in it, that it costs
  std::string name;  // of the tasks or handlers that it is about; "": of no certain ones
  int rank = -1;     // that it is about; -1: all
};
/// Advice with the numbers behind it, and where the timeline shows what it is about.
struct Hint : HintSubject {
  std::string text;
  std::uint32_t track = kNone;  // kNone: nowhere
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Advice on a run.
struct Remarks {
  std::vector<Hint> hints;
  std::vector<std::string> notes;  // what the trace does not prove
};

/// Least time that a run can take, by two measures. Nanoseconds.
struct Bounds {
  std::int64_t area = 0;  // all work, evenly on all workers
  // The longest chain of tasks and code of the main function, each of which needs the one before.
  // Waits for a lock are no needs. A loop counts as its longest iteration, as far as it is known.
  std::int64_t chain = 0;
  std::int64_t serial = 0;  // code of one main function outside of loops
};

/// Longest chains of work.
struct ChainTimes {
  std::vector<std::int64_t> of_tasks;  // from each task on, with the task itself
  std::int64_t longest = 0;            // see Bounds::chain
  std::int64_t serial = 0;             // see Bounds
};

struct Analysis {
  std::int64_t duration = 0;
  std::vector<NameStatistics> names;  // largest total first
  std::vector<RankUsage> ranks;
  std::map<int, RankLoad> loads;
  std::map<std::pair<int, int>, PairStatistics> pairs;
  std::vector<LatencyStatistics> latencies;     // longest in all first
  std::vector<IterationStatistics> iterations;  // by number; empty: the program names none
  std::vector<PathStep> path;
  std::vector<PathShare> path_shares;  // largest first
  ChainTimes chains;
  Bounds bounds;
  std::vector<Hint> hints;
  std::vector<std::string> notes;
};

[[nodiscard]] Analysis analyse(const Model& model);

// Parts of analyse().
[[nodiscard]] std::vector<NameStatistics> name_statistics(const Model& model);
[[nodiscard]] std::map<std::pair<int, int>, PairStatistics> pair_statistics(const Model& model);
[[nodiscard]] std::vector<LatencyStatistics> latencies(const Model& model);
[[nodiscard]] std::vector<IterationStatistics> iterations(const Model& model);
/// Backwards from the last end: a task waited either for its worker, or for the task or message
/// that made it ready.
[[nodiscard]] std::vector<PathStep> critical_path(const Model& model);
[[nodiscard]] std::vector<PathShare> path_shares(const Model& model,
                                                 const std::vector<PathStep>& path);
[[nodiscard]] std::vector<RankUsage> rank_usage(const Model& model,
                                                const std::map<int, RankLoad>& loads);
[[nodiscard]] ChainTimes chains_of(const Model& model);
/// **Precondition**: the analysis has its chains and loads.
[[nodiscard]] Bounds bounds_of(const Analysis& analysis);
/// Time before `received` in which a message had come, and its rank was too busy to look; the
/// stretch that ended last. `busy_since` is the begin.
struct Blocked {
  std::int64_t busy_since = kNever;  // kNever: it was not
  Stretch by;
};
[[nodiscard]] Blocked blocked_before(const Model& model, const Message& message);
/// Time for which an idle worker waited until the task that makes tasks had made `next`.
[[nodiscard]] std::int64_t insertion_wait(const Model& model, std::int64_t idle_since,
                                          const Segment& next);
/// Makes one of stretches that overlap, and puts them in the order of time.
void join(std::vector<Stretch>& all);
/// Part of [begin, end) in which a track was busy, of stretches in the order of time, apart.
[[nodiscard]] std::int64_t busy_within(const std::vector<Stretch>& of_track, std::int64_t begin,
                                       std::int64_t end);
[[nodiscard]] Remarks remarks_on(const Model& model, const Analysis& analysis);

/// "of 1.2 s, 0.7 s are potrf on rank 0, 0.3 s are messages".
[[nodiscard]] std::string path_text(const Analysis& analysis);
/// "rank 2 waited 38 % of the run, most for panel from rank 0".
[[nodiscard]] std::string idle_line(const Analysis& analysis, const RankUsage& rank);
/// One such line for each rank that waited noticeably.
[[nodiscard]] std::vector<std::string> idle_lines(const Analysis& analysis);
/// Number, length and overlap of iterations; "" without any.
[[nodiscard]] std::string iterations_text(const Analysis& analysis);
/// "failed attempts: 3 of read, 1 of solve", of tasks that were tried again; "" without any.
[[nodiscard]] std::string attempts_text(const Model& model);

}  // namespace shoal::trace_tool

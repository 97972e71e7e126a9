// The longest chains of work: tasks and code of main functions, each of which needs the one before.

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "trace_tool/analysis.hpp"

namespace shoal::trace_tool {

namespace {

/// Iterations of a part of a loop, by its key "3 to 8"; 0: it has no such key.
std::int64_t iterations_of(std::string_view key) {
  constexpr std::string_view kTo = " to ";
  std::int64_t first = 0;
  std::int64_t last = 0;
  const char* const end = key.data() + key.size();
  const auto begin = std::from_chars(key.data(), end, first);
  if (begin.ec != std::errc() || !std::string_view(begin.ptr, end).starts_with(kTo)) return 0;
  const auto rest = std::from_chars(begin.ptr + kTo.size(), end, last);
  const bool is_range = rest.ec == std::errc() && rest.ptr == end && first >= 0 && first <= last;
  return is_range ? last - first + 1 : 0;
}

/// Goes backwards over pieces of segments: those within a call that shares its work are apart.
///
/// How much of a loop one worker does depends on how many there are. So a part of several
/// iterations is no work of a chain. In its place the call is a piece with the mean iteration of
/// the part in which that is longest: no number of workers makes the longest iteration shorter.
class Chains {
 public:
  explicit Chains(const Model& model) : model_(model) {
    find_calls();
    find_parts();
    cut();
  }

  ChainTimes run() {
    ChainTimes times;
    for (const std::uint32_t index : order()) add(index);
    times.of_tasks.resize(model_.tasks.size(), 0);
    std::vector<std::int64_t> serial(model_.tasks.size(), 0);
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
      const std::uint32_t task = task_of(i);
      times.of_tasks[task] = std::max(times.of_tasks[task], chains_[i]);
      times.longest = std::max(times.longest, chains_[i]);
      if (model_.is_main(model_.tasks[task]) && !pieces_[i].is_shared) {
        serial[task] += work(i, kEnd);
      }
    }
    for (std::uint32_t task = 0; task < model_.tasks.size(); ++task) {
      times.serial = std::max(times.serial, serial[task]);
      // Of the order of tasks: a part is as long as it was.
      if (is_part_[task]) {
        times.of_tasks[task] = std::max(times.of_tasks[task], model_.tasks[task].busy);
      }
    }
    return times;
  }

 private:
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

  struct Piece {
    std::uint32_t segment = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t previous = kNone;  // of its task
    bool is_shared = false;          // within a call
    std::int64_t least = 0;          // work of a call, in its first piece
    std::int64_t until = 0;          // end of that call
  };
  struct Call {
    std::uint32_t task = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::set<NameId> names;  // its own, and those of calls within it
    std::int64_t least = 0;  // that its longest iteration takes
  };

  [[nodiscard]] std::uint32_t task_of(std::uint32_t piece) const {
    return model_.segments[pieces_[piece].segment].task;
  }

  /// Calls of a task that are within no other one, and apart.
  [[nodiscard]] std::span<Call> calls_of(std::uint32_t task) {
    const auto [first, last] = std::ranges::equal_range(calls_, task, {}, &Call::task);
    return {first, last};
  }

  /// Joins each call with those within it.
  void find_calls() {
    for (const SharedCall& call : model_.calls) {
      const bool is_within =
          !calls_.empty() && calls_.back().task == call.task && call.begin < calls_.back().end;
      if (!is_within) calls_.push_back({call.task, call.begin, call.end, {}, 0});
      calls_.back().names.insert(call.name);
    }
  }

  /// Finds the tasks that do parts of calls, and the longest iterations of these.
  void find_parts() {
    is_part_.resize(model_.tasks.size(), false);
    if (calls_.empty()) return;
    for (std::uint32_t i = 0; i < model_.tasks.size(); ++i) {
      const Task& task = model_.tasks[i];
      if (task.cause.what != Cause::What::task) continue;
      const std::span<Call> calls = calls_of(task.cause.index);
      const auto after = std::ranges::upper_bound(calls, task.ready, {}, &Call::begin);
      if (after == calls.begin()) continue;
      Call& call = *(after - 1);
      if (call.end < task.ready || !call.names.contains(task.name)) continue;
      const auto key = model_.keys.find(task.id);
      const std::int64_t count = key == model_.keys.end() ? 0 : iterations_of(key->second);
      is_part_[i] = count != 1;
      if (count > 0) call.least = std::max(call.least, task.busy / count);
    }
  }

  /// Cuts segments where calls begin and end.
  void cut() {
    last_.resize(model_.segments.size(), kNone);
    for (std::uint32_t i = 0; i < model_.segments.size(); ++i) {
      const Segment& segment = model_.segments[i];
      const std::uint32_t before = segment.previous_of_task;
      Piece piece{i, segment.begin, segment.end, before == kNone ? kNone : last_[before]};
      const auto add_until = [&](std::int64_t end) {
        piece.end = end;
        pieces_.push_back(piece);
        piece = {i, end, segment.end, static_cast<std::uint32_t>(pieces_.size() - 1)};
      };
      const std::span<Call> calls = calls_of(segment.task);
      auto call = std::ranges::upper_bound(calls, segment.begin, {}, &Call::end);
      for (; call != calls.end() && call->begin < segment.end; ++call) {
        if (call->begin > piece.begin) add_until(call->begin);
        piece.is_shared = true;
        if (call->begin >= segment.begin) piece.least = call->least;
        piece.until = call->end;
        add_until(std::min(call->end, segment.end));
      }
      const bool is_first = pieces_.empty() || pieces_.back().segment != i;
      if (piece.begin < segment.end || is_first) add_until(segment.end);
      last_[i] = static_cast<std::uint32_t>(pieces_.size() - 1);
    }
    chains_.resize(pieces_.size(), 0);
  }

  /// When the segment became ready.
  [[nodiscard]] static std::int64_t ready(const Segment& segment) {
    return segment.ready != kNever ? std::min(segment.ready, segment.begin) : segment.begin;
  }

  /// Pieces, before those that they need: these began before. At one moment: the one that became
  /// ready last, or that of the later task.
  [[nodiscard]] std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order(pieces_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto place = [this](std::uint32_t index) {
      const Piece& piece = pieces_[index];
      const Segment& segment = model_.segments[piece.segment];
      const std::int64_t since = piece.begin == segment.begin ? ready(segment) : piece.begin;
      return std::tuple(piece.begin, since, segment.task, index);
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return place(a) > place(b); });
    return order;
  }

  void add(std::uint32_t index) {
    const Piece& piece = pieces_[index];
    const Segment& segment = model_.segments[piece.segment];
    chains_[index] = std::max(chains_[index], work(index, kEnd));
    if (piece.previous != kNone) lead(piece.previous, kEnd, index);
    const bool is_first =
        piece.previous == kNone || pieces_[piece.previous].segment != piece.segment;
    if (!is_first) return;
    if (segment.previous_of_task == kNone) {
      for (const Cause& need : model_.needs_of(segment.task)) lead_from(need, index);
    } else if (!is_lock_wait(model_, segment.waited_for)) {
      for (const Wait& wait : model_.waits_of(piece.segment)) lead_from(wait.cause, index);
    }
  }

  /// Work of a piece up to a time.
  [[nodiscard]] std::int64_t work(std::uint32_t index, std::int64_t until) const {
    const Piece& piece = pieces_[index];
    if (is_part_[task_of(index)]) return 0;
    if (piece.is_shared) return until >= piece.until ? piece.least : 0;
    return std::max<std::int64_t>(std::min(until, piece.end) - piece.begin, 0);
  }

  /// Appends the chain of piece `to` to the work of piece `from` before `until`.
  void lead(std::uint32_t from, std::int64_t until, std::uint32_t to) {
    chains_[from] = std::max(chains_[from], work(from, until) + chains_[to]);
  }

  void lead_from(const Cause& cause, std::uint32_t to) {
    const std::uint32_t source = model_.source_of(cause);
    if (source == kNone || model_.tasks[source].last_segment == kNone) return;
    const std::int64_t until = ready(model_.segments[pieces_[to].segment]);
    std::uint32_t from = last_[model_.tasks[source].last_segment];
    while (from != kNone && pieces_[from].begin > until) from = pieces_[from].previous;
    if (from != kNone && from != to) lead(from, until, to);
  }

  const Model& model_;
  std::vector<Call> calls_;
  std::vector<bool> is_part_;  // by task
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> last_;   // piece of each segment
  std::vector<std::int64_t> chains_;  // from the begin of each piece on
};

}  // namespace

ChainTimes chains_of(const Model& model) { return Chains(model).run(); }

}  // namespace shoal::trace_tool

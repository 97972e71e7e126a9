#pragma once
// Hints as they are found. Each needs its pattern to cost a noticeable part of the run, so that a
// healthy run gets none.

#include "trace_tool/analysis.hpp"
#include "trace_tool/loads.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

inline constexpr double kNoticeable = 0.05;  // of the run
inline constexpr double kNegligible = 0.01;  // likewise

/// Sums by name.
using Sums = std::map<NameId, std::int64_t>;

/// Part of a hint's cost that something outside of the trace may explain.
struct Doubt {
  std::int64_t ns = 0;
  std::string_view text = "The host of a virtual machine may have held processors for that time";
};

/// The hints of one run so far.
class Advice {
 public:
  Advice(const Model& of, const Analysis& found) : model(of), analysis(found) {}

  const Model& model;
  const Analysis& analysis;
  const Disturbance disturbance = disturbance_of(model);

  void add(HintSubject about, std::string text) {
    hints_.push_back({std::move(about), std::move(text)});
  }
  /// Adds a hint by times, unless other programs may explain so much of its cost that less than
  /// `least` is left, with which no run gets it; if the doubt may, it is a note. Returns whether
  /// the hint was added.
  bool add_timed(double least, HintSubject about, std::string text, Doubt doubt = {}) {
    if (about.share - disturbance.largest_cost() < least) {
      const bool is_known =
          std::find(left_out_.begin(), left_out_.end(), about.kind) != left_out_.end();
      if (!is_known) left_out_.push_back(about.kind);
      return false;
    }
    if (about.share - disturbance.largest_cost() - disturbance.writer < least) {
      note(text + ". The threads that write the trace may have held workers for that time");
      return false;
    }
    if (about.share - number(doubt.ns) / duration() < least) {
      note(text + ". " + std::string(doubt.text) +
           ": record the run again, and look here if it says so again");
      return false;
    }
    add(std::move(about), std::move(text));
    return true;
  }

  /// Sum of the longest fifth of the times, `few` at least, for which the host of a virtual machine
  /// may have held processors: only what happens often is the program's.
  [[nodiscard]] std::int64_t held_of(std::vector<double> times, std::size_t few) const {
    if (!disturbance.may_be_held) return 0;
    const std::size_t count = std::min(std::max(few, times.size() / 5), times.size());
    const auto rest = times.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(times.begin(), rest, times.end(), std::greater<>());
    return static_cast<std::int64_t>(std::accumulate(times.begin(), rest, 0.0));
  }

  /// Says something that the trace does not prove.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Returns whether time without a task is idle time: handlers were recorded.
  [[nodiscard]] bool knows_idleness() const { return model.knows_idleness(); }
  [[nodiscard]] bool has_hints() const { return !hints_.empty(); }
  [[nodiscard]] bool has_hint(std::string_view kind) const {
    return std::any_of(hints_.begin(), hints_.end(),
                       [kind](const Hint& one) { return one.kind == kind; });
  }
  /// Kinds that other programs may explain.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  [[nodiscard]] std::vector<Hint> take() { return std::move(hints_); }
  [[nodiscard]] std::vector<std::string> take_notes() { return std::move(notes_); }

  [[nodiscard]] double duration() const { return std::max(1.0, number(analysis.duration)); }
  [[nodiscard]] double worker_time() const {
    int workers = 0;
    for (const RankUsage& rank : analysis.ranks) workers += rank.workers;
    return number(analysis.duration) * workers;
  }
  [[nodiscard]] std::int64_t sum_of_busy() const {
    std::int64_t sum = 0;
    for (const auto& [rank, load] : analysis.loads) sum += load.busy;
    return sum;
  }

  /// The name with the largest sum; "" without any.
  [[nodiscard]] std::string largest(const Sums& sums) const {
    const auto most = std::max_element(
        sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == sums.end() ? "" : model.input().name(most->first);
  }

 private:
  std::vector<std::string> left_out_;
  std::vector<Hint> hints_;
  std::vector<std::string> notes_;
};

void add_worker_hints(Advice& advice);
void add_rank_hints(Advice& advice);
void add_message_hints(Advice& advice);

}  // namespace shoal::trace_tool

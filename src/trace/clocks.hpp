#pragma once
// Agreement of the clocks of processes: algorithms on samples, without communication.
//
// Each process p has ticks, which it relates to its own nanoseconds (clock samples). Sync points
// relate p's ticks to those of another process, its parent in a tree; the root's nanoseconds are
// the time of the run. Source: section 3.4 of the thesis on interactions between runtime systems
// and communication libraries; piecewise interpolation and the tree go beyond it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "env/ticks.hpp"
#include "trace/file.hpp"

namespace shoal::trace {

/// One ping-pong, as the reference (start, end) and the other process (remote) saw it. Ticks.
struct PingPong {
  std::uint64_t start_ticks = 0;
  std::uint64_t remote_ticks = 0;
  std::uint64_t end_ticks = 0;
};

/// The sync point of the other process that follows from the fastest ping-pong: its remote time is
/// taken for the middle of the round trip, of which it is off by at most half.
/// `reference`: process that started them. **Errors**: CheckError for no ping-pongs, and for one
/// that ends before it starts.
[[nodiscard]] SyncPoint best_of(std::span<const PingPong> all, std::uint32_t reference);

/// A barrier that all processes leave at one moment, which the reference chooses.
///
/// The reference calls choose(); all learn of its result, call local_deadline(), and wait
/// until then. The event of the barrier is stamped with the deadline, not with the time at which
/// the process went on: preemption in between does no harm. A process that learns of it too late
/// calls missed(); if any did, the round does not count and the next one has a window twice as
/// long.
class WindowBarrier {
 public:
  /// `window_ticks`: first distance of the deadline from now, on the reference's clock.
  explicit WindowBarrier(std::uint64_t window_ticks) : window_ticks_(window_ticks) {}

  /// Deadline of the next round, in ticks of the reference.
  [[nodiscard]] std::uint64_t choose(std::uint64_t now_reference_ticks) const {
    return now_reference_ticks + window_ticks_;
  }
  /// Returns the time of `reference_deadline_ticks` on the clock of another process. `ratio`: its
  /// ticks for one tick of the reference.
  [[nodiscard]] static std::uint64_t local_deadline(const SyncPoint& point, double ratio,
                                                    std::uint64_t reference_deadline_ticks);
  /// Returns whether the process came too late to wait for the deadline.
  [[nodiscard]] static bool missed(std::uint64_t now_local_ticks,
                                   std::uint64_t local_deadline_ticks) {
    return now_local_ticks >= local_deadline_ticks;
  }
  /// The round is over. True: no process missed it, and its deadlines are sync points.
  [[nodiscard]] bool end_round(int missed_by);
  [[nodiscard]] std::uint64_t window_ticks() const { return window_ticks_; }
  [[nodiscard]] int rounds() const { return rounds_; }

 private:
  std::uint64_t window_ticks_;
  int rounds_ = 0;
};

/// A function from one clock to another: linear between its knots, strictly increasing.
class TimeMap {
 public:
  struct Knot {
    std::uint64_t from = 0;
    std::int64_t to = 0;
    bool operator==(const Knot&) const = default;
  };

  /// The identity.
  TimeMap() = default;
  /// Takes knots in any order; of those that do not increase in both, the later ones are left out.
  /// `outer_rate`: outside of the knots; 0: that of the first and the last segment.
  /// **Errors**: CheckError for no knots, and for one knot without a rate.
  TimeMap(std::vector<Knot> knots, double outer_rate);

  [[nodiscard]] std::int64_t operator()(std::uint64_t from) const;
  /// This map, and `then` behind it; exact except for rounding. **Precondition**: this one's values
  /// are not negative.
  [[nodiscard]] TimeMap followed_by(const TimeMap& then) const;
  [[nodiscard]] const std::vector<Knot>& knots() const { return knots_; }
  /// Adds to all values.
  void shift(std::int64_t by);

 private:
  [[nodiscard]] std::uint64_t inverse(std::int64_t to) const;
  [[nodiscard]] double rate_of(std::size_t segment) const;

  std::vector<Knot> knots_;  // empty: the identity, plus shift_
  double first_rate_ = 1;
  double last_rate_ = 1;
  std::int64_t shift_ = 0;
};

/// Ticks to nanoseconds of CLOCK_MONOTONIC_RAW: linear between samples, without those that are much
/// less certain than the others. **Errors**: Error when there are too few samples.
[[nodiscard]] TimeMap ticks_to_raw(ClockKind clock, std::vector<env::TickSample> samples);

/// Clock of one process.
struct ProcessClock {
  std::uint32_t process = 0;
  ClockKind clock = ClockKind::tsc;
  std::string host;  // processes of one host share CLOCK_MONOTONIC_RAW
  std::vector<env::TickSample> samples;
  std::vector<SyncPoint> sync;
};

/// Clocks of all processes on that of the first one that was compared with no other.
struct Agreement {
  std::vector<TimeMap> maps;                  // by position; ticks to nanoseconds of the run
  std::vector<std::uint64_t> uncertainty_ns;  // by position: of samples, and along the tree
  std::vector<std::uint32_t> unsynchronized;  // processes that nothing relates to the others
};

/// Outside of its sync points, a process keeps the offset of the nearest one: the drift there is
/// not known. Processes of one host share a clock; the sync points of the first one count.
/// **Errors**: Error when processes are compared in a circle, or with one that does not exist.
[[nodiscard]] Agreement agree(const std::vector<ProcessClock>& processes);

/// Looks for messages that arrive before they were sent. Events in any order.
/// **Cost**: memory for the messages of which one end was seen.
class CausalityCheck {
 public:
  void sent(std::uint64_t message, std::int64_t time_ns);
  void received(std::uint64_t message, std::int64_t time_ns);

  [[nodiscard]] std::uint64_t matched() const { return matched_; }
  [[nodiscard]] std::uint64_t violations() const { return violations_; }
  /// By how much the worst message arrives before it was sent; 0: none does.
  [[nodiscard]] std::int64_t largest_violation_ns() const { return largest_ns_; }
  [[nodiscard]] std::uint64_t worst_message() const { return worst_; }
  [[nodiscard]] std::uint64_t sent_only() const { return sent_only_; }
  [[nodiscard]] std::uint64_t received_only() const { return open_.size() - sent_only_; }

 private:
  struct End {
    std::int64_t time_ns = 0;
    bool is_sent = false;
  };
  void add(std::uint64_t message, End end);

  std::unordered_map<std::uint64_t, End> open_;
  std::uint64_t sent_only_ = 0;
  std::uint64_t matched_ = 0;
  std::uint64_t violations_ = 0;
  std::int64_t largest_ns_ = 0;
  std::uint64_t worst_ = 0;
};

}  // namespace shoal::trace

#include "trace/clocks.hpp"

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

namespace shoal::trace {

namespace {

/// Leaves out samples that are much less certain than the best, which were interrupted; two at
/// least stay.
template <class Sample>
void keep_certain(std::vector<Sample>& samples, std::uint64_t tolerance) {
  constexpr std::size_t kLeast = 2;
  if (samples.size() <= kLeast) return;
  std::ranges::stable_sort(samples, {}, &Sample::uncertainty_ticks);
  const std::uint64_t limit = 4 * samples.front().uncertainty_ticks + tolerance;
  const auto beyond =
      std::find_if(samples.begin() + kLeast, samples.end(),
                   [limit](const Sample& sample) { return sample.uncertainty_ticks > limit; });
  samples.erase(beyond, samples.end());
}

constexpr std::uint64_t kSampleToleranceTicks = 200;

std::int64_t scaled(std::uint64_t distance, double rate) {
  return std::llround(static_cast<double>(distance) * rate);
}

}  // namespace

SyncPoint best_of(std::span<const PingPong> all, std::uint32_t reference) {
  SHOAL_CHECK(!all.empty(), "clocks cannot be compared without a ping-pong");
  const PingPong* best = nullptr;
  for (const PingPong& one : all) {
    SHOAL_CHECK(one.end_ticks >= one.start_ticks, "a ping-pong ends at {}, before its start at {}",
                one.end_ticks, one.start_ticks);
    const std::uint64_t round_trip = one.end_ticks - one.start_ticks;
    if (best == nullptr || round_trip < best->end_ticks - best->start_ticks) best = &one;
  }
  const std::uint64_t half = (best->end_ticks - best->start_ticks) / 2;
  return {best->remote_ticks, best->start_ticks + half, half, reference, 0};
}

std::uint64_t WindowBarrier::local_deadline(const SyncPoint& point, double ratio,
                                            std::uint64_t reference_deadline_ticks) {
  SHOAL_CHECK(reference_deadline_ticks >= point.reference_ticks,
              "a deadline lies before the moment at which the clocks were compared");
  const std::uint64_t distance = reference_deadline_ticks - point.reference_ticks;
  return point.local_ticks + static_cast<std::uint64_t>(scaled(distance, ratio));
}

bool WindowBarrier::end_round(int missed_by) {
  ++rounds_;
  if (missed_by == 0) return true;
  window_ticks_ *= 2;
  return false;
}

TimeMap::TimeMap(std::vector<Knot> knots, double outer_rate) {
  SHOAL_CHECK(!knots.empty(), "a map of times needs a knot");
  std::sort(knots.begin(), knots.end(),
            [](const Knot& a, const Knot& b) { return a.from < b.from; });
  for (const Knot& knot : knots) {
    const bool increases =
        knots_.empty() || (knot.from > knots_.back().from && knot.to > knots_.back().to);
    if (increases) knots_.push_back(knot);
  }
  SHOAL_CHECK(outer_rate > 0 || knots_.size() > 1, "a map of times with one knot needs a rate");
  first_rate_ = outer_rate > 0 ? outer_rate : rate_of(0);
  last_rate_ = outer_rate > 0 ? outer_rate : rate_of(knots_.size() - 2);
}

double TimeMap::rate_of(std::size_t segment) const {
  const Knot& a = knots_[segment];
  const Knot& b = knots_[segment + 1];
  return static_cast<double>(b.to - a.to) / static_cast<double>(b.from - a.from);
}

std::int64_t TimeMap::operator()(std::uint64_t from) const {
  if (knots_.empty()) return static_cast<std::int64_t>(from) + shift_;
  const auto behind =
      std::upper_bound(knots_.begin(), knots_.end(), from,
                       [](std::uint64_t time, const Knot& knot) { return time < knot.from; });
  if (behind == knots_.begin()) return behind->to - scaled(behind->from - from, first_rate_);
  const Knot& knot = *(behind - 1);
  const double rate = behind == knots_.end()
                          ? last_rate_
                          : rate_of(static_cast<std::size_t>(behind - knots_.begin()) - 1);
  return knot.to + scaled(from - knot.from, rate);
}

std::uint64_t TimeMap::inverse(std::int64_t to) const {
  if (knots_.empty()) return static_cast<std::uint64_t>(to - shift_);
  const auto behind =
      std::upper_bound(knots_.begin(), knots_.end(), to,
                       [](std::int64_t time, const Knot& knot) { return time < knot.to; });
  if (behind == knots_.begin()) {
    const auto back = std::llround(static_cast<double>(behind->to - to) / first_rate_);
    return behind->from - std::min(behind->from, static_cast<std::uint64_t>(back));
  }
  const Knot& knot = *(behind - 1);
  const double rate = behind == knots_.end()
                          ? last_rate_
                          : rate_of(static_cast<std::size_t>(behind - knots_.begin()) - 1);
  return knot.from +
         static_cast<std::uint64_t>(std::llround(static_cast<double>(to - knot.to) / rate));
}

TimeMap TimeMap::followed_by(const TimeMap& then) const {
  TimeMap both;
  const auto through = [&](std::uint64_t from) {
    return then(static_cast<std::uint64_t>(std::max<std::int64_t>((*this)(from), 0)));
  };
  std::vector<Knot> knots;
  knots.reserve(knots_.size() + then.knots_.size());
  for (const Knot& knot : knots_) knots.push_back({knot.from, through(knot.from)});
  for (const Knot& knot : then.knots_) {
    const std::uint64_t from = inverse(static_cast<std::int64_t>(knot.from));
    knots.push_back({from, through(from)});
  }
  if (knots.empty()) {
    both.shift_ = shift_ + then.shift_;
    return both;
  }
  both = TimeMap(std::move(knots), first_rate_ * then.first_rate_);
  both.last_rate_ = last_rate_ * then.last_rate_;
  return both;
}

void TimeMap::shift(std::int64_t by) {
  shift_ += knots_.empty() ? by : 0;
  for (Knot& knot : knots_) knot.to += by;
}

TimeMap ticks_to_raw(ClockKind clock, std::vector<env::TickSample> samples) {
  if (clock != ClockKind::tsc) return {};
  keep_certain(samples, kSampleToleranceTicks);
  if (samples.size() < 2) {
    throw Error("the file has no two samples of its clock: the run was killed too early");
  }
  std::vector<TimeMap::Knot> knots;
  knots.reserve(samples.size());
  for (const env::TickSample& sample : samples) {
    knots.push_back({sample.ticks, static_cast<std::int64_t>(sample.raw_ns)});
  }
  return {std::move(knots), 0};
}

namespace {

/// A sync point in nanoseconds of both processes.
struct Moment {
  TimeMap::Knot knot;
  std::int64_t uncertainty_ns = 0;
};

/// Adds the moments that contradict the line through those known already by more than they are
/// uncertain by, the strongest contradiction first. Each moves the line just so far that it does
/// not contradict any more, which is always nearer to the truth. So a clock that changes its rate
/// is followed, and comparisons under load, which are uncertain, spoil nothing.
void add_informative(std::vector<Moment>& known, std::vector<Moment> others) {
  constexpr std::int64_t kToleranceNs = 100;
  while (!others.empty()) {
    std::vector<TimeMap::Knot> knots;
    knots.reserve(known.size());
    for (const Moment& moment : known) knots.push_back(moment.knot);
    const TimeMap line(std::move(knots), 1);
    const auto excess_ns = [&line](const Moment& moment) {
      return std::abs(line(moment.knot.from) - moment.knot.to) - moment.uncertainty_ns;
    };
    const auto most = std::ranges::max_element(others, {}, excess_ns);
    const std::int64_t excess = excess_ns(*most);
    if (excess <= kToleranceNs) return;
    const std::int64_t there = line(most->knot.from);
    known.push_back({{most->knot.from, there < most->knot.to ? there + excess : there - excess},
                     most->uncertainty_ns});
    others.erase(most);
  }
}

/// Follows the tree from each process to the root.
class Agreeing {
 public:
  explicit Agreeing(const std::vector<ProcessClock>& processes) : processes_(processes) {
    for (const ProcessClock& one : processes) raw_.push_back(ticks_to_raw(one.clock, one.samples));
    to_run_.resize(processes.size());
    uncertainty_ns_.resize(processes.size());
    find_root();
  }

  Agreement result() {
    Agreement all;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      all.maps.push_back(raw_[i].followed_by(map_of(i, 0)));
      all.uncertainty_ns.push_back(uncertainty_ns_[i] + of_samples(i));
    }
    all.unsynchronized = std::move(unsynchronized_);
    return all;
  }

 private:
  /// Error of the samples of the process, in nanoseconds.
  [[nodiscard]] std::uint64_t of_samples(std::size_t index) const {
    std::vector<env::TickSample> samples = processes_[index].samples;
    if (processes_[index].clock != ClockKind::tsc) return 0;
    keep_certain(samples, kSampleToleranceTicks);
    std::int64_t most = 0;
    for (const env::TickSample& one : samples) {
      most =
          std::max(most, raw_[index](one.ticks + one.uncertainty_ticks) - raw_[index](one.ticks));
    }
    return static_cast<std::uint64_t>(most);
  }

  void find_root() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i].sync.empty()) continue;
      root_ = i;
      return;
    }
    throw Error("each process was compared with another one: no clock is the reference");
  }

  [[nodiscard]] std::size_t position_of(const ProcessClock& one, std::uint32_t process) const {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].process == process) return i;
    }
    throw Error(
        fmt::format("the clock of process {} was compared with that of process {}, whose "
                    "trace is missing",
                    one.process, process));
  }

  /// Another process whose nanoseconds are the same, and which is nearer to the root.
  [[nodiscard]] std::optional<std::size_t> same_clock_as(std::size_t index) const {
    const std::string& host = processes_[index].host;
    if (host.empty() || processes_[index].clock == ClockKind::virtual_time) return std::nullopt;
    if (host == processes_[root_].host) return root_;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].host != host || processes_[i].sync.empty()) continue;
      return i == index ? std::nullopt : std::optional(i);
    }
    return std::nullopt;
  }

  /// Map of one process's nanoseconds to those of the run.
  const TimeMap& map_of(std::size_t index, std::size_t depth) {
    if (to_run_[index].has_value()) return *to_run_[index];
    if (depth > processes_.size()) throw Error("the clocks of processes are compared in a circle");
    TimeMap map;
    if (index == root_) {
      // The map is the identity.
    } else if (const auto same = same_clock_as(index); same.has_value()) {
      map = map_of(*same, depth + 1);
      uncertainty_ns_[index] = uncertainty_ns_[*same];
    } else if (!processes_[index].sync.empty()) {
      map = to_parent(index, depth);
    } else {
      unsynchronized_.push_back(processes_[index].process);
    }
    return to_run_[index].emplace(std::move(map));
  }

  /// Sync points in nanoseconds of both processes.
  [[nodiscard]] std::vector<Moment> moments_of(std::size_t index, std::size_t parent,
                                               const std::vector<SyncPoint>& points) const {
    std::vector<Moment> moments;
    for (const SyncPoint& point : points) {
      const std::int64_t theirs = raw_[parent](point.reference_ticks);
      const std::int64_t later = raw_[parent](point.reference_ticks + point.uncertainty_ticks);
      moments.push_back(
          {{static_cast<std::uint64_t>(raw_[index](point.local_ticks)), theirs}, later - theirs});
    }
    return moments;
  }

  TimeMap to_parent(std::size_t index, std::size_t depth) {
    constexpr std::uint64_t kToleranceTicks = 1000;
    const ProcessClock& one = processes_[index];
    const std::uint32_t reference = one.sync.front().reference;
    const std::size_t parent = position_of(one, reference);
    const TimeMap& parent_map = map_of(parent, depth + 1);
    std::vector<SyncPoint> points;
    for (const SyncPoint& point : one.sync) {
      if (point.reference == reference) points.push_back(point);
    }
    const std::vector<Moment> all = moments_of(index, parent, points);
    keep_certain(points, kToleranceTicks);
    std::vector<Moment> known = moments_of(index, parent, points);
    add_informative(known, all);
    std::vector<TimeMap::Knot> knots;
    std::int64_t uncertainty_ns = 0;
    for (const Moment& moment : known) {
      knots.push_back(moment.knot);
      uncertainty_ns = std::max(uncertainty_ns, moment.uncertainty_ns);
    }
    const TimeMap line(std::move(knots), 1);
    // Outside the certain moments the clocks may drift: only the first and the last moment limit
    // the error.
    const auto ends =
        std::ranges::minmax_element(all, {}, [](const Moment& moment) { return moment.knot.from; });
    for (const Moment& end : {*ends.min, *ends.max}) {
      const std::int64_t off_ns = std::abs(line(end.knot.from) - end.knot.to);
      uncertainty_ns = std::max(uncertainty_ns, off_ns + end.uncertainty_ns);
    }
    uncertainty_ns_[index] = uncertainty_ns_[parent] + static_cast<std::uint64_t>(uncertainty_ns);
    return line.followed_by(parent_map);
  }

  const std::vector<ProcessClock>& processes_;
  std::vector<TimeMap> raw_;                    // ticks to nanoseconds, by position
  std::vector<std::optional<TimeMap>> to_run_;  // nanoseconds to those of the run, by position
  std::vector<std::uint64_t> uncertainty_ns_;
  std::vector<std::uint32_t> unsynchronized_;
  std::size_t root_ = 0;
};

}  // namespace

Agreement agree(const std::vector<ProcessClock>& processes) {
  if (processes.empty()) return {};
  return Agreeing(processes).result();
}

void CausalityCheck::sent(std::uint64_t message, std::int64_t time_ns) {
  add(message, {time_ns, true});
}

void CausalityCheck::received(std::uint64_t message, std::int64_t time_ns) {
  add(message, {time_ns, false});
}

void CausalityCheck::add(std::uint64_t message, End end) {
  const auto [other, is_first] = open_.try_emplace(message, end);
  if (is_first) {
    sent_only_ += end.is_sent ? 1 : 0;
    return;
  }
  if (other->second.is_sent == end.is_sent) return;  // told twice
  const std::int64_t way_ns =
      end.is_sent ? other->second.time_ns - end.time_ns : end.time_ns - other->second.time_ns;
  sent_only_ -= other->second.is_sent ? 1 : 0;
  open_.erase(other);
  ++matched_;
  if (way_ns >= 0) return;
  ++violations_;
  if (-way_ns <= largest_ns_) return;
  largest_ns_ = -way_ns;
  worst_ = message;
}

}  // namespace shoal::trace

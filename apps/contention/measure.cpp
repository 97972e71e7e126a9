#include "contention/measure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "contention/selection.hpp"
#include "contention/team.hpp"

namespace contention {
namespace {

/// A line on the terminal.
class Progress {
 public:
  Progress(bool wanted, std::size_t total)
      : is_shown_(wanted && isatty(STDERR_FILENO) != 0), total_(total) {}
  ~Progress() {
    if (is_shown_) fmt::print(stderr, "\r{:60}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, const Point& point) const {
    if (!is_shown_) return;
    constexpr std::size_t kWidth = 24;
    const std::size_t filled = done * kWidth / total_;
    fmt::print(stderr, "\r[{:#<{}}{:{}}] {:>4}/{}  {:<6} {:<5} {:>3} cores", "", filled, "",
               kWidth - filled, done, total_, word(point.kernel), word(point.channel), point.cores);
    std::fflush(stderr);
  }

 private:
  const bool is_shown_;
  const std::size_t total_;
};

/// Makes one measurement after the other.
class Meter {
 public:
  Meter(const Host& host, Link& link, const MeasureOptions& options)
      : host_(host), link_(link), options_(options), team_(host, options.memory_bytes) {}

  /// Repetitions from `first` on.
  std::vector<Sample> measure(const Point& point, int first) {
    if (point.channel != Channel::none) bind(point.thread_node);
    std::vector<Sample> samples;
    for (int i = first; i < options_.repetitions; ++i) {
      Sample sample;
      sample.point = point;
      sample.repetition = i;
      const std::chrono::milliseconds duration(options_.duration_ms);
      const auto end = point.cores > 0 ? team_.start(point, duration) : Clock::now() + duration;
      if (point.channel != Channel::none) set_communication(sample, link_.exchange(point, end));
      if (point.cores > 0) {
        const TeamResult result = team_.finish();
        sample.computation_mb_s = result.rate;
        sample.core_mhz = result.core_mhz;
      }
      samples.push_back(sample);
    }
    return samples;
  }

 private:
  void bind(int node) {
    if (node_ == node) return;
    static_cast<void>(host_.bind_thread(host_.communication_core(node, false)));
    node_ = node;
  }

  const Host& host_;
  Link& link_;
  const MeasureOptions& options_;
  Team team_;
  int node_ = -1;  // that this thread is bound to
};

}  // namespace

MeasureOptions completed(MeasureOptions options) {
  const bool quick = options.extent.quick;
  if (options.repetitions == 0) options.repetitions = quick ? 3 : 7;
  if (options.duration_ms == 0) options.duration_ms = quick ? 60 : 200;
  return options;
}

void make_measurements(const Host& host, Link& link, const std::vector<Point>& plan,
                       const MeasureOptions& options, DataFile& file) {
  Meter meter(host, link, options);
  const Progress progress(options.bar, plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    progress.show(i, plan[i]);
    const int done = file.repetitions(plan[i]);
    if (done < options.repetitions) file.add(meter.measure(plan[i], done));
  }
}

void set_communication(Sample& sample, std::vector<double> seconds) {
  if (seconds.size() > 2) {
    seconds.pop_back();
    seconds.erase(seconds.begin());
  }
  constexpr double kMicroseconds = 1e6;
  const double exchange_us = kMicroseconds * quantile(std::move(seconds), 0.5);
  const bool to_and_fro = sample.point.traffic == Traffic::ping_pong;
  const double one_way_us = to_and_fro ? exchange_us / 2 : exchange_us;
  if (to_and_fro) sample.latency_us = one_way_us;
  sample.communication_mb_s = static_cast<double>(sample.point.message_bytes) / one_way_us;
}

}  // namespace contention

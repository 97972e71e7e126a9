#include "contention/measure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "cli/output.hpp"
#include "contention/counters.hpp"
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
    if (is_shown_) cli::tell(fmt::format("\r{:60}\r", ""));
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, const Point& point) const {
    if (!is_shown_) return;
    constexpr std::size_t kWidth = 24;
    const std::size_t filled = done * kWidth / total_;
    cli::tell(fmt::format("\r[{:#<{}}{:{}}] {:>5}/{}  {:<6} {:<5} {:>3} cores", "", filled, "",
                          kWidth - filled, done, total_, word(point.kernel), word(point.channel),
                          point.cores));
  }

 private:
  const bool is_shown_;
  const std::size_t total_;
};

/// Makes one measurement after the other.
class Meter {
 public:
  Meter(const Host& host, Link& link, const MeasureOptions& options)
      : host_(host),
        link_(link),
        options_(options),
        team_(host, options.memory_bytes),
        counters_(options.counters, host.socket_processors()) {}

  Sample measure(const Point& point, int repetition) {
    if (point.channel != Channel::none) bind(point.thread_node);
    Sample sample;
    sample.point = point;
    sample.repetition = repetition;
    const std::chrono::milliseconds duration(options_.duration_ms);
    const auto end = point.cores > 0 ? team_.start(point, duration) : Clock::now() + duration;
    counters_.start();
    if (point.channel != Channel::none) set_communication(sample, link_.exchange(point, end));
    if (counters_.is_counting()) std::this_thread::sleep_until(end);
    sample.memory_mb_s = counters_.stop();
    if (point.cores > 0) {
      const TeamResult result = team_.finish();
      sample.computation_mb_s = result.rate;
      sample.core_mhz = result.core_mhz;
    }
    return sample;
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
  Counters counters_;
  int node_ = -1;  // that this thread is bound to
};

}  // namespace

MeasureOptions completed(MeasureOptions options) {
  const bool quick = options.extent.quick;
  if (options.repetitions == 0) {
    options.repetitions = quick ? kRepetitionsMin : 7;
    options.time_limit = std::chrono::minutes(3);
  }
  if (options.duration_ms == 0) options.duration_ms = quick ? 40 : 60;
  return options;
}

void make_measurements(const Host& host, Link& link, const std::vector<Point>& plan,
                       const MeasureOptions& options, DataFile& file) {
  Meter meter(host, link, options);
  const Progress progress(options.bar, plan.size() * static_cast<std::size_t>(options.repetitions));
  const Clock::time_point begin = Clock::now();
  std::size_t done = 0;
  for (int round = 0; round < options.repetitions; ++round) {
    for (const Point& point : plan) {
      progress.show(done++, point);
      if (file.repetitions(point) > round) continue;
      const bool is_wanted = round < kRepetitionsMin || !options.time_limit ||
                             Clock::now() - begin < *options.time_limit;
      if (!is_wanted) return;
      file.add(meter.measure(point, round));
    }
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

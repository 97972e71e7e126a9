// Cost of a recorded event, of a probe that is off, and of a bare time stamp and store; and the
// time of tasks of a given duration with four events each, in threads that do nothing else.

#include <shoal/trace.hpp>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/result.hpp"
#include "env/ticks.hpp"
#include "trace/recorder.hpp"
#include "traces/event_cost.hpp"

namespace {

using shoal::env::TickSource;
using traces::Options;

void probes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) shoal::trace::task_ended(i);
}

/// Stores 24 bytes for each event, with the time that read() gives.
template <class Read>
void bare_stores(std::uint64_t count, const Read& read) {
  constexpr std::size_t kSlots = 65'536;
  static thread_local std::vector<std::array<std::uint64_t, 3>> slots(kSlots);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& slot = slots[i % kSlots];
    slot = {read(), i, 7};
    __asm__ volatile("" : : "r"(&slot) : "memory");
  }
}

void ticks(std::uint64_t count) {
  const TickSource source = shoal::env::tick_source();
  bare_stores(count, [source] { return shoal::env::read_ticks(source); });
}

void clock_gettimes(std::uint64_t count) {
  bare_stores(count, [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
    return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
  });
}

/// Time of a task, in nanoseconds: the caller runs `count` of them, `us` of computing each.
double task_ns(std::uint64_t count, std::int64_t us) {
  const TickSource source = shoal::env::tick_source();
  const shoal::env::TickSample begin = shoal::env::sample_ticks(source);
  while (shoal::env::monotonic_raw_ns() - begin.raw_ns < 1'000'000) {
  }
  const shoal::env::TickSample end = shoal::env::sample_ticks(source);
  const double ticks_each = 1000.0 * static_cast<double>(us) *
                            static_cast<double>(end.ticks - begin.ticks) /
                            static_cast<double>(end.raw_ns - begin.raw_ns);
  const auto wait = static_cast<std::uint64_t>(ticks_each);
  const double before_ns = traces::now_ns();
  for (std::uint64_t i = 1; i <= count; ++i) {
    shoal::trace::task_created(i, 0, 0);
    shoal::trace::task_ready(i, 0);
    shoal::trace::task_started(i, 0, 0);
    const std::uint64_t started = shoal::env::read_ticks(source);
    while (shoal::env::read_ticks(source) - started < wait) {
    }
    shoal::trace::task_ended(i);
  }
  return (traces::now_ns() - before_ns) / static_cast<double>(count);
}

shoal::trace::Options recording(const Options& options) {
  shoal::trace::Options recorded;
  recorded.path = options.file.empty() ? "/dev/shm/shoal_trace_events." + std::to_string(getpid())
                                       : options.file;
  if (options.form == "held") {  // nothing is written meanwhile
    recorded.buffer_bytes = std::size_t{512} << 20U;
    constexpr std::size_t kShares = 64;  // a thread gets a 32nd of what is left
    recorded.memory_bytes = kShares * recorded.buffer_bytes;
    recorded.flush_ns = 1'000'000'000'000;
  }
  return recorded;
}

double measure(const Options& options) {
  if (options.kernel == "event") {
    const bool is_bare = options.form == "stamp" || options.form == "clock";
    if (is_bare) return ns_per_event(options, options.form == "stamp" ? ticks : clock_gettimes);
    return ns_per_event(options, probes);
  }
  if (options.kernel != "task") throw std::invalid_argument("the kernel is event or task");
  constexpr std::int64_t kUsPerSecond = 1'000'000;
  const std::int64_t count = options.tasks > 0 ? options.tasks : kUsPerSecond / options.us;
  return traces::slowest_of(options.threads,
                            [&] { return task_ns(static_cast<std::uint64_t>(count), options.us); });
}

int run(const Options& options) {
  bench::limit_time(options.run);
  std::optional<shoal::trace::Recorder> recorder;
  const bool records = options.form == "on" || options.form == "held";
  if (records) recorder.emplace(recording(options));
  const double ns = measure(options);
  std::uint64_t dropped = 0;
  if (recorder.has_value()) {
    const std::string path = recorder->path();
    recorder->finish();
    dropped = recorder->drops().total();
    if (options.file.empty()) std::filesystem::remove(path);
  }
  return bench::finish({options.kernel,
                        "shoal",
                        {{"ns", ns}, {"dropped", dropped}},
                        {{"form", options.form},
                         {"threads", options.threads},
                         {"us", options.us},
                         {"events", options.events}}},
                       dropped == 0);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const bench::Program program{"trace_events", "Cost of events of shoal's traces.",
                               [&](cli::App& app) { traces::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}

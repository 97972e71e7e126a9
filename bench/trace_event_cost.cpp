// Cost of a recorded event, of a probe that is off, and of a bare time stamp and store; and how
// much longer threads take that do nothing but run tasks of a given duration with four events each.
//
//   bench/trace_event_cost [FILE]     FILE: where the trace goes; default: a file in /dev/shm

#include <shoal/env/ticks.hpp>
#include <shoal/trace/recorder.hpp>
#include <shoal/trace/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace {

using shoal::env::monotonic_raw_ns;
using shoal::env::TickSource;

constexpr int kRounds = 41;
constexpr std::uint64_t kBurst = 50'000;  // events: less than a buffer holds

double ns_each(const std::function<void(std::uint64_t)>& burst) {
  const std::uint64_t before = monotonic_raw_ns();
  burst(kBurst);
  return static_cast<double>(monotonic_raw_ns() - before) / static_cast<double>(kBurst);
}

/// Median over rounds, with pauses in which the writer empties the buffer.
double median_ns(const std::function<void(std::uint64_t)>& burst) {
  std::vector<double> all;
  for (int i = 0; i < kRounds; ++i) {
    all.push_back(ns_each(burst));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void probes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) shoal::trace::task_ended(i);
}

void bare_stores(std::uint64_t count) {
  constexpr std::size_t kSlots = 65'536;
  static thread_local std::vector<std::array<std::uint64_t, 3>> slots(kSlots);
  const TickSource source = shoal::env::tick_source();
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& slot = slots[i % kSlots];
    slot = {shoal::env::read_ticks(source), i, 7};
    __asm__ volatile("" : : "r"(&slot) : "memory");
  }
}

/// Wall time of a task, in nanoseconds: a thread runs `count` of them, `ns` of computing each.
double task_ns(std::uint64_t count, double ns) {
  const TickSource source = shoal::env::tick_source();
  const shoal::env::TickSample begin = shoal::env::sample_ticks(source);
  while (monotonic_raw_ns() - begin.raw_ns < 1'000'000) {
  }
  const shoal::env::TickSample end = shoal::env::sample_ticks(source);
  const double ticks_each = ns * static_cast<double>(end.ticks - begin.ticks) /
                            static_cast<double>(end.raw_ns - begin.raw_ns);
  const auto wait = static_cast<std::uint64_t>(ticks_each);
  const std::uint64_t before = monotonic_raw_ns();
  for (std::uint64_t i = 1; i <= count; ++i) {
    shoal::trace::task_created(i, 0, 0);
    shoal::trace::task_ready(i, 0);
    shoal::trace::task_started(i, 0, 0);
    const std::uint64_t started = shoal::env::read_ticks(source);
    while (shoal::env::read_ticks(source) - started < wait) {
    }
    shoal::trace::task_ended(i);
  }
  return static_cast<double>(monotonic_raw_ns() - before) / static_cast<double>(count);
}

double mean_task_ns(std::size_t thread_count, double ns) {
  constexpr double kRunNs = 1e9;
  std::vector<double> all(thread_count);
  std::vector<std::thread> threads;
  threads.reserve(thread_count);
  for (double& one : all) {
    threads.emplace_back(
        [&one, ns] { one = task_ns(static_cast<std::uint64_t>(kRunNs / ns), ns); });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double one : all) sum += one;
  return sum / static_cast<double>(thread_count);
}

/// Prints how much longer tasks take while they are recorded.
void compare(const shoal::trace::Options& options, std::size_t threads, double ns,
             const char* how) {
  constexpr int kPairs = 5;
  std::vector<double> ratios;
  std::uint64_t dropped = 0;
  for (int i = 0; i < kPairs; ++i) {
    const double off = mean_task_ns(threads, ns);
    shoal::trace::Recorder recorder(options);
    ratios.push_back(mean_task_ns(threads, ns) / off);
    recorder.finish();
    dropped += recorder.drops().total();
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print(
      "{} threads, tasks of {:.0f} us, {}: {:.3f} times as long ({:.3f} to {:.3f}); "
      "dropped {}\n",
      threads, ns / 1000, how, ratios[kPairs / 2], ratios.front(), ratios.back(), dropped);
}

}  // namespace

int main(int argc, char** argv) {
  const double off_ns = median_ns(probes);
  const double bare_ns = median_ns(bare_stores);
  shoal::trace::Options options;
  options.path = argc > 1 ? argv[1] : "/dev/shm/trace_event_cost.part0";
  shoal::trace::Recorder recorder(options);
  const double one_ns = median_ns(probes);
  std::array<double, 2> two_ns{};
  {
    std::vector<std::thread> threads;
    threads.reserve(two_ns.size());
    for (double& ns : two_ns) threads.emplace_back([&ns] { ns = median_ns(probes); });
    for (std::thread& thread : threads) thread.join();
  }
  recorder.finish();
  fmt::print("probe off {:.2f} ns; time stamp and store of 24 bytes {:.2f} ns\n", off_ns, bare_ns);
  fmt::print("event, 1 thread {:.2f} ns; 2 threads {:.2f} and {:.2f} ns; dropped {}\n", one_ns,
             two_ns[0], two_ns[1], recorder.drops().total());
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    for (const double ns : {1e3, 1e4, 1e5}) compare(options, threads, ns, "recorded");
  }
  options.buffer_bytes = std::size_t{512} << 20U;  // hold all of it: nothing is written meanwhile
  options.memory_bytes = 2 * options.buffer_bytes;
  options.flush_ns = 1'000'000'000'000;
  compare(options, 2, 1e3, "recorded without flushes");
  return 0;
}

// Cost of a recorded event, of a probe that is off, and of a bare time stamp and store.
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
  return 0;
}

// How far apart two cores are: half the round trip of a cache line that they hand to each other.
//
//   core_distance [A B]    two processor numbers; the first two that this process may use
//
// Prints {"half_round_trip_ns": .., "class": ..}. Virtual cores can move between runs: results of
// different classes must not be compared.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kBatches = 16;
constexpr int kRoundTrips = 500;  // of one batch

// Typical values are 35 ns, 65 ns (100 ns on some machines) and 280 ns.
constexpr double kHyperThreadsMax_ns = 48;
constexpr double kNearMax_ns = 150;

// Odd values are written by the first core, even ones by the second.
struct alignas(128) Line {
  std::atomic<int> value{0};

  // The line's own value is all that the cores tell each other; acquire and release as in any
  // hand-over.
  void wait_until(int wanted) const {
    while (value.load(std::memory_order_acquire) != wanted) {
    }
  }
  void write(int next) { value.store(next, std::memory_order_release); }
};

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    throw std::runtime_error("this process may not use processor " + std::to_string(cpu));
  }
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

double batch_half_round_trip_ns(Line& line, int first) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = first; i < first + kRoundTrips; ++i) {
    line.write(2 * i + 1);
    line.wait_until(2 * i + 2);
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / (2.0 * kRoundTrips);
}

// The lower quartile of the batches: what else runs on the machine only adds to them.
double half_round_trip_ns(int cpu, int other) {
  Line line;
  pin_to(other);  // a processor that may not be used is an error of this thread; the partner
  std::thread partner([&line] {  // inherits the place
    for (int i = 0; i < (kBatches + 1) * kRoundTrips; ++i) {
      line.wait_until(2 * i + 1);
      line.write(2 * i + 2);
    }
  });
  pin_to(cpu);
  batch_half_round_trip_ns(line, 0);  // the partner starts meanwhile
  std::array<double, kBatches> times{};
  int first = kRoundTrips;
  for (double& time : times) {
    time = batch_half_round_trip_ns(line, first);
    first += kRoundTrips;
  }
  partner.join();
  std::sort(times.begin(), times.end());
  return times[kBatches / 4];
}

const char* class_of(double ns) {
  if (ns <= kHyperThreadsMax_ns) return "hyper-threads";
  return ns <= kNearMax_ns ? "near" : "far";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<int> cpus = allowed_cpus();
    if (argc == 3) cpus = {std::stoi(argv[1]), std::stoi(argv[2])};
    if (cpus.size() < 2 || cpus[0] == cpus[1]) {
      std::puts(R"({"half_round_trip_ns": 0, "class": "one core"})");
      return 0;
    }
    pin_to(cpus[0]);
    const double ns = half_round_trip_ns(cpus[0], cpus[1]);
    std::printf("{\"half_round_trip_ns\": %.1f, \"class\": \"%s\"}\n", ns, class_of(ns));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "core_distance: %s\n", error.what());
    return 1;
  }
}

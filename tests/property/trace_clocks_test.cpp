// Clocks that are seconds apart, drift and jitter, with times that are known.

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "trace/clocks.hpp"

namespace trace_clocks_test {

using namespace shoal::trace;  // NOLINT(google-build-using-namespace): what is tested
using shoal::env::TickSample;
using ::testing::HasSubstr;

constexpr double kSecond = 1e9;

/// Clock of a made-up machine, as a function of the true time in nanoseconds.
struct TrueClock {
  double offset_ns = 0;
  double drift = 0;   // constant part
  double wander = 0;  // amplitude of a drift that changes slowly
  double wander_period_ns = 120 * kSecond;
  double ticks_per_ns = 1;

  [[nodiscard]] double raw_ns(double t) const {
    const double phase = 2 * std::numbers::pi / wander_period_ns;
    return offset_ns + t * (1 + drift) + wander / phase * (1 - std::cos(phase * t));
  }
  [[nodiscard]] std::uint64_t ticks(double t) const {
    return static_cast<std::uint64_t>(std::llround(raw_ns(t) * ticks_per_ns));
  }
};

struct World {
  double duration_ns = 60 * kSecond;
  double latency_ns = 1500;
  double jitter_ns = 2000;  // exponential, each way for itself
  double asymmetry_ns = 0;  // that no protocol can see
  int ping_pongs = 50;
  std::vector<double> sync_at;  // true times
  std::vector<TrueClock> clocks;
  std::vector<int> parents;  // -1: root
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double exponential(double mean) {
    return mean <= 0 ? 0 : std::exponential_distribution<double>(1 / mean)(random_);
  }

 private:
  std::mt19937_64 random_;
};

TrueClock draw_clock(Draws& draws) {
  TrueClock clock;
  clock.offset_ns = draws.uniform(20, 100'000) * kSecond;  // uptimes
  clock.drift = draws.uniform(-50e-6, 50e-6);
  clock.ticks_per_ns = draws.uniform(1, 4);
  return clock;
}

std::vector<SyncPoint> measure(const World& world, std::size_t child, Draws& draws) {
  const auto parent = static_cast<std::size_t>(world.parents[child]);
  const TrueClock& here = world.clocks[parent];
  const TrueClock& there = world.clocks[child];
  std::vector<SyncPoint> points;
  for (double t : world.sync_at) {
    std::vector<PingPong> all;
    for (int i = 0; i < world.ping_pongs; ++i) {
      const double arrives =
          t + world.latency_ns + world.asymmetry_ns + draws.exponential(world.jitter_ns);
      const double returns = arrives + world.latency_ns + draws.exponential(world.jitter_ns);
      all.push_back({here.ticks(t), there.ticks(arrives), here.ticks(returns)});
      t = returns;
    }
    points.push_back(best_of(all, static_cast<std::uint32_t>(parent)));
  }
  return points;
}

std::vector<ProcessClock> record(const World& world, Draws& draws) {
  std::vector<ProcessClock> processes;
  for (std::size_t i = 0; i < world.clocks.size(); ++i) {
    const TrueClock& clock = world.clocks[i];
    ProcessClock process;
    process.process = static_cast<std::uint32_t>(i);
    for (double t = 0; t <= world.duration_ns; t += kSecond) {
      const double error_ns = draws.uniform(-10, 10);
      process.samples.push_back({clock.ticks(t + error_ns),
                                 static_cast<std::uint64_t>(clock.raw_ns(t)),
                                 static_cast<std::uint64_t>(10 * clock.ticks_per_ns)});
    }
    if (world.parents[i] >= 0) process.sync = measure(world, i, draws);
    processes.push_back(std::move(process));
  }
  return processes;
}

/// The largest difference between what two processes call a moment, from `begin` to `end`.
double largest_error_ns(const World& world, const Agreement& agreement, double begin, double end) {
  double largest = 0;
  for (int i = 0; i <= 200; ++i) {
    const double t = begin + (end - begin) * i / 200;
    std::int64_t low = agreement.maps[0](world.clocks[0].ticks(t));
    std::int64_t high = low;
    for (std::size_t p = 1; p < world.clocks.size(); ++p) {
      const std::int64_t time = agreement.maps[p](world.clocks[p].ticks(t));
      low = std::min(low, time);
      high = std::max(high, time);
    }
    largest = std::max(largest, static_cast<double>(high - low));
  }
  return largest;
}

World draw_world(std::size_t processes, Draws& draws) {
  World world;
  for (std::size_t i = 0; i < processes; ++i) {
    world.clocks.push_back(draw_clock(draws));
    world.parents.push_back(i == 0 ? -1 : static_cast<int>((i - 1) / 2));
  }
  return world;
}

TEST(TraceClocks, BestOf_TakesTheFastestRoundTrip) {
  const std::vector<PingPong> all = {{100, 1000, 200}, {300, 1180, 320}, {400, 1300, 500}};
  const SyncPoint point = best_of(all, 7);
  EXPECT_EQ(point.reference_ticks, 310U);
  EXPECT_EQ(point.local_ticks, 1180U);
  EXPECT_EQ(point.uncertainty_ticks, 10U);
  EXPECT_EQ(point.reference, 7U);
  EXPECT_THROW(static_cast<void>(best_of({}, 0)), shoal::CheckError);
  const std::vector<PingPong> backwards = {{100, 1000, 99}};
  EXPECT_THROW(static_cast<void>(best_of(backwards, 0)), shoal::CheckError);
}

TEST(TraceClocks, Barrier_IsLeftAtOneMomentWhateverIsPreempted) {
  Draws draws(1);
  for (int round = 0; round < 100; ++round) {
    World world = draw_world(2, draws);
    world.parents = {-1, 0};
    world.sync_at = {kSecond};
    const SyncPoint point = measure(world, 1, draws).front();
    const double ratio = world.clocks[1].ticks_per_ns / world.clocks[0].ticks_per_ns;
    WindowBarrier barrier(static_cast<std::uint64_t>(1e5 * world.clocks[0].ticks_per_ns));
    double now = 1.001 * kSecond;
    std::uint64_t local = 0;
    std::uint64_t reference = 0;
    bool is_done = false;
    while (!is_done) {  // the news takes 1 ms: rounds are missed until the window is long enough
      reference = barrier.choose(world.clocks[0].ticks(now));
      local = WindowBarrier::local_deadline(point, ratio, reference);
      now += 1e6;
      is_done = barrier.end_round(WindowBarrier::missed(world.clocks[1].ticks(now), local) ? 1 : 0);
    }
    EXPECT_EQ(barrier.rounds(), 5);  // 0.1, 0.2, 0.4, 0.8, 1.6 ms
    // The true times of both deadlines, from the inverse of the clocks.
    const auto true_ns = [](const TrueClock& clock, std::uint64_t ticks) {
      return (static_cast<double>(ticks) / clock.ticks_per_ns - clock.offset_ns) /
             (1 + clock.drift);
    };
    // 4 ms at 100 ppm of drift, plus the uncertainty of the ping-pong.
    EXPECT_NEAR(true_ns(world.clocks[0], reference), true_ns(world.clocks[1], local), 2000);
  }
}

TEST(TraceClocks, OneSyncPoint_IsRightThereAndDriftsAway) {
  Draws draws(2);
  World world = draw_world(2, draws);
  world.clocks[0].drift = 25e-6;
  world.clocks[1].drift = -25e-6;
  world.sync_at = {10 * kSecond};
  const Agreement agreement = agree(record(world, draws));
  EXPECT_LT(largest_error_ns(world, agreement, 10 * kSecond, 10.001 * kSecond), 1000);
  EXPECT_GT(largest_error_ns(world, agreement, 30 * kSecond, 31 * kSecond), 500'000);
}

TEST(TraceClocks, LinearDrift_TwoPointsAreEnough) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed);
    World world = draw_world(4, draws);
    world.sync_at = {0.01 * kSecond, 59.9 * kSecond};
    const Agreement agreement = agree(record(world, draws));
    const double error_ns = largest_error_ns(world, agreement, 0.02 * kSecond, 59.9 * kSecond);
    // Depth 2, and each step at both ends is off by half the jitter of the fastest of 50 round
    // trips: far below a microsecond.
    ASSERT_LT(error_ns, 1000) << "seed " << seed;
    const auto worst =
        *std::max_element(agreement.uncertainty_ns.begin(), agreement.uncertainty_ns.end());
    ASSERT_LT(error_ns, 2.0 * static_cast<double>(worst)) << "seed " << seed;
  }
}

TEST(TraceClocks, DriftThatChanges_NeedsMorePoints) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draws draws(seed);
    World world = draw_world(4, draws);
    for (TrueClock& clock : world.clocks) clock.wander = draws.uniform(0.5e-6, 1e-6);
    world.clocks[1].wander = -1e-6;
    world.duration_ns = 300 * kSecond;
    world.sync_at = {0.01 * kSecond, 299 * kSecond};
    const Agreement two = agree(record(world, draws));
    world.sync_at.clear();
    for (double t = 0.01; t < 300; t += 2) world.sync_at.push_back(t * kSecond);
    const Agreement many = agree(record(world, draws));
    const double end = 298 * kSecond;
    const double error_ns = largest_error_ns(world, many, kSecond, end);
    ASSERT_LT(error_ns, 1500) << "seed " << seed;
    ASSERT_LT(error_ns, largest_error_ns(world, two, kSecond, end) / 5) << "seed " << seed;
  }
}

/// The rounds from `begin` to `end` met busy workers: long trips, each way for itself.
std::vector<ProcessClock> record_under_load(World world, double begin, double end, Draws& draws) {
  std::vector<ProcessClock> processes = record(world, draws);
  world.jitter_ns = 200'000;
  world.ping_pongs = 8;
  world.sync_at.clear();
  for (double t = begin; t < end; t += 2 * kSecond) world.sync_at.push_back(t);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (world.parents[i] < 0) continue;
    const std::vector<SyncPoint> points = measure(world, i, draws);
    processes[i].sync.insert(processes[i].sync.end(), points.begin(), points.end());
  }
  return processes;
}

TEST(TraceClocks, PointsUnderLoad_CountOnlyWhereTheyContradict) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(seed);
    World world = draw_world(4, draws);
    world.sync_at = {0.01 * kSecond, 59.9 * kSecond};
    const Agreement steady = agree(record_under_load(world, 2 * kSecond, 58 * kSecond, draws));
    // A point counts as certain up to four times the uncertainty of the best one, about 1.6 us.
    ASSERT_LT(largest_error_ns(world, steady, 0.02 * kSecond, 59.9 * kSecond), 7000)
        << "seed " << seed;
    // A clock that changes its rate by much is far off in the middle without them.
    world.clocks[1].wander = 50e-6;
    const Agreement followed = agree(record_under_load(world, 2 * kSecond, 58 * kSecond, draws));
    const Agreement ends_only = agree(record(world, draws));
    const double error_ns = largest_error_ns(world, followed, kSecond, 59 * kSecond);
    ASSERT_LT(error_ns, 0.8 * largest_error_ns(world, ends_only, kSecond, 59 * kSecond))
        << "seed " << seed;
  }
}

TEST(TraceClocks, AnEndUnderLoad_IsAsUncertainAsItIs) {
  double least_ns = 1e9;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(seed);
    World world = draw_world(2, draws);
    world.sync_at = {0.01 * kSecond};
    const Agreement agreement =
        agree(record_under_load(world, 59.8 * kSecond, 60 * kSecond, draws));
    const auto allowed_ns = static_cast<double>(agreement.uncertainty_ns[1]);
    const double error_ns = largest_error_ns(world, agreement, 0.02 * kSecond, 59.8 * kSecond);
    ASSERT_LT(error_ns, allowed_ns + 100) << "seed " << seed;
    least_ns = std::min(least_ns, allowed_ns);
  }
  EXPECT_GT(least_ns, 5000);  // a certain begin does not hide it
}

TEST(TraceClocks, TreeOf64Processes_ErrorsAddAlongIt) {
  Draws draws(3);
  World world = draw_world(64, draws);
  world.sync_at = {0.01 * kSecond, 30 * kSecond, 59.9 * kSecond};
  const Agreement agreement = agree(record(world, draws));
  EXPECT_LT(largest_error_ns(world, agreement, 0.02 * kSecond, 59 * kSecond), 6 * 400);
  EXPECT_TRUE(agreement.unsynchronized.empty());
}

TEST(TraceClocks, InterruptedSamples_AreLeftOut) {
  Draws draws(4);
  World world = draw_world(2, draws);
  world.sync_at = {0.01 * kSecond, 20 * kSecond, 40 * kSecond, 59.9 * kSecond};
  std::vector<ProcessClock> processes = record(world, draws);
  TickSample& sample = processes[0].samples[30];
  sample.ticks += 3'000'000;  // preempted for a millisecond
  sample.uncertainty_ticks += 3'000'000;
  SyncPoint& point = processes[1].sync[1];
  point.local_ticks += 3'000'000;
  point.uncertainty_ticks += 4 * 3'000'000;  // the reference's ticks are shorter
  EXPECT_LT(largest_error_ns(world, agree(processes), 0.02 * kSecond, 59 * kSecond), 1000);
}

TEST(TraceClocks, RandomMaps_ComposeExactly) {
  Draws draws(5);
  for (int round = 0; round < 500; ++round) {
    const auto draw = [&draws](std::uint64_t from, double slope) {
      std::vector<TimeMap::Knot> knots;
      double to = 1e15;
      for (int i = 0; i < 5; ++i) {
        knots.push_back({from, static_cast<std::int64_t>(to)});
        const double step = draws.uniform(1e6, 1e10);
        from += static_cast<std::uint64_t>(step);
        to += step * slope * draws.uniform(0.9999, 1.0001);
      }
      return TimeMap(knots, slope);
    };
    const double slope = draws.uniform(0.25, 1);
    const TimeMap first = draw(static_cast<std::uint64_t>(draws.uniform(1e15, 4e15)), slope);
    const TimeMap second = draw(1'000'005'000'000'000U, 1);
    const TimeMap both = first.followed_by(second);
    for (int i = 0; i < 50; ++i) {
      const auto from = first.knots().front().from - 1'000'000'000 +
                        static_cast<std::uint64_t>(draws.uniform(0, 6e10));
      ASSERT_LE(std::abs(both(from) - second(static_cast<std::uint64_t>(first(from)))), 3);
    }
    for (std::size_t i = 1; i < both.knots().size(); ++i) {
      ASSERT_GT(both.knots()[i].to, both.knots()[i - 1].to);
    }
  }
}

TEST(TraceClocks, ProcessesOfOneHost_ShareItsClock) {
  std::vector<ProcessClock> processes(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    processes[i].process = i;
    processes[i].clock = ClockKind::monotonic_raw;
    processes[i].host = i < 2 ? "a" : "b";
  }
  const Agreement agreement = agree(processes);
  EXPECT_EQ(agreement.maps[1](500), 500);
  EXPECT_EQ(agreement.unsynchronized, std::vector<std::uint32_t>{2});
}

TEST(TraceClocks, Refusals_SayWhatIsMissing) {
  std::vector<ProcessClock> processes(2);
  processes[1].process = 1;
  const auto error_of = [&processes]() -> std::string {
    try {
      static_cast<void>(agree(processes));
    } catch (const shoal::Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error_of(), HasSubstr("no two samples"));
  for (ProcessClock& one : processes) one.clock = ClockKind::monotonic_raw;
  processes[1].sync = {{5, 5, 0, 9, 0}};
  EXPECT_THAT(error_of(), HasSubstr("process 1 was compared with that of process 9"));
  processes[0].sync = {{5, 5, 0, 1, 0}};
  EXPECT_THAT(error_of(), HasSubstr("no clock is the reference"));
  processes.emplace_back();
  processes[2].process = 2;
  processes[2].clock = ClockKind::monotonic_raw;
  processes[1].sync = {{5, 5, 0, 0, 0}};
  EXPECT_THAT(error_of(), HasSubstr("in a circle"));
}

TEST(TraceClocks, Causality_FindsTheWorstMessageInAnyOrder) {
  CausalityCheck check;
  check.sent(1, 100);
  check.received(1, 150);
  check.received(2, 190);  // before it was sent
  check.sent(2, 200);
  check.sent(3, 400);
  check.received(3, 370);
  check.sent(4, 500);
  check.received(5, 500);
  check.received(5, 501);
  EXPECT_EQ(check.matched(), 3U);
  EXPECT_EQ(check.violations(), 2U);
  EXPECT_EQ(check.largest_violation_ns(), 30);
  EXPECT_EQ(check.worst_message(), 3U);
  EXPECT_EQ(check.sent_only(), 1U);
  EXPECT_EQ(check.received_only(), 1U);
}

}  // namespace trace_clocks_test

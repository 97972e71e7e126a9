// Transport of particles: each particle has the same history whatever tracks it, and ends once.

#include <shoal/memory.hpp>

#include "ebms/physics.hpp"
#include "ebms/transport.hpp"
#include "runtime/simulated_world.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace apps_ebms_history_test {

using ebms::Options;
using ebms::Particle;
using ebms::Tally;
using testing::HasSubstr;

/// A particle behind a band.
struct Visit {
  int band = 0;
  std::uint64_t draws = 0;
  double energy = 0;
  bool has_left = false;
  friend bool operator==(const Visit&, const Visit&) = default;
};
/// By the number of the particle, in the order in which they are seen.
using Histories = std::map<std::uint64_t, std::vector<Visit>>;

/// Each particle alone, from its start to its end.
Histories histories_alone(const Options& options) {
  Histories histories;
  Tally tally;
  for (const Particle& start : ebms::particles_of(options, 0, 1)) {
    Particle particle = start;
    bool has_left = true;
    for (int band = 0; band < options.bands && has_left; ++band) {
      std::vector<double> data;
      for (std::size_t i = 0; i < options.points; ++i) data.push_back(ebms::absorption_at(band, i));
      has_left = track(particle, band, options, data, tally);
      histories[particle.id].push_back({band, particle.draws, particle.energy, has_left});
    }
  }
  return histories;
}

/// Tasks of several ranks of a process add to it.
class Recorder {
 public:
  [[nodiscard]] ebms::Observer observer() {
    return [this](const Particle& particle, int band, bool has_left) {
      const std::lock_guard lock(mutex_);
      histories_[particle.id].push_back({band, particle.draws, particle.energy, has_left});
    };
  }
  [[nodiscard]] const Histories& histories() const { return histories_; }

 private:
  std::mutex mutex_;
  Histories histories_;
};

/// The first particle that is missing or has another history, and where it differs; else empty.
std::string difference(const Histories& found, const Histories& expected) {
  for (const auto& [id, visits] : found) {
    if (!expected.contains(id)) return fmt::format("particle {} does not exist", id);
  }
  for (const auto& [id, visits] : expected) {
    const auto it = found.find(id);
    if (it == found.end()) return fmt::format("particle {} was not tracked", id);
    for (std::size_t i = 0; i < visits.size() || i < it->second.size(); ++i) {
      if (i >= it->second.size()) return fmt::format("particle {} is lost behind band {}", id, i);
      if (i >= visits.size()) return fmt::format("particle {} is tracked after its end", id);
      if (it->second[i] != visits[i]) return fmt::format("particle {} differs in band {}", id, i);
    }
  }
  return "";
}

/// Every particle ends once, and the numbers are those of the ends.
void expect_conserved(const Histories& histories, const Tally& tally, const Options& options) {
  std::uint64_t slowed_down = 0;
  std::uint64_t ends = 0;
  for (const auto& [id, visits] : histories) {
    const Visit& last = visits.back();
    if (last.has_left) ++slowed_down;
    EXPECT_TRUE(!last.has_left || last.band + 1 == options.bands) << id;
    ends +=
        ebms::end_hash({id, last.draws, last.energy}, last.has_left ? options.bands : last.band);
  }
  EXPECT_EQ(histories.size(), options.particles);
  EXPECT_EQ(tally.slowed_down, slowed_down);
  EXPECT_EQ(tally.absorbed + tally.slowed_down, options.particles);
  EXPECT_EQ(tally.ends, ends);
}

constexpr Options kOptions{.particles = 700, .bands = 7, .points = 60, .group = 40, .seed = 5};

TEST(EbmsHistory, OfEachParticle_IsTheSameForAllNumbersOfRanksAndBothVariants) {
  const Histories alone = histories_alone(kOptions);
  const Tally expected = ebms::transport_serially(kOptions);
  expect_conserved(alone, expected, kOptions);
  for (const int ranks : {1, 2, 3, 8}) {
    for (const bool prefetch : {false, true}) {
      SCOPED_TRACE(fmt::format("{} ranks, prefetch {}", ranks, prefetch));
      Options options = kOptions;
      options.prefetch = prefetch;
      options.group = static_cast<std::size_t>(40 / ranks) + 1;
      Recorder recorder;
      Tally tally;
      EXPECT_EQ(shoal::testing::run_world(ranks, 2,
                                          [&](shoal::World& world) {
                                            const auto result =
                                                transport(world, options, recorder.observer());
                                            if (world.rank() == 0) tally = result.tally;
                                          }),
                0);
      EXPECT_EQ(difference(recorder.histories(), alone), "");
      EXPECT_EQ(tally, expected);
    }
  }
}

// By messages, in all orders: cross sections arrive late, while the band before is tracked.
TEST(EbmsHistory, OfEachParticle_IsTheSameInSimulations) {
  const Histories alone = histories_alone(kOptions);
  for (int seed = 0; seed < shoal::testing::sized_on_one_thread(30, 8); ++seed) {
    auto config = shoal::testing::sim_config(1 + seed % 6, 2, static_cast<std::uint64_t>(seed));
    config.sim_order = seed % 2 == 0 ? shoal::sim::OrderKind::late : shoal::sim::OrderKind::uniform;
    Options options = kOptions;
    options.prefetch = seed % 3 != 0;
    Recorder recorder;
    shoal::runtime::SimulatedWorld simulation(config);
    simulation.run([&](shoal::World& world) {
      const auto result = transport(world, options, recorder.observer());
      expect_conserved(alone, result.tally, options);
      return 0;
    });
    EXPECT_EQ(difference(recorder.histories(), alone), "") << "seed " << seed;
  }
}

// Second approach of the paper, section 4.2: a task for each particle, from its start to its end,
// which asks for cross sections when it needs them. Bands are cached by LRU, and some have no room.
TEST(EbmsHistory, OfTasksThatLastAsLongAsTheirParticles_IsTheSameWithCachedBands) {
  using Band = std::vector<double>;
  const Histories alone = histories_alone(kOptions);
  std::uint64_t evictions = 0;  // of simulated ranks
  const auto run = [&](shoal::World& world, const ebms::Observer& observer) {
    shoal::GlobalMemory memory(world, {.name = "bands", .heap_bytes = 1U << 20U});
    shoal::GlobalVector<shoal::GlobalPtr<Band>> bands(
        memory,
        shoal::Distribution::cyclic(static_cast<std::size_t>(kOptions.bands), world.size()));
    for (std::size_t i = 0; i < bands.local().size(); ++i) {
      const auto band = static_cast<int>(bands.distribution().index(world.rank(), i));
      bands.local()[i] = memory.create<Band>();
      for (std::size_t k = 0; k < kOptions.points; ++k) {
        memory.local(bands.local()[i])->push_back(ebms::absorption_at(band, k));
      }
    }
    shoal::ObjectCache<Band, shoal::Lru> cache(memory, shoal::Lru(16 * kOptions.points + 100));
    world.barrier();
    std::vector<shoal::GlobalPtr<Band>> places(bands.size());
    bands.get(0, std::span(places));
    for (const Particle& start : ebms::particles_of(kOptions, world.rank().value(), world.size())) {
      world.spawn([&, start] {
        Particle particle = start;
        Tally tally;
        bool has_left = true;
        for (int band = 0; band < kOptions.bands && has_left; ++band) {
          const auto data = cache.get(places[static_cast<std::size_t>(band)]);
          has_left = track(particle, band, kOptions, *data, tally);
          observer(particle, band, has_left);
          shoal::yield();
        }
      });
    }
    world.wait();
    const shoal::CacheStatistics statistics = cache.statistics();
    EXPECT_GT(statistics.hits + statistics.misses, 5 * statistics.fetches);  // tasks share them
    world.barrier();
    for (const auto band : bands.local()) memory.destroy(band);
    return statistics.evictions;
  };
  Recorder recorder;
  const auto on_threads = [&](shoal::World& world) { run(world, recorder.observer()); };
  EXPECT_EQ(shoal::testing::run_world(3, 2, on_threads), 0);
  EXPECT_EQ(difference(recorder.histories(), alone), "");
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Recorder simulated;
    shoal::runtime::SimulatedWorld simulation(shoal::testing::sim_config(3, 2, seed));
    simulation.run([&](shoal::World& world) {
      evictions += run(world, simulated.observer());
      return 0;
    });
    EXPECT_EQ(difference(simulated.histories(), alone), "") << "seed " << seed;
  }
  EXPECT_GT(evictions, 0U);
}

TEST(EbmsHistory, PlantedDifferences_AreFoundAndNamed) {
  const Histories alone = histories_alone(kOptions);
  // Another random number in one collision of one particle.
  Histories planted = alone;
  planted[123].back().draws += 2;
  EXPECT_EQ(difference(planted, alone),
            fmt::format("particle 123 differs in band {}", alone.at(123).size() - 1));
  planted = alone;
  planted[17].pop_back();
  EXPECT_THAT(difference(planted, alone), HasSubstr("particle 17 "));
  planted = alone;
  planted[17].push_back(planted[17].back());
  EXPECT_EQ(difference(planted, alone), "particle 17 is tracked after its end");
  planted = alone;
  planted.erase(699);
  EXPECT_EQ(difference(planted, alone), "particle 699 was not tracked");
  planted[700] = alone.at(1);
  EXPECT_EQ(difference(planted, alone), "particle 700 does not exist");
}

// Two errors in one particle that leave all counts as they are.
TEST(EbmsHistory, TheTally_DiffersWhereOnlyOneParticleDoes) {
  const Particle particle{17, 9, 0.25};
  const std::uint64_t hash = ebms::end_hash(particle, 3);
  EXPECT_NE(ebms::end_hash({18, 9, 0.25}, 3), hash);
  EXPECT_NE(ebms::end_hash({17, 10, 0.25}, 3), hash);
  EXPECT_NE(ebms::end_hash({17, 9, 0.25 + 1e-16}, 3), hash);
  EXPECT_NE(ebms::end_hash(particle, 4), hash);
  Tally tally{100, 3, 4, hash};
  Tally other = tally;
  other.ends = ebms::end_hash({17, 10, 0.25}, 3);
  EXPECT_NE(tally, other);
}

}  // namespace apps_ebms_history_test

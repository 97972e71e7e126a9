#include "ebms/physics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/random_matrix.hpp"

namespace ebms {
namespace {

constexpr double kLossMax = 0.15;  // of its energy, in one collision

/// Uniform in [0, 1); depends on nothing but its arguments: one of a splitmix64 sequence.
double random_number(std::uint64_t seed, std::uint64_t id, std::uint64_t draw) {
  const std::uint64_t start = (seed * 0xD1342543DE82EF95U) ^ (id * 0xD6E8FEB86659FD93U);
  return static_cast<double>(apps::mix_bits(start + draw * 0x9E3779B97F4A7C15U) >> 11U) * 0x1p-53;
}

/// Lower end of a band: bands are equal in the logarithm of energy, over three decades.
double lower_end(int band, int bands) {
  return std::pow(10.0, -3.0 * static_cast<double>(band + 1) / bands);
}

}  // namespace

std::vector<Particle> particles_of(const Options& options, int index, int count) {
  const auto size = static_cast<std::uint64_t>(count);
  const auto me = static_cast<std::uint64_t>(index);
  std::vector<Particle> particles;
  for (std::uint64_t id = options.particles * me / size; id < options.particles * (me + 1) / size;
       ++id) {
    particles.push_back({id, 0, 1});
  }
  return particles;
}

double absorption_at(int band, std::size_t point) {
  // A few resonances: what matters is that a wrong value changes the tallies.
  const double x = static_cast<double>(band) + 0.01 * static_cast<double>(point % 997);
  return 0.02 + 0.05 * std::pow(std::sin(3 * x), 8);
}

bool track(Particle& particle, int band, const Options& options, std::span<const double> data,
           Tally& tally) {
  const double low = lower_end(band, options.bands);
  const double high = lower_end(band - 1, options.bands);
  const auto draw = [&] { return random_number(options.seed, particle.id, particle.draws++); };
  while (particle.energy > low) {
    ++tally.collisions;
    const double place = std::min((particle.energy - low) / (high - low), 1.0);
    const auto point = static_cast<std::size_t>(place * static_cast<double>(data.size() - 1));
    if (draw() < data[point]) {
      ++tally.absorbed;
      tally.ends += end_hash(particle, band);
      return false;
    }
    particle.energy *= 1 - kLossMax * draw();
  }
  return true;
}

std::uint64_t end_hash(const Particle& particle, int band) {
  std::uint64_t hash = apps::mix_bits(particle.id);
  hash = apps::mix_bits(hash ^ particle.draws);
  hash = apps::mix_bits(hash ^ std::bit_cast<std::uint64_t>(particle.energy));
  return apps::mix_bits(hash ^ static_cast<std::uint64_t>(band));
}

Tally transport_serially(const Options& options) {
  Tally tally;
  std::vector<std::vector<double>> data;
  for (int band = 0; band < options.bands; ++band) {
    for (std::size_t i = 0; i < options.points; ++i) {
      if (i == 0) data.emplace_back();
      data.back().push_back(absorption_at(band, i));
    }
  }
  for (std::uint64_t id = 0; id < options.particles; ++id) {
    Particle particle{id, 0, 1};
    int band = 0;
    while (band < options.bands &&
           track(particle, band, options, data[static_cast<std::size_t>(band)], tally)) {
      ++band;
    }
    if (band < options.bands) continue;
    ++tally.slowed_down;
    tally.ends += end_hash(particle, band);
  }
  return tally;
}

}  // namespace ebms

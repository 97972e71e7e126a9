#pragma once
// Particles of the transport, their random numbers, and cross sections: all but where the data is.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ebms {

struct Options {
  std::uint64_t particles = 20000;
  int bands = 12;
  std::size_t points = 5000;  // of the cross sections in a band
  std::size_t group = 200;    // particles of one task
  bool prefetch = false;      // of the next band, while this one is tracked
  std::uint64_t seed = 1;
};

/// Whole numbers: their sums do not depend on an order.
struct Tally {
  std::uint64_t collisions = 0;
  std::uint64_t absorbed = 0;
  std::uint64_t slowed_down = 0;  // below the lowest band
  std::uint64_t ends = 0;         // sum of the hashes of particles at their ends: see end_hash()
  friend bool operator==(const Tally&, const Tally&) = default;
};

/// Energy falls from 1; a band is a part of that range.
struct Particle {
  std::uint64_t id = 0;
  std::uint64_t draws = 0;  // random numbers that it has used
  double energy = 1;
};

/// Particles of part `index` of `count`, at their start.
[[nodiscard]] std::vector<Particle> particles_of(const Options& options, int index, int count);

/// Cross section at a point of a band's grid: the share of collisions that absorb.
[[nodiscard]] double absorption_at(int band, std::size_t point);

/// Tracks a particle until it is absorbed or leaves the band at its lower end. True: it has left.
bool track(Particle& particle, int band, const Options& options, std::span<const double> data,
           Tally& tally);

/// Hash of a particle that is absorbed in a band, or has left the last one. Its energy and its
/// random numbers depend on all its collisions.
[[nodiscard]] std::uint64_t end_hash(const Particle& particle, int band);

/// All of it on one rank.
[[nodiscard]] Tally transport_serially(const Options& options);

}  // namespace ebms

#include "ebms/transport.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

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

class Transport {
 public:
  Transport(shoal::World& world, const Options& options)
      : world_(world),
        options_(options),
        memory_(world, {.name = "cross sections"}),
        sections_(memory_, options.points * static_cast<std::size_t>(options.bands),
                  shoal::VectorDistribution::block_cyclic(options.points)),
        tally_(memory_.collective_allocate<std::uint64_t>(3).on(shoal::Rank(0))) {
    for (int band = 0; band < options.bands; ++band) {
      if (sections_.owner(first_of(band)) != world.rank()) continue;
      for (std::size_t i = 0; i < options.points; ++i) {
        sections_.local()[sections_.local_index(first_of(band) + i)] = absorption_at(band, i);
      }
    }
    const auto size = static_cast<std::uint64_t>(world.size());
    const auto me = static_cast<std::uint64_t>(world.rank().value());
    for (std::uint64_t id = options.particles * me / size; id < options.particles * (me + 1) / size;
         ++id) {
      particles_.push_back({id, 0, 1});
    }
    world.barrier();
  }

  Result run() {
    const std::uint64_t begin = world_.now_ns();
    std::uint64_t waited = 0;
    std::vector<double> data(options_.points);
    std::vector<double> next(options_.points);
    shoal::Transfer transfer = fetch(0, data);
    for (int band = 0; band < options_.bands; ++band) {
      const std::uint64_t before = world_.now_ns();
      transfer.wait();
      waited += world_.now_ns() - before;
      const bool more = band + 1 < options_.bands;
      if (more && options_.prefetch) transfer = fetch(band + 1, next);
      track_all(band, data);
      if (more && !options_.prefetch) transfer = fetch(band + 1, next);
      std::swap(data, next);
    }
    for (const Particle& particle : particles_) {
      if (particle.energy > 0) ++sum_.slowed_down;
    }
    Result result;
    result.tally = add_up();
    result.seconds = static_cast<double>(world_.now_ns() - begin) * 1e-9;
    result.waiting = world_.allreduce(static_cast<double>(waited) * 1e-9, std::plus<>()) /
                     static_cast<double>(world_.size());
    return result;
  }

 private:
  [[nodiscard]] std::size_t first_of(int band) const {
    return static_cast<std::size_t>(band) * options_.points;
  }
  [[nodiscard]] shoal::Transfer fetch(int band, std::vector<double>& to) {
    return memory_.get_async(sections_[first_of(band)], std::span(to));
  }

  /// Tasks track groups of particles; those that are absorbed are taken out.
  void track_all(int band, const std::vector<double>& data) {
    shoal::TaskGroup group;
    const std::size_t groups = (particles_.size() + options_.group - 1) / options_.group;
    std::vector<Tally> tallies(groups);
    for (std::size_t g = 0; g < groups; ++g) {
      group.spawn([this, band, g, &data, &tallies] {
        const std::size_t end = std::min(particles_.size(), (g + 1) * options_.group);
        for (std::size_t i = g * options_.group; i < end; ++i) {
          if (!track(particles_[i], band, options_, data, tallies[g])) particles_[i].energy = 0;
        }
      });
    }
    group.wait();
    std::erase_if(particles_, [](const Particle& particle) { return particle.energy == 0; });
    for (const Tally& tally : tallies) {
      sum_.collisions += tally.collisions;
      sum_.absorbed += tally.absorbed;
    }
  }

  /// Every rank adds its numbers to those on rank 0.
  Tally add_up() {
    memory_.add_async(tally_, sum_.collisions);
    memory_.add_async(tally_ + 1, sum_.absorbed);
    memory_.add_async(tally_ + 2, sum_.slowed_down);
    memory_.quiet();
    world_.barrier();
    std::vector<std::uint64_t> all(3);
    memory_.get(tally_, std::span(all));
    return {all[0], all[1], all[2]};
  }

  shoal::World& world_;
  const Options options_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<double> sections_;
  const shoal::GlobalPtr<std::uint64_t> tally_;
  std::vector<Particle> particles_;
  Tally sum_;
};

}  // namespace

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
      return false;
    }
    particle.energy *= 1 - kLossMax * draw();
  }
  return true;
}

Result transport(shoal::World& world, const Options& options) {
  return Transport(world, options).run();
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
    if (band == options.bands) ++tally.slowed_down;
  }
  return tally;
}

}  // namespace ebms

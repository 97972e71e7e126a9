#include "ebms/transport.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace ebms {
namespace {

class Transport {
 public:
  Transport(shoal::World& world, const Options& options, const Observer& observer)
      : world_(world),
        options_(options),
        observer_(observer),
        memory_(world, {.name = "cross sections"}),
        sections_(memory_, shoal::Distribution::block_cyclic(
                               options.points * static_cast<std::size_t>(options.bands),
                               world.size(), options.points)),
        tally_(memory_.collective_allocate<std::uint64_t>(4).on(shoal::Rank(0))),
        particles_(particles_of(options, world.rank().value(), world.size())) {
    for (int band = 0; band < options.bands; ++band) {
      if (sections_.owner(first_of(band)) != world.rank()) continue;
      const std::size_t first = sections_.distribution().place(first_of(band));
      for (std::size_t i = 0; i < options.points; ++i) {
        sections_.local()[first + i] = absorption_at(band, i);
      }
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
      ++sum_.slowed_down;
      sum_.ends += end_hash(particle, options_.bands);
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
          const bool has_left = track(particles_[i], band, options_, data, tallies[g]);
          if (observer_) observer_(particles_[i], band, has_left);
          if (!has_left) particles_[i].energy = 0;
        }
      });
    }
    group.wait();
    std::erase_if(particles_, [](const Particle& particle) { return particle.energy == 0; });
    for (const Tally& tally : tallies) {
      sum_.collisions += tally.collisions;
      sum_.absorbed += tally.absorbed;
      sum_.ends += tally.ends;
    }
  }

  /// Every rank adds its numbers to those on rank 0.
  Tally add_up() {
    memory_.add_async(tally_, sum_.collisions);
    memory_.add_async(tally_ + 1, sum_.absorbed);
    memory_.add_async(tally_ + 2, sum_.slowed_down);
    memory_.add_async(tally_ + 3, sum_.ends);
    memory_.quiet();
    world_.barrier();
    std::vector<std::uint64_t> all(4);
    memory_.get(tally_, std::span(all));
    return {all[0], all[1], all[2], all[3]};
  }

  shoal::World& world_;
  const Options options_;
  const Observer& observer_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<double> sections_;
  const shoal::GlobalPtr<std::uint64_t> tally_;
  std::vector<Particle> particles_;
  Tally sum_;
};

}  // namespace

Result transport(shoal::World& world, const Options& options, const Observer& observer) {
  return Transport(world, options, observer).run();
}

}  // namespace ebms

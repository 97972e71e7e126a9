#include "barnes_hut/simulation.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace barnes_hut {
namespace {

/// Cost of one mass in a sum of accelerations, with the square root and the division, as it is
/// usually counted (M. S. Warren, J. K. Salmon, 1992).
constexpr double kMassFlops = 38;

class Simulation {
 public:
  Simulation(shoal::World& world, const Options& options)
      : world_(world),
        options_(options),
        memory_(world, {.name = "cells"}),
        roots_(memory_, static_cast<std::size_t>(world.size())),
        cells_(memory_,
               shoal::Lru(options.cache_bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                                   : options.cache_bytes),
               "cells") {
    const std::vector<Body> all = plummer(options.bodies, options.seed);
    const auto size = static_cast<std::size_t>(world.size());
    first_ = all.size() * me() / size;
    own_.assign(all.begin() + static_cast<std::ptrdiff_t>(first_),
                all.begin() + static_cast<std::ptrdiff_t>(all.size() * (me() + 1) / size));
    accelerations_.resize(own_.size());
  }

  Result run() {
    Result result;
    for (int step = 0; step < options_.steps; ++step) {
      const bool last = step + 1 == options_.steps;
      const std::uint64_t begin = world_.now_ns();
      {
        const Tree tree(memory_, own_);
        roots_.local()[0] = tree.root();
        // No rank reads copies of the last step's cells any more, and all trees are complete.
        cells_.collective_invalidate(world_);
        find_accelerations();
        world_.barrier();  // this tree is no longer needed
      }
      result.seconds += static_cast<double>(world_.now_ns() - begin) * 1e-9;
      if (last) result.error = error();
      move_bodies(own_, accelerations_, options_.step_time);
    }
    const shoal::CacheStatistics statistics = cells_.statistics();
    result.fetches = world_.allreduce(statistics.fetches, std::plus<>());
    result.hits = world_.allreduce(statistics.hits, std::plus<>());
    result.interactions = world_.allreduce(interactions_.load(), std::plus<>());
    result.checksum = world_.allreduce(checksum(own_, first_), std::plus<>());
    return result;
  }

 private:
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(world_.rank().value()); }

  void find_accelerations() {
    std::vector<shoal::GlobalPtr<Cell>> roots(roots_.size());
    roots_.get(0, std::span(roots));
    // Parks the task if the cell must travel.
    const auto read = [this](shoal::GlobalPtr<Cell> cell) { return cells_.get(cell); };
    std::ranges::fill(accelerations_, Vector{});
    for (std::size_t begin = 0; begin < own_.size(); begin += options_.group) {
      const std::size_t count = std::min(own_.size() - begin, options_.group);
      world_.spawn([this, &roots, &read, begin, count] {
        const auto bodies = std::span(std::as_const(own_)).subspan(begin, count);
        const auto accelerations = std::span(accelerations_).subspan(begin, count);
        Attraction attraction(bodies, accelerations, options_.tolerance, read);
        for (std::size_t i = 0; i < roots.size(); ++i) {
          // The own tree first: no rank is the first one of all.
          const shoal::GlobalPtr<Cell> root = roots[(me() + i) % roots.size()];
          if (!root) continue;
          const std::uint64_t masses = attraction.add_tree(root);
          // The work is done: it decides what is fetched. Its cost is for the simulator.
          shoal::compute(shoal::Cost::of_flops(kMassFlops * static_cast<double>(masses)), [] {});
          interactions_ += masses;
        }
      });
    }
    world_.wait();
  }

  [[nodiscard]] double error() {
    std::vector<double> flat;
    for (const Body& body : own_) {
      flat.insert(flat.end(), body.position.begin(), body.position.end());
      flat.push_back(body.mass);
    }
    std::vector<Body> all;
    for (const std::vector<double>& part : world_.allgather(flat)) {
      for (std::size_t i = 0; i < part.size(); i += 4) {
        all.push_back({{part[i], part[i + 1], part[i + 2]}, {}, part[i + 3]});
      }
    }
    const ErrorSums sums = error_sums(all, first_, accelerations_);
    const apps::SumOfSquares squares = world_.allreduce(sums.squares, std::plus<>());
    return squares.relative_to(world_.allreduce(sums.reference, std::plus<>()));
  }

  shoal::World& world_;
  const Options options_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<shoal::GlobalPtr<Cell>> roots_;
  shoal::ObjectCache<Cell, shoal::Lru> cells_;
  std::size_t first_ = 0;  // of the own bodies among all
  std::vector<Body> own_;
  std::vector<Vector> accelerations_;
  std::atomic<std::uint64_t> interactions_{0};
};

}  // namespace

Result simulate(shoal::World& world, const Options& options) {
  return Simulation(world, options).run();
}

}  // namespace barnes_hut

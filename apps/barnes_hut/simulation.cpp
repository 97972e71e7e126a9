#include "barnes_hut/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>

namespace barnes_hut {
namespace {

constexpr std::size_t kSamples = 100;  // bodies that are compared with a direct sum

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
        world_.barrier();  // nobody needs this tree any more
      }
      result.seconds += static_cast<double>(world_.now_ns() - begin) * 1e-9;
      if (last) result.error = error();
      move();
    }
    const shoal::CacheStatistics statistics = cells_.statistics();
    result.fetches = world_.allreduce(statistics.fetches, std::plus<>());
    result.hits = world_.allreduce(statistics.hits, std::plus<>());
    return result;
  }

 private:
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(world_.rank().value()); }

  void find_accelerations() {
    std::vector<shoal::GlobalPtr<Cell>> roots(roots_.size());
    roots_.get(0, std::span(roots));
    for (std::size_t begin = 0; begin < own_.size(); begin += options_.group) {
      const std::size_t end = std::min(own_.size(), begin + options_.group);
      world_.spawn([this, &roots, begin, end] {
        for (std::size_t i = begin; i < end; ++i) {
          Vector acceleration{};
          for (const shoal::GlobalPtr<Cell> root : roots) {
            if (root) add(acceleration, own_[i].position, root);
          }
          accelerations_[i] = acceleration;
        }
      });
    }
    world_.wait();
  }

  void add(Vector& acceleration, const Vector& position, shoal::GlobalPtr<Cell> pointer) {
    const shoal::CacheRef<Cell> cell = cells_.get(pointer);  // parks the task if it must travel
    if (cell->body_count > 0) {
      for (std::size_t i = 0; i < cell->body_count; ++i) {
        // The body itself is at no distance, and adds nothing.
        attract(acceleration, position, cell->bodies[i].position, cell->bodies[i].mass);
      }
      return;
    }
    double square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double distance = cell->all.position[axis] - position[axis];
      square += distance * distance;
    }
    if (cell->width * cell->width < options_.tolerance * options_.tolerance * square) {
      attract(acceleration, position, cell->all.position, cell->all.mass);
      return;
    }
    for (std::size_t i = 0; i < cell->child_count; ++i) {
      add(acceleration, position, cell->children[i]);
    }
  }

  void move() {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        own_[i].velocity[axis] += options_.step_time * accelerations_[i][axis];
        own_[i].position[axis] += options_.step_time * own_[i].velocity[axis];
      }
    }
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
    double squares = 0;
    double sum = 0;
    const std::size_t stride = std::max<std::size_t>(1, all.size() / kSamples);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if ((first_ + i) % stride != 0) continue;
      const Vector exact = direct_sum(all, first_ + i);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double difference = accelerations_[i][axis] - exact[axis];
        squares += difference * difference;
        sum += exact[axis] * exact[axis];
      }
    }
    return std::sqrt(world_.allreduce(squares, std::plus<>()) /
                     world_.allreduce(sum, std::plus<>()));
  }

  shoal::World& world_;
  const Options options_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<shoal::GlobalPtr<Cell>> roots_;
  shoal::ObjectCache<Cell, shoal::Lru> cells_;
  std::size_t first_ = 0;  // of the own bodies among all
  std::vector<Body> own_;
  std::vector<Vector> accelerations_;
};

}  // namespace

Result simulate(shoal::World& world, const Options& options) {
  return Simulation(world, options).run();
}

}  // namespace barnes_hut

#include "barnes_hut/bodies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include "common/random_matrix.hpp"

namespace barnes_hut {
namespace {

constexpr std::size_t kSamples = 100;  // bodies that are compared with a direct sum

/// Bits of a coordinate, two zeros between each.
std::uint64_t spread(std::uint64_t x) {
  std::uint64_t spread = 0;
  for (int bit = 0; bit < 20; ++bit) spread |= ((x >> bit) & 1U) << (3 * bit);
  return spread;
}

std::uint64_t curve_position(const Vector& position) {
  constexpr double kHalf = 32;  // bodies further out share the cells at the rim
  std::uint64_t place = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double scaled = std::clamp((position[axis] + kHalf) / (2 * kHalf), 0.0, 0.999999);
    place |= spread(static_cast<std::uint64_t>(scaled * (1 << 20))) << axis;
  }
  return place;
}

}  // namespace

void attract(Vector& acceleration, const Vector& position, const Vector& source, double mass) {
  Vector distance{};
  double square = kSoftening2;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    distance[axis] = source[axis] - position[axis];
    square += distance[axis] * distance[axis];
  }
  const double factor = mass / (square * std::sqrt(square));
  for (std::size_t axis = 0; axis < 3; ++axis) acceleration[axis] += factor * distance[axis];
}

std::vector<Body> plummer(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random() >> 11U) * 0x1p-53;
  };
  const auto on_sphere = [&](double radius) {
    const double z = uniform(-1, 1);
    const double angle = uniform(0, 2 * std::numbers::pi);
    const double flat = radius * std::sqrt(1 - z * z);
    return Vector{flat * std::cos(angle), flat * std::sin(angle), radius * z};
  };
  std::vector<Body> bodies(count);
  for (Body& body : bodies) {
    body.mass = 1.0 / static_cast<double>(count);
    const double radius = 1 / std::sqrt(std::pow(uniform(1e-6, 0.999), -2.0 / 3) - 1);
    body.position = on_sphere(radius);
    double x = 0;
    do x = uniform(0, 1);
    while (uniform(0, 0.1) > x * x * std::pow(1 - x * x, 3.5));
    body.velocity = on_sphere(x * std::numbers::sqrt2 * std::pow(1 + radius * radius, -0.25));
  }
  std::stable_sort(bodies.begin(), bodies.end(), [](const Body& a, const Body& b) {
    return curve_position(a.position) < curve_position(b.position);
  });
  return bodies;
}

Vector direct_sum(const std::vector<Body>& bodies, std::size_t body) {
  Vector acceleration{};
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (i != body) attract(acceleration, bodies[body].position, bodies[i].position, bodies[i].mass);
  }
  return acceleration;
}

void move_bodies(std::vector<Body>& bodies, const std::vector<Vector>& accelerations,
                 double step_time) {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      bodies[i].velocity[axis] += step_time * accelerations[i][axis];
      bodies[i].position[axis] += step_time * bodies[i].velocity[axis];
    }
  }
}

ErrorSums error_sums(const std::vector<Body>& all, std::size_t first,
                     const std::vector<Vector>& accelerations) {
  ErrorSums sums;
  const std::size_t stride = std::max<std::size_t>(1, all.size() / kSamples);
  for (std::size_t i = 0; i < accelerations.size(); ++i) {
    if ((first + i) % stride != 0) continue;
    const Vector exact = direct_sum(all, first + i);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      sums.squares.add(accelerations[i][axis] - exact[axis]);
      sums.reference.add(exact[axis]);
    }
  }
  return sums;
}

// Ten times the error that is seen with the tolerance 0.5, which is usual: a cell's terms beyond
// the mass at its centre are of the second order of tolerance / 2.
double error_bound(double tolerance) { return tolerance * tolerance / 50 + 1e-9; }

std::uint64_t checksum(const std::vector<Body>& bodies, std::size_t first) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    std::uint64_t hash = apps::mix_bits(first + i);
    for (const Vector* vector : {&bodies[i].position, &bodies[i].velocity}) {
      for (const double x : *vector) hash = apps::mix_bits(hash ^ std::bit_cast<std::uint64_t>(x));
    }
    sum += hash;
  }
  return sum;
}

}  // namespace barnes_hut

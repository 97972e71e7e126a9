#pragma once
// Bodies, and where they begin.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/sum_of_squares.hpp"

namespace barnes_hut {

using Vector = std::array<double, 3>;

struct Body {
  Vector position{};
  Vector velocity{};
  double mass = 0;
};

/// Squared softening length: close encounters stay finite. Units: G = 1, total mass 1.
inline constexpr double kSoftening2 = 1e-6;

/// Adds the acceleration that `mass` at `source` gives a body at `position`.
void attract(Vector& acceleration, const Vector& position, const Vector& source, double mass);

/// Bodies of a Plummer model at rest in the mean, in the order of a space-filling curve (Morton),
/// the same for each call (S. Aarseth, M. Henon, R. Wielen, 1974).
[[nodiscard]] std::vector<Body> plummer(std::size_t count, std::uint64_t seed);

/// Moves the bodies by one time step.
void move_bodies(std::vector<Body>& bodies, const std::vector<Vector>& accelerations,
                 double step_time);

/// Root mean square of the difference of accelerations to direct sums, relative to those.
struct ErrorSums {
  apps::SumOfSquares squares;  // of differences
  apps::SumOfSquares reference;
};
/// The sums over some of the bodies from number `first` on; `accelerations` are theirs.
[[nodiscard]] ErrorSums error_sums(const std::vector<Body>& all, std::size_t first,
                                   const std::vector<Vector>& accelerations);
/// Bound of the root mean square of the relative error.
[[nodiscard]] double error_bound(double tolerance);

/// Sum of hashes of the bodies' positions and velocities; `first` is the number of the first one.
[[nodiscard]] std::uint64_t checksum(const std::vector<Body>& bodies, std::size_t first);

/// Acceleration of a body by all others, by direct summation.
[[nodiscard]] Vector direct_sum(const std::vector<Body>& bodies, std::size_t body);

}  // namespace barnes_hut

#pragma once
// Bodies, and where they begin.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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

/// Acceleration of a body by all others, by direct summation.
[[nodiscard]] Vector direct_sum(const std::vector<Body>& bodies, std::size_t body);

}  // namespace barnes_hut

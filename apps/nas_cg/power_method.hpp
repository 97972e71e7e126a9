#pragma once
// The steps of the NAS benchmark CG, on vectors of which each rank has a part.

#include "nas_cg/matrix.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace nas_cg {

using Vector = std::vector<double>;

/// 25 steps of conjugate gradients for the system with right side x. A `Solver` has the operations
/// that need other ranks: multiply(vector), the product with the matrix, and dot(a, b).
template <class Solver>
Vector solve(Solver& solver, const Vector& x) {
  Vector z(x.size(), 0.0);
  Vector r = x;
  Vector p = x;
  double rho = solver.dot(r, r);
  for (int step = 0; step < 25; ++step) {
    const Vector q = solver.multiply(p);
    const double alpha = rho / solver.dot(p, q);
    for (std::size_t i = 0; i < z.size(); ++i) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double before = std::exchange(rho, solver.dot(r, r));
    for (std::size_t i = 0; i < z.size(); ++i) p[i] = r[i] + rho / before * p[i];
  }
  return z;
}

/// The inverse power method; solver.width() is the size of this rank's part of a vector.
template <class Solver>
double zeta_of(Solver& solver, const Problem& problem) {
  Vector x(solver.width(), 1.0);
  static_cast<void>(solve(solver, x));  // as the benchmark, which does not time this one
  double zeta = 0;
  for (int i = 0; i < problem.iterations; ++i) {
    const Vector z = solve(solver, x);
    const double xz = solver.dot(x, z);
    const double norm = 1.0 / std::sqrt(solver.dot(z, z));
    zeta = problem.shift + 1.0 / xz;
    for (std::size_t at = 0; at < x.size(); ++at) x[at] = norm * z[at];
  }
  return zeta;
}

}  // namespace nas_cg

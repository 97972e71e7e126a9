#pragma once
// Applications written with MPI alone.

#include <string>

#include "ranks/program.hpp"

namespace objects {

/// The NAS benchmark CG on all processes, which are a power of two.
bench::Sample conjugate_gradients(int rank, int size, const std::string& problem_class);

}  // namespace objects

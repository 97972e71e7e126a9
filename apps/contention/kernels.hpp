#pragma once
// Computations of the measurements.

#include <atomic>
#include <cstddef>
#include <span>

#include "contention/measurements.hpp"

namespace contention {

/// One pass of the kernel of a point over the memory of a core; polling threads share `lock`.
/// Returns the bytes that it moved, or for kernels without memory traffic its operations.
double run_pass(const Point& point, std::span<std::byte> memory, std::atomic<bool>& lock);

}  // namespace contention

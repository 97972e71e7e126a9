#pragma once
// Computations of the measurements.

#include <atomic>
#include <cstddef>
#include <span>

#include "contention/measurements.hpp"

namespace contention {

/// Pass number `turn` of the kernel of a point over the memory of a core, or over the next part of
/// it where all would take long; polling threads share `lock`.
/// Returns the bytes that it moved, or for kernels without memory traffic its operations.
double run_pass(const Point& point, std::span<std::byte> memory, std::size_t turn,
                std::atomic<bool>& lock);

}  // namespace contention

#pragma once
// The rates of the kernels, with all workers of a rank at work.

#include <shoal/shoal.hpp>

#include <nlohmann/json_fwd.hpp>
#include <span>

namespace calibrate {

/// Measures every kernel on tiles of these sizes, on all workers of rank 0 at once, as they run in
/// an application; the operands come from sets of tiles larger than the caches of a core. Returns
/// what apps::KernelCosts reads: on rank 0. Blocks: collective. Cost: 0.5 to 0.8 s for each size.
nlohmann::json measure_kernels(shoal::World& world, std::span<const int> sizes);

}  // namespace calibrate

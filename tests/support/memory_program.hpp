#pragma once
// Random programs of global memory: phases of writes of all kinds by tasks of all ranks, then reads
// of all kinds, through caches as well. Each rank computes what every read must give.

#include <shoal/memory.hpp>

#include <cstdint>

namespace shoal::testing {

/// Everything that the seed decides, on one rank. Throws for a wrong value.
void run_memory_program(World& world, std::uint64_t seed, GlobalMemoryOptions::Checks checks);

}  // namespace shoal::testing

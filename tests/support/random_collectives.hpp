#pragma once
// Random sequences of all collective operations, with futures, checked against the known results.

#include <shoal/world.hpp>

#include <cstdint>
#include <string>

namespace shoal::testing {

/// The same in the team and in two that it is split into, all at once. "" if all is well.
std::string run_random_collectives(Team& team, std::uint64_t seed, int count);

/// Operations on large arrays in the world, and meanwhile in the section of a team of the ranks
/// from `first` on. "" if all is well.
std::string run_pipelined_collectives(World& world, std::uint64_t seed, Rank first);

}  // namespace shoal::testing

#pragma once
// Accesses to global memory that must give the same results whatever way they take. All ranks call
// these functions; they throw for a wrong value.

#include <shoal/memory.hpp>

#include <cstddef>

namespace shoal::testing {

inline GlobalMemoryOptions battery_options(GlobalMemoryOptions::Checks checks) {
  return {.name = "battery", .heap_bytes = std::size_t{16} << 20U, .checks = checks};
}

void whole_battery(World& world, GlobalMemoryOptions::Checks checks);

/// A signal is handled after the data that was put before it has arrived.
void signals(World& world, GlobalMemory& memory);

/// Signals behind small puts that much stands before: messages that keep the usual order, and those
/// that do not, behind the puts' remote completion.
void signals_behind_much(World& world, GlobalMemory& memory);

/// A copy that was asked for before its object changed is not kept when it comes after the
/// invalidation: the owner changes the object behind the request, and tells the reader by way of a
/// third rank.
void late_answers(World& world, GlobalMemory& memory);

}  // namespace shoal::testing

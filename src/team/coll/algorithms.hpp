#pragma once
// Algorithms of collective operations. Each is called once for its operation.

#include "team/coll/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shoal::team {

// --- of values: algorithms.cpp

Operation::Body barrier(Operation& op);
/// Into `place` on all members but the root; without a place, into a result.
Operation::Body broadcast(Operation& op, Block mine, std::optional<std::span<std::byte>> place);
Operation::Body reduce(Operation& op, Block mine, Combine combine);
/// Into `place`; without one, into a result.
Operation::Body allreduce(Operation& op, Block mine, Combine combine,
                          std::optional<std::span<std::byte>> place);
Operation::Body gather(Operation& op, Block mine);
Operation::Body allgather(Operation& op, Block mine);
Operation::Body scan(Operation& op, Block mine, Combine combine);
Operation::Body alltoall(Operation& op, std::vector<Block> mine);

// --- of arrays that are large, straight between the members' memory: pipelined.cpp

/// Into the root's array.
Operation::Body reduce_chain(Operation& op, Array mine, CombineInto combine);
Operation::Body allreduce_ring(Operation& op, Array mine, CombineInto combine);
Operation::Body scan_chain(Operation& op, Array mine, CombineInto combine);
Operation::Body gather_straight(Operation& op, std::span<const std::byte> mine,
                                std::span<std::byte> all);
Operation::Body allgather_ring(Operation& op, std::span<const std::byte> mine,
                               std::span<std::byte> all);
Operation::Body alltoall_straight(Operation& op, std::span<const std::byte> mine,
                                  std::span<std::byte> theirs);
Operation::Body reduce_scatter_ring(Operation& op, std::span<const std::byte> values,
                                    std::span<std::byte> mine, CombineInto combine);

}  // namespace shoal::team

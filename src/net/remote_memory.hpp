#pragma once
// Reads of other processes' memory that no handler of theirs serves.

#include <shoal/detail/net/port.hpp>
#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "env/shared_memory.hpp"

namespace shoal::net {

/// One-sided access to memory of other processes, by MPI-3 RMA.
class RemoteMemory {
 public:
  /// Lets other processes read the memory, from when `done` is posted to the port of `owner`, a
  /// rank of this process. The memory stays mapped until the transport ends, since a read may be
  /// under way when a world fails. Any thread; never blocks.
  virtual void expose(std::shared_ptr<env::SharedMemory> memory, Rank owner, Completion* done) = 0;
  /// Reads the bytes at `address` in the process of rank `owner`, which it has exposed. Posts
  /// `done` to the port of `reader`, a rank of this process, when they are in `to`. Any thread;
  /// never blocks.
  virtual void get(Rank reader, Rank owner, std::uint64_t address, std::span<std::byte> to,
                   Completion* done) = 0;

 protected:
  ~RemoteMemory() = default;
};

}  // namespace shoal::net

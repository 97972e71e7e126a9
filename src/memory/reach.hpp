#pragma once
// Ends of heaps that others reach by loads and stores.
//
// A rank that ends its memory takes the address of its heap out of the tables of all ranks that
// have it (Core::bases_), in its process by CoresHere, in others by way of shared memory. From then
// on their accesses are messages, which the rank refuses by name. An access that has read the
// address before reaches the heap, which stays mapped: in the owner's process until the team is at
// rest, in others until their memories end.

#include "env/shared_memory.hpp"

#include <shoal/detail/memory/core.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace shoal::memory {

/// Memories of the ranks of a process. **Caller**: any thread.
class CoresHere {
 public:
  /// Team and number of a handler: the same on all ranks.
  using Key = std::pair<std::uint64_t, std::uint32_t>;

  void add(const Key& key, Core& core);
  /// Its rank has ended the memory: no other reaches the heap by loads and stores any more.
  void remove(const Key& key, Core& core);
  /// Sets the address of a rank's heap for the rank of `core`; returns false if it has ended.
  [[nodiscard]] bool set_base(const Key& key, Core& core, int rank, std::byte* base);

 private:
  struct Memory {
    std::vector<Core*> cores;
    std::set<int> ended;  // ranks
  };

  sync::Mutex mutex_;
  std::map<Key, Memory> memories_ SHOAL_GUARDED_BY(mutex_);
};

/// Table of addresses of heaps, by rank, in memory that other processes map if it is `shared`.
class Bases {
 public:
  Bases(int size, bool shared);
  /// Maps that of another process. **Errors**: as SharedMemory.
  explicit Bases(const env::SharedMemoryName& name)
      : memory_(std::make_unique<env::SharedMemory>(name)) {}

  [[nodiscard]] std::atomic<std::byte*>* data() const {
    return reinterpret_cast<std::atomic<std::byte*>*>(memory_->data());
  }
  [[nodiscard]] env::SharedMemoryName name() const { return memory_->name(); }

 private:
  std::unique_ptr<env::SharedMemory> memory_;
};

}  // namespace shoal::memory

#include "memory/reach.hpp"

#include "env/fresh_mapping.hpp"

#include <algorithm>

namespace shoal::memory {

void CoresHere::add(const Key& key, Core& core) {
  const sync::Lock lock(mutex_);
  memories_[key].cores.push_back(&core);
}

void CoresHere::remove(const Key& key, Core& core) {
  const sync::Lock lock(mutex_);
  const auto found = memories_.find(key);
  if (found == memories_.end()) return;
  Memory& memory = found->second;
  std::erase(memory.cores, &core);
  memory.ended.insert(core.rank_);
  // release: what the owner has done before
  for (Core* const other : memory.cores) {
    other->bases_[core.rank_].store(nullptr, std::memory_order_release);
  }
  if (memory.cores.empty()) memories_.erase(found);
}

bool CoresHere::set_base(const Key& key, Core& core, int rank, std::byte* base) {
  const sync::Lock lock(mutex_);
  if (memories_[key].ended.contains(rank)) return false;
  // release pairs with the acquire in Core::direct()
  core.bases_[rank].store(base, std::memory_order_release);
  return true;
}

Bases::Bases(int size, bool shared)
    : memory_(std::make_unique<env::SharedMemory>(
          static_cast<std::size_t>(size) * sizeof(std::atomic<std::byte*>), shared)) {
  env::forget_frames(memory_->data(), memory_->size_bytes());
}

}  // namespace shoal::memory

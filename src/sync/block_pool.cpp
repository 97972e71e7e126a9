#include <shoal/sync/block_pool.hpp>

#include <shoal/base/sanitizers.hpp>
#include <shoal/sync/mutex.hpp>

#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace shoal::sync {

namespace {

constexpr std::size_t kGrain = 64;  // block sizes are its multiples
constexpr std::size_t kSizes = kPooledBytesMax / kGrain;
constexpr unsigned kMagazineBlocks = 64;
constexpr bool kPooled = !kAddressSanitizer && !kThreadSanitizer;

/// A free block.
struct Block {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the depot sets it where it is used
  explicit Block(Block* behind) : next(behind) {}
  Block* next;
  Block* next_magazine;  // of the first one of a full magazine, in the depot only
};

/// A chain of free blocks; full with kMagazineBlocks.
struct Magazine {
  Block* first = nullptr;
  unsigned count = 0;

  void push(void* memory) {
    first = new (memory) Block(first);
    ++count;
  }
  Block* pop() {
    --count;
    return std::exchange(first, first->next);
  }
};

/// The blocks of one size that no thread keeps.
class Depot {
 public:
  /// At least one block.
  Magazine take(std::size_t block_bytes) {
    const Lock lock(mutex_);
    Magazine magazine;
    if (full_ != nullptr) {
      magazine = {std::exchange(full_, full_->next_magazine), kMagazineBlocks};
    } else if (loose_.count > 0) {
      while (loose_.count > 0 && magazine.count < kMagazineBlocks) magazine.push(loose_.pop());
    } else {
      carve(magazine, block_bytes);
    }
    out_ += magazine.count;
    return magazine;
  }

  void give(Magazine magazine) {
    if (magazine.count == 0) return;
    const Lock lock(mutex_);
    out_ -= magazine.count;
    if (magazine.count == kMagazineBlocks) {
      magazine.first->next_magazine = std::exchange(full_, magazine.first);
    } else {
      while (magazine.count > 0) loose_.push(magazine.pop());
    }
  }

  void trim() {
    const Lock lock(mutex_);
    if (out_ > 0) return;
    full_ = nullptr;
    loose_ = {};
    unused_bytes_ = 0;
    slabs_.clear();
  }

  std::size_t bytes() {
    const Lock lock(mutex_);
    return slabs_.size() * kSlabBytes;
  }

 private:
  static constexpr std::size_t kSlabBytes = 64UL << 10U;
  struct Free {
    void operator()(std::byte* slab) const { ::operator delete(slab, std::align_val_t(kGrain)); }
  };
  using Slab = std::unique_ptr<std::byte, Free>;

  // A slab is cut up from its front, so that memory is not touched before it is needed.
  void carve(Magazine& magazine, std::size_t block_bytes) SHOAL_REQUIRES(mutex_) {
    if (unused_bytes_ < block_bytes) {
      Slab slab(static_cast<std::byte*>(::operator new(kSlabBytes, std::align_val_t(kGrain))));
      unused_ = slab.get();
      slabs_.push_back(std::move(slab));
      unused_bytes_ = kSlabBytes;
    }
    while (magazine.count < kMagazineBlocks && unused_bytes_ >= block_bytes) {
      magazine.push(unused_);
      unused_ += block_bytes;
      unused_bytes_ -= block_bytes;
    }
  }

  Mutex mutex_;
  Block* full_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // full magazines
  Magazine loose_ SHOAL_GUARDED_BY(mutex_);         // what threads left that have ended
  std::size_t out_ SHOAL_GUARDED_BY(mutex_) = 0;    // blocks that are not here
  std::byte* unused_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  std::size_t unused_bytes_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::vector<Slab> slabs_ SHOAL_GUARDED_BY(mutex_);
};

// Never destroyed: threads may end after it.
std::array<Depot, kSizes>& depots() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const all = new std::array<Depot, kSizes>;
  return *all;
}

/// What one thread keeps of one size: with two magazines, a thread that takes and gives in turn
/// does not go to the depot each time one of them is full or empty.
struct Cache {
  Magazine loaded;
  Magazine spare;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local std::array<Cache, kSizes> t_caches{};

void give_all() {
  for (std::size_t size = 0; size < kSizes; ++size) {
    depots()[size].give(std::exchange(t_caches[size].loaded, {}));
    depots()[size].give(std::exchange(t_caches[size].spare, {}));
  }
}

void give_all_at_thread_exit() {
  struct AtExit {
    ~AtExit() { give_all(); }
  };
  static thread_local const AtExit t_at_exit;
  static_cast<void>(t_at_exit);
}

[[gnu::noinline]] void* take_slowly(std::size_t size) {
  give_all_at_thread_exit();
  Cache& cache = t_caches[size];
  if (cache.spare.count == 0) cache.spare = depots()[size].take((size + 1) * kGrain);
  std::swap(cache.loaded, cache.spare);
  return cache.loaded.pop();
}

[[gnu::noinline]] void give_slowly(void* block, std::size_t size) {
  give_all_at_thread_exit();
  Cache& cache = t_caches[size];
  depots()[size].give(std::exchange(cache.spare, std::exchange(cache.loaded, {})));
  cache.loaded.push(block);
}

constexpr bool is_pooled(std::size_t size_bytes) {
  return kPooled && size_bytes - 1 < kPooledBytesMax;  // not 0 either
}

}  // namespace

// Not inlined: a task may be on another thread after it was suspended.
void* take_block(std::size_t size_bytes) {
  if (!is_pooled(size_bytes)) return ::operator new(size_bytes, std::align_val_t(kGrain));
  const std::size_t size = (size_bytes - 1) / kGrain;
  Cache& cache = t_caches[size];
  return cache.loaded.count > 0 ? cache.loaded.pop() : take_slowly(size);
}

void give_block(void* block, std::size_t size_bytes) noexcept {
  if (!is_pooled(size_bytes)) {
    ::operator delete(block, std::align_val_t(kGrain));
    return;
  }
  const std::size_t size = (size_bytes - 1) / kGrain;
  Cache& cache = t_caches[size];
  if (cache.loaded.count < kMagazineBlocks) {
    cache.loaded.push(block);
  } else {
    give_slowly(block, size);
  }
}

void trim_blocks() noexcept {
  give_all();
  for (Depot& depot : depots()) depot.trim();
}

std::size_t pooled_bytes() noexcept {
  std::size_t bytes = 0;
  for (Depot& depot : depots()) bytes += depot.bytes();
  return bytes;
}

}  // namespace shoal::sync

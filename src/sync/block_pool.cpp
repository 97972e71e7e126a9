#include <shoal/detail/sync/block_pool.hpp>

#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace shoal::sync {

namespace {

constexpr std::size_t kGrain = detail::kBlockGrain;  // block sizes are its multiples
constexpr std::size_t kSmallSizes = detail::kSmallBlockSizes;
constexpr std::size_t kSizes = detail::block_size_of(kPooledBytesMax) + 1;
constexpr std::size_t block_bytes(std::size_t size) {
  return size < kSmallSizes ? (size + 1) * kGrain
                            : (std::size_t{1024} << (size - kSmallSizes)) + detail::kBehindPower;
}
static_assert(block_bytes(kSizes - 1) == kPooledBytesMax);
/// How many blocks threads exchange with the depot at once: some 32 KiB, or a few blocks.
constexpr std::array<unsigned, kSizes> kMagazineBlocks = [] {
  std::array<unsigned, kSizes> counts{};
  for (std::size_t size = 0; size < kSizes; ++size) {
    counts[size] = static_cast<unsigned>(std::clamp((32UL << 10U) / block_bytes(size), 4UL, 64UL));
  }
  return counts;
}();

constexpr bool kPooled = !kAddressSanitizer && !kThreadSanitizer;

/// A free block.
struct Block {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the depot sets it where it is used
  explicit Block(Block* behind) : next(behind) {}
  Block* next;
  Block* next_magazine;  // of the first one of a full magazine, in the depot only
};

/// A chain of free blocks; full with kMagazineBlocks of its size.
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
  Magazine take(std::size_t size) {
    const Lock lock(mutex_);
    Magazine magazine;
    if (full_ != nullptr) {
      magazine = {std::exchange(full_, full_->next_magazine), kMagazineBlocks[size]};
    } else if (loose_.count > 0) {
      while (loose_.count > 0 && magazine.count < kMagazineBlocks[size]) {
        magazine.push(loose_.pop());
      }
    } else {
      carve(magazine, size);
    }
    out_ += magazine.count;
    return magazine;
  }

  void give(Magazine magazine, std::size_t size) {
    if (magazine.count == 0) return;
    const Lock lock(mutex_);
    out_ -= magazine.count;
    if (magazine.count == kMagazineBlocks[size]) {
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
  void carve(Magazine& magazine, std::size_t size) SHOAL_REQUIRES(mutex_) {
    const std::size_t bytes = block_bytes(size);
    if (unused_bytes_ < bytes) {
      Slab slab(static_cast<std::byte*>(::operator new(kSlabBytes, std::align_val_t(kGrain))));
      unused_ = slab.get();
      slabs_.push_back(std::move(slab));
      unused_bytes_ = kSlabBytes;
    }
    while (magazine.count < kMagazineBlocks[size] && unused_bytes_ >= bytes) {
      magazine.push(unused_);
      unused_ += bytes;
      unused_bytes_ -= bytes;
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

/// Blocks of one size that a thread keeps: with two magazines, a thread that takes and gives in
/// turn does not go to the depot each time one of them is full or empty.
struct Cache {
  // Count of a thread without caches: it fails both tests, so that no further test is needed.
  static constexpr unsigned kNoCache = ~0U;
  [[nodiscard]] bool can_take() const { return static_cast<int>(loaded.count) > 0; }
  [[nodiscard]] bool can_give(std::size_t size) const {
    return loaded.count < kMagazineBlocks[size];
  }

  Magazine loaded;
  Magazine spare;
};
using Caches = std::array<Cache, kSizes>;

constexpr Caches kNoCaches = [] {
  Caches none{};
  for (Cache& cache : none) cache.loaded.count = Cache::kNoCache;
  return none;
}();
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
constinit Caches g_not_yet = kNoCaches;  // of threads before their first block; never written
constinit Caches g_ended = kNoCaches;    // of threads that end; never written
// A pointer only, since dlopen() finds little room for thread-local data that is reached directly.
[[gnu::tls_model("initial-exec")]] constinit thread_local Caches* t_caches = &g_not_yet;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void give_all() {
  for (std::size_t size = 0; size < kSizes; ++size) {
    Cache& cache = (*t_caches)[size];
    if (cache.loaded.count == Cache::kNoCache) return;
    depots()[size].give(std::exchange(cache.loaded, {}), size);
    depots()[size].give(std::exchange(cache.spare, {}), size);
  }
}

/// Makes the caches of the calling thread if necessary; returns false if the thread ends, or there
/// is no memory.
bool have_caches() noexcept {
  struct AtExit {
    ~AtExit() {
      give_all();
      delete std::exchange(t_caches, &g_ended);
    }
  };
  if (t_caches == &g_ended) return false;
  if (t_caches != &g_not_yet) return true;
  auto* const made = new (std::nothrow) Caches{};
  if (made == nullptr) return false;
  t_caches = made;
  static thread_local const AtExit t_at_exit;
  static_cast<void>(t_at_exit);
  return true;
}

[[gnu::noinline]] void* take_slowly(std::size_t size) {
  if (!have_caches()) {
    Magazine magazine = depots()[size].take(size);
    void* const block = magazine.pop();
    depots()[size].give(magazine, size);
    return block;
  }
  Cache& cache = (*t_caches)[size];
  if (cache.spare.count == 0) cache.spare = depots()[size].take(size);
  std::swap(cache.loaded, cache.spare);
  return cache.loaded.pop();
}

[[gnu::noinline]] void give_slowly(void* block, std::size_t size) noexcept {
  Magazine full;
  if (have_caches()) {
    Cache& cache = (*t_caches)[size];
    full = std::exchange(cache.spare, std::exchange(cache.loaded, {}));
    cache.loaded.push(block);
  } else {
    full.push(block);
  }
  depots()[size].give(full, size);
}

}  // namespace

// Not inlined: a task may be on another thread after it was suspended.
void* detail::take_pooled(std::size_t size, [[maybe_unused]] std::size_t size_bytes) {
  if constexpr (!kPooled) return ::operator new(size_bytes, std::align_val_t(kGrain));
  Cache& cache = (*t_caches)[size];
  if (cache.can_take()) [[likely]] {
    return cache.loaded.pop();
  }
  return take_slowly(size);
}

void detail::give_pooled(void* block, std::size_t size) noexcept {
  if constexpr (!kPooled) return ::operator delete(block, std::align_val_t(kGrain));
  Cache& cache = (*t_caches)[size];
  if (cache.can_give(size)) [[likely]] {
    cache.loaded.push(block);
    return;
  }
  give_slowly(block, size);
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

#pragma once
// Object caches without types: copies, fetches under way, counters.

#include <shoal/cache_policy.hpp>
#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>
#include <shoal/future.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

class Team;

namespace memory {

/// The barrier of a team.
void barrier(Team& team);

using Copy = std::shared_ptr<const void>;

/// A CachePolicy behind virtual functions.
class AnyPolicy {
 public:
  virtual ~AnyPolicy() = default;
  /// Returns whether on_use() does something.
  [[nodiscard]] virtual bool notes_use() const = 0;
  [[nodiscard]] virtual bool keeps() const = 0;
  virtual void on_insert(const CacheKey& key, std::size_t size_bytes) = 0;
  virtual void on_use(const CacheKey& key) = 0;
  virtual void on_remove(const CacheKey& key) = 0;
  [[nodiscard]] virtual std::optional<CacheKey> victim() = 0;
};

template <CachePolicy P>
class PolicyOf final : public AnyPolicy {
 public:
  explicit PolicyOf(P policy) : policy_(std::move(policy)) {}
  [[nodiscard]] bool notes_use() const override {
    return !std::is_same_v<P, KeepAll> && !std::is_same_v<P, NoCache>;
  }
  [[nodiscard]] bool keeps() const override { return policy_.keeps(); }
  void on_insert(const CacheKey& key, std::size_t bytes) override { policy_.on_insert(key, bytes); }
  void on_use(const CacheKey& key) override { policy_.on_use(key); }
  void on_remove(const CacheKey& key) override { policy_.on_remove(key); }
  [[nodiscard]] std::optional<CacheKey> victim() override { return policy_.victim(); }

 private:
  P policy_;
};

/// Any thread.
class CacheCore {
 public:
  /// A fetch under way. Its promise is fulfilled with the copy.
  struct Fetching {
    CacheKey key;
    Promise<Copy> promise;
    sched::ValueRef<Copy> result;
    std::uint64_t begun_in = 0;                            // phase
    std::shared_ptr<const std::atomic<CacheCore*>> cache;  // holds nullptr when that has ended
    bool ended = false;                                    // under the lock of the cache
  };
  using FetchRef = std::shared_ptr<Fetching>;
  /// Asks for the object; arrived() or failed() follows.
  using Fetch = Function<void(const CacheKey&, const FetchRef&)>;

  CacheCore(sched::Scheduler& scheduler, std::string name, std::unique_ptr<AnyPolicy> policy,
            Fetch fetch);
  ~CacheCore();
  CacheCore(const CacheCore&) = delete;
  CacheCore& operator=(const CacheCore&) = delete;

  /// A copy: the cached one, or one that is fetched; parks the caller meanwhile. `hit` says
  /// which, with the phase of its fetch.
  struct Found {
    Copy copy;
    bool hit = false;
    std::uint64_t fetched_in = 0;
  };
  [[nodiscard]] Found get(const CacheKey& key);
  /// The cached copy; nullptr: there is none. Inline: most calls of most programs end here.
  [[nodiscard]] SHOAL_ALWAYS_INLINE Copy find(CacheKey key) {
    const sync::StoreReleaseLock lock(mutex_);
    const Entry* const entry = fresh(key);
    if (entry == nullptr) return {};
    return entry->copy;
  }
  /// The cached copy, with the phase of its fetch; no hit: there is none.
  [[nodiscard]] Found find_phased(const CacheKey& key);
  /// Fetches the object whether there is a copy or not; parks the caller.
  [[nodiscard]] Copy fetch(const CacheKey& key);
  /// Starts to fetch the object if there is no copy of it.
  void prefetch(const CacheKey& key);
  void invalidate(const CacheKey& key);
  void next_phase();
  [[nodiscard]] std::uint64_t phase() const;
  [[nodiscard]] CacheStatistics statistics() const;
  [[nodiscard]] const std::string& name() const { return name_; }

  // --- ends of fetches
  // Only the first one of a fetch counts.
  /// Ends a fetch; without effect when its cache has ended.
  static void arrived(const FetchRef& fetch, Copy copy, std::size_t size_bytes);
  static void failed(const FetchRef& fetch, std::exception_ptr error);

 private:
  struct SharedFetch {
    FetchRef fetch;
    bool begins = false;  // the caller sends the request
  };
  struct Entry {
    Copy copy;
    std::size_t size_bytes = 0;
    std::uint64_t fetched_in = 0;
  };

  [[nodiscard]] SharedFetch begin(const CacheKey& key) SHOAL_REQUIRES(mutex_);
  /// Returns the fetch of the object that is in progress, or else a new one.
  [[nodiscard]] SharedFetch join(const CacheKey& key) SHOAL_REQUIRES(mutex_);
  /// Returns the copy; nullptr if there is none.
  [[nodiscard]] const Entry* fresh(CacheKey key) SHOAL_REQUIRES(mutex_) {
    const auto* const slot = entries_.locate(key);
    if (!slot->used()) return nullptr;
    if (notes_use_) note_use(slot->key());
    ++statistics_.hits;
    return &slot->value();
  }
  // Not inline: most policies want no notes.
  void note_use(const CacheKey& key) SHOAL_REQUIRES(mutex_);
  void remove(const CacheKey& key) SHOAL_REQUIRES(mutex_);
  void evict() SHOAL_REQUIRES(mutex_);
  /// A fetch has ended; false: it is not the one that a get() may wait for.
  bool forget_current(const FetchRef& fetch) SHOAL_REQUIRES(mutex_);
  /// Keeps the copy of a fetch; nullptr: it has failed. Returns false if it had ended before.
  bool end(const FetchRef& fetch, const Copy* copy, std::size_t size_bytes);
  /// Sends the request of a fetch that the caller begins.
  void send(const CacheKey& key, const SharedFetch& awaited);
  [[nodiscard]] Copy await(const CacheKey& key, const SharedFetch& awaited);

  sched::Scheduler& scheduler_;
  const std::string name_;
  const std::string fetch_name_;  // of the promise of a fetch, before the object
  const std::unique_ptr<AnyPolicy> policy_;
  const bool notes_use_;
  const Fetch fetch_;
  const std::shared_ptr<std::atomic<CacheCore*>> self_ =
      std::make_shared<std::atomic<CacheCore*>>(this);
  mutable sync::StoreReleaseMutex mutex_;
  FlatMap<CacheKey, Entry, AddressHash> entries_ SHOAL_GUARDED_BY(mutex_);
  // The fetches that a get() may wait for: the last one of each object, if nothing has invalidated
  // it since.
  FlatMap<CacheKey, FetchRef, AddressHash> current_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t phase_ SHOAL_GUARDED_BY(mutex_) = 0;
  CacheStatistics statistics_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace memory

}  // namespace shoal

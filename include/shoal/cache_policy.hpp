#pragma once
// Policies of object caches (which copies are kept, and which go), their errors and counters.

#include <shoal/detail/base/flat_map.hpp>
#include <shoal/error.hpp>
#include <shoal/global_ptr.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

namespace shoal {

/// Error of lget() when there is no copy of the object.
class CacheMiss : public Error {
 public:
  using Error::Error;
};

/// Error of a read of a copy that is out of date: its object has changed, and the program has not
/// invalidated the copy.
class StaleReadError : public Error {
 public:
  using Error::Error;
};

/// Counters of an ObjectCache on one rank.
struct CacheStatistics {
  std::uint64_t hits = 0;       // copies that were found
  std::uint64_t misses = 0;     // fetches, and waits for one that was under way
  std::uint64_t fetches = 0;    // requests that were sent
  std::uint64_t evictions = 0;  // by the policy
  std::uint64_t copies = 0;     // that are kept now
  std::uint64_t bytes = 0;      // of them
};

/// Address of a cached object.
using CacheKey = GlobalPtr<const std::byte>;

/// The interface of a policy. The cache calls it under its lock: a policy needs none, and must
/// neither wait nor call the cache.
template <class P>
concept CachePolicy =
    std::move_constructible<P> && requires(P policy, const CacheKey& key, std::size_t size_bytes) {
      // Whether copies are kept at all, for a second get().
      { policy.keeps() } -> std::convertible_to<bool>;
      // A copy was added, found, or removed.
      policy.on_insert(key, size_bytes);
      policy.on_use(key);
      policy.on_remove(key);
      // The copy to evict now; nothing: all may stay. Called after each insertion until there is
      // nothing to evict; a copy that is referenced stays, and on_use() is called for it instead.
      { policy.victim() } -> std::convertible_to<std::optional<CacheKey>>;
    };

/// Keeps nothing: every get() fetches. Requests for one object at the same time still share one.
struct NoCache {
  /// Returns false: copies are not kept for a second get().
  [[nodiscard]] static bool keeps() { return false; }
  /// Called when a copy was added; does nothing.
  static void on_insert(const CacheKey& /*key*/, std::size_t /*size_bytes*/) {}
  /// Called when a copy was found; does nothing.
  static void on_use(const CacheKey& /*key*/) {}
  /// Called when a copy was removed; does nothing.
  static void on_remove(const CacheKey& /*key*/) {}
  /// Returns nothing: there is no copy to evict.
  [[nodiscard]] static std::optional<CacheKey> victim() { return std::nullopt; }
};

/// Keeps everything until it is invalidated.
struct KeepAll {
  /// Returns true: copies are kept for a second get().
  [[nodiscard]] static bool keeps() { return true; }
  /// Called when a copy was added; does nothing.
  static void on_insert(const CacheKey& /*key*/, std::size_t /*size_bytes*/) {}
  /// Called when a copy was found; does nothing.
  static void on_use(const CacheKey& /*key*/) {}
  /// Called when a copy was removed; does nothing.
  static void on_remove(const CacheKey& /*key*/) {}
  /// Returns nothing: all copies stay.
  [[nodiscard]] static std::optional<CacheKey> victim() { return std::nullopt; }
};

/// Keeps the copies that were used last, up to a number of bytes.
class Lru {
 public:
  /// Keeps copies of up to `bytes_max` bytes.
  explicit Lru(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Returns true: copies are kept for a second get().
  [[nodiscard]] static bool keeps() { return true; }
  /// Records a copy that was added, as the one used last.
  void on_insert(const CacheKey& key, std::size_t size_bytes) {
    order_.push_front({key, size_bytes});
    places_.insert(key, order_.begin());
    bytes_ += size_bytes;
  }
  /// Records the use of a copy.
  void on_use(const CacheKey& key) {
    const auto* const place = places_.find(key);
    if (place != nullptr) order_.splice(order_.begin(), order_, *place);
  }
  /// Forgets a copy that was removed.
  void on_remove(const CacheKey& key) {
    const auto* const place = places_.find(key);
    if (place == nullptr) return;
    bytes_ -= (*place)->size_bytes;
    order_.erase(*place);
    places_.erase(key);
  }
  /// Returns the copy used least recently while the copies exceed the limit; nothing otherwise.
  [[nodiscard]] std::optional<CacheKey> victim() const {
    if (bytes_ <= bytes_max_ || order_.empty()) return std::nullopt;
    return order_.back().key;
  }

 private:
  struct Copy {
    CacheKey key;
    std::size_t size_bytes;
  };
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Copy> order_;  // used last: first
  FlatMap<CacheKey, std::list<Copy>::iterator, memory::AddressHash> places_;
};

}  // namespace shoal

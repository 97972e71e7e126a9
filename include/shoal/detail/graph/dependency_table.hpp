#pragma once
// Counters of the dependencies that each task has and needs: a hash table for keys of any kind, and
// an array for dense keys.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/inline.hpp>
#include <shoal/key.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace shoal::graph {

/// Outcome of fulfilling a dependency.
enum class [[nodiscard]] Fulfill {
  waiting,  ///< more dependencies are missing
  ready,    ///< the last one: only the caller now runs the task
  over,     ///< refused, nothing changed: more than the indegree
  ran,      ///< refused, nothing changed: the task became ready before (DenseTable only)
};

/// How far a key has come: 0 <= fulfilled <= indegree, 1 <= indegree.
struct Entry {
  int fulfilled = 0;
  int indegree = 0;
};

/// The keys that have been fulfilled in part. A key is stored from its first dependency to its
/// last; then nothing of it is kept, and the next fulfillment counts from zero again.
///
/// Open addressing with linear probing; erasing shifts the cluster back, so there are no tombstones
/// and probes stay short however many keys pass through. Capacity grows by 2/5 at 3/4 full and
/// shrinks when less than 1/8 full: 45 bytes per key of 12 bytes at worst while growing.
///
/// Caller: one thread at a time. Blocks: never.
/// Errors: exceptions of the indegree function, of K's copy and of memory leave the table
/// unchanged; hash and equality of K must not throw.
template <class K>
class DependencyTable {
 public:
  using Entry = graph::Entry;

  DependencyTable() = default;
  DependencyTable(DependencyTable&& other) noexcept
      : slots_(std::move(other.slots_)),
        capacity_(std::exchange(other.capacity_, 0)),
        size_(std::exchange(other.size_, 0)),
        size_max_(std::exchange(other.size_max_, 0)),
        size_min_(std::exchange(other.size_min_, 0)) {}
  DependencyTable& operator=(DependencyTable&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    std::swap(size_max_, other.size_max_);
    std::swap(size_min_, other.size_min_);
    return *this;
  }
  ~DependencyTable() { destroy_keys(); }

  /// Counts `count` >= 1 dependencies of `key` as fulfilled. `indegree_of(key)` says how many there
  /// are; it is called when the key is not in the table, must be at least 1, and must not use this
  /// table. `out`, if given, receives the counters after the call.
  /// Errors: CheckError for a count or an indegree below 1.
  /// Cost: amortized constant; a key whose first fulfillment is its last is never stored.
  template <std::invocable<const K&> IndegreeFn>
  Fulfill fulfill(const K& key, int count, IndegreeFn&& indegree_of, Entry* out = nullptr) {
    return fulfill_hashed(KeyHash<K>{}(key), key, count, std::forward<IndegreeFn>(indegree_of),
                          out);
  }
  /// The same for callers that know the hash of the key already, KeyHash<K>.
  template <std::invocable<const K&> IndegreeFn>
  SHOAL_ALWAYS_INLINE Fulfill fulfill_hashed(std::size_t key_hash, const K& key, int count,
                                             IndegreeFn&& indegree_of, Entry* out = nullptr) {
    SHOAL_CHECK(count >= 1, "key {} fulfilled {} times: the count must be at least 1",
                format_key(key), count);
    const std::uint32_t hash = slot_hash(key_hash);
    Slot* slot = nullptr;
    if (capacity_ != 0) [[likely]] {
      slot = find(key, hash);
      if (slot->used()) return add(*slot, count, out);
    }
    const int indegree = indegree_of(key);
    SHOAL_CHECK(indegree >= 1, "the indegree of key {} is {}: it must be at least 1",
                format_key(key), indegree);
    const bool over = count > indegree;
    if (out != nullptr) *out = {over ? 0 : count, indegree};
    if (over) return Fulfill::over;
    if (count == indegree) return Fulfill::ready;
    insert(slot, key, hash, {count, indegree});
    return Fulfill::waiting;
  }

  /// How far a key has come that was refused.
  [[nodiscard]] Entry entry_of(const K& key, int indegree) const {
    const Slot* const slot = capacity_ == 0 ? nullptr : find(key, slot_hash(KeyHash<K>{}(key)));
    if (slot == nullptr || !slot->used()) return {0, indegree};
    return slot->entry();
  }

  /// Keys that wait.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls visitor(const K& key, int fulfilled, int indegree) for every waiting key, in no order.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (std::size_t i = 0; i < capacity_; ++i) {
      const Slot& slot = slots_[i];
      if (slot.used()) visitor(slot.key(), slot.entry().fulfilled, slot.entry().indegree);
    }
  }

  /// Bytes held for slots, used or not; without what the keys themselves own.
  [[nodiscard]] std::size_t memory_bytes() const {
    return capacity_ * sizeof(Slot) + (boxed ? size_ * sizeof(K) : 0);
  }

  /// The longest way from the home of a key to its slot. For tests and diagnosis. Cost: linear.
  [[nodiscard]] std::size_t longest_probe() const {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (!slots_[i].used()) continue;
      const std::size_t probe = distance(home(slots_[i].hash), i);
      if (probe > longest) longest = probe;
    }
    return longest;
  }

 private:
  // Erasing and rehashing move keys and cannot be undone halfway; so keys whose move may throw are
  // kept on the heap, and what moves is their pointer. No operation but insertion can then fail.
  static constexpr bool boxed = !std::is_nothrow_move_constructible_v<K>;
  using Stored = std::conditional_t<boxed, std::unique_ptr<K>, K>;

  struct Slot {
    Slot() {}   // NOLINT(modernize-use-equals-default): the union's members have constructors
    ~Slot() {}  // NOLINT(modernize-use-equals-default): the table ends the keys' lives

    [[nodiscard]] bool used() const { return hash != 0; }
    [[nodiscard]] Entry entry() const { return {indegree - remaining, indegree}; }
    [[nodiscard]] const K& key() const {
      if constexpr (boxed) {
        return *stored;
      } else {
        return stored;
      }
    }

    union {
      Stored stored;  // alive if and only if used()
    };
    std::uint32_t hash = 0;      // of the key; 0: this slot is free
    std::int32_t remaining = 0;  // of the indegree; at least 1
    std::int32_t indegree = 0;
  };

  static constexpr std::size_t capacity_min = 128;  // so few keys, as most tables have, are sparse

  static std::size_t capacity_for(std::size_t wanted) {
    return wanted < capacity_min ? capacity_min : wanted;
  }

  // Callers may have used some bits to choose this table among many: each bit of the result has
  // another one, from the other half, in it. Not 0: the lowest bit hardly tells where home() is.
  static std::uint32_t slot_hash(std::size_t key_hash) {
    return static_cast<std::uint32_t>(key_hash ^ (key_hash >> 32)) | 1U;
  }
  // Spreads hashes over [0, capacity) in their order, so that a rehash writes the new table from
  // front to back, and any capacity will do.
  [[nodiscard]] std::size_t home(std::uint32_t hash) const {
    return static_cast<std::size_t>((std::uint64_t{hash} * capacity_) >> 32);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return i + 1 == capacity_ ? 0 : i + 1; }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + capacity_ - from;
  }

  // The slot of `key`, or else the free one where it belongs, in a table that has slots. Ends,
  // because the table is at most 3/4 full.
  [[nodiscard]] Slot* find(const K& key, std::uint32_t hash) const {
    Slot* const begin = slots_.get();
    Slot* const end = begin + capacity_;
    Slot* slot = begin + home(hash);
    while (!(slot->hash == hash && key_equal(slot->key(), key)) && slot->used()) {
      if (++slot == end) slot = begin;
    }
    return slot;
  }

  Fulfill add(Slot& slot, int count, Entry* out) {
    const int left = slot.remaining - count;
    if (out != nullptr) *out = left < 0 ? slot.entry() : Entry{slot.indegree - left, slot.indegree};
    if (left < 0) return Fulfill::over;
    slot.remaining = left;
    if (left > 0) return Fulfill::waiting;
    erase(static_cast<std::size_t>(&slot - slots_.get()));
    return Fulfill::ready;
  }

  // `slot`: result of find(), if the table has slots.
  void insert(Slot* slot, const K& key, std::uint32_t hash, Entry entry) {
    Stored stored = make_stored(key);
    if (size_ >= size_max_) {
      rehash(capacity_for(capacity_ + capacity_ * 2 / 5));
      slot = &slots_[free_slot(hash)];
    }
    place(*slot, std::move(stored), hash, entry.indegree - entry.fulfilled, entry.indegree);
    ++size_;
  }

  static Stored make_stored(const K& key) {
    if constexpr (boxed) {
      return std::make_unique<K>(key);
    } else {
      return key;
    }
  }

  [[nodiscard]] std::size_t free_slot(std::uint32_t hash) const {
    std::size_t i = home(hash);
    while (slots_[i].used()) i = next(i);
    return i;
  }

  // `slot.stored` is not alive.
  static void place(Slot& slot, Stored&& stored, std::uint32_t hash, int remaining, int indegree) {
    std::construct_at(&slot.stored, std::move(stored));
    slot.hash = hash;
    slot.remaining = remaining;
    slot.indegree = indegree;
  }

  // Invariant: no free slot lies between the home of a key and its slot. The hole moves forward
  // until it can be freed: a key fills it unless the hole lies before the key's home.
  void erase(std::size_t hole) {
    std::destroy_at(&slots_[hole].stored);
    for (std::size_t i = next(hole); slots_[i].used(); i = next(i)) {
      Slot& slot = slots_[i];
      if (distance(home(slot.hash), i) < distance(hole, i)) continue;
      place(slots_[hole], std::move(slot.stored), slot.hash, slot.remaining, slot.indegree);
      std::destroy_at(&slot.stored);
      hole = i;
    }
    slots_[hole].hash = 0;
    if (--size_ < size_min_) try_shrink();
  }

  void try_shrink() {
    try {
      rehash(capacity_for(size_ * 2));
    } catch (const std::bad_alloc&) {
      // The larger table does as well; the next erasure tries again.
    }
  }

  void rehash(std::size_t capacity) {
    SHOAL_CHECK(capacity >> 32 == 0, "a dependency table of {} slots: at most 2^32", capacity);
    DependencyTable old;
    old.slots_ = std::make_unique<Slot[]>(capacity);  // nothing below throws
    std::swap(slots_, old.slots_);
    old.capacity_ = std::exchange(capacity_, capacity);
    size_max_ = capacity * 3 / 4;
    size_min_ = capacity > capacity_min ? capacity / 8 : 0;
    for (std::size_t i = 0; i < old.capacity_; ++i) {
      Slot& slot = old.slots_[i];
      if (!slot.used()) continue;
      place(slots_[free_slot(slot.hash)], std::move(slot.stored), slot.hash, slot.remaining,
            slot.indegree);
    }
  }

  void destroy_keys() {
    if constexpr (!std::is_trivially_destructible_v<Stored>) {
      for (std::size_t i = 0; i < capacity_; ++i) {
        if (slots_[i].used()) std::destroy_at(&slots_[i].stored);
      }
    }
  }

  // Invariants: capacity_ slots, size_ of them used; capacity_ is 0 or at least capacity_min;
  // size_ <= size_max_ == 3/4 capacity_; with size_ < size_min_ the table is to shrink.
  std::unique_ptr<Slot[]> slots_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
  std::size_t size_min_ = 0;
};

/// The same for indices 0 <= index < n, in 4 bytes each, with no lock. Unlike DependencyTable, it
/// remembers which tasks ran.
/// Caller: any thread. Blocks: never (lock-free).
/// Ordering: all that happened before any fulfillment of an index happens before the return of the
/// one that gets Fulfill::ready.
class DenseTable {
 public:
  explicit DenseTable(std::size_t n)
      : remaining_(std::make_unique<std::atomic<std::int32_t>[]>(n)), n_(n) {}

  /// Counts `count` >= 1 dependencies of `index` as fulfilled. `indegree_of(index)` may be called
  /// by several threads and several times for one index, and must answer the same each time.
  /// Errors: CheckError for an index that is out of range, or a count or an indegree below 1.
  template <std::invocable<std::size_t> IndegreeFn>
  Fulfill fulfill(std::size_t index, int count, IndegreeFn&& indegree_of, Entry* out = nullptr) {
    SHOAL_CHECK(index < n_, "index {} of a dense index space of {}", index, n_);
    SHOAL_CHECK(count >= 1, "index {} fulfilled {} times: the count must be at least 1", index,
                count);
    std::atomic<std::int32_t>& cell = remaining_[index];
    // relaxed: only a guess, the exchange below checks it
    std::int32_t seen = cell.load(std::memory_order_relaxed);
    // Known before anything changes, since the program's function may throw; not needed for an
    // index seen before, unless the caller asks for it.
    int indegree = 0;
    while (true) {
      if (indegree == 0 && (seen == never_seen || out != nullptr)) {
        indegree = checked_indegree(index, indegree_of);
      }
      if (seen == has_run) return report(Fulfill::ran, {indegree, indegree}, out);
      const std::int32_t remaining = seen == never_seen ? indegree : seen;
      if (count > remaining) return report(Fulfill::over, {indegree - remaining, indegree}, out);
      const std::int32_t left = remaining - count;
      // release: writes of this caller; acquire, for the last one: writes of all before it. The
      // exchanges of one cell form a release sequence.
      if (cell.compare_exchange_weak(seen, left == 0 ? has_run : left, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
        return report(left == 0 ? Fulfill::ready : Fulfill::waiting, {indegree - left, indegree},
                      out);
      }
    }
  }

  /// Calls visitor(std::size_t index, int remaining) for every waiting index, in order. While other
  /// threads fulfil, each index is seen as it was at some moment of the call. Cost: linear in n.
  template <std::invocable<std::size_t, int> Visitor>
  void for_each(Visitor&& visitor) const {
    for (std::size_t index = 0; index < n_; ++index) {
      // relaxed: a snapshot of one counter; nothing else is read on its account
      const std::int32_t remaining = remaining_[index].load(std::memory_order_relaxed);
      if (remaining > 0) visitor(index, int{remaining});
    }
  }

  /// The same with visitor(std::size_t index, int fulfilled, int indegree).
  template <std::invocable<std::size_t, int, int> Visitor, std::invocable<std::size_t> IndegreeFn>
  void for_each(Visitor&& visitor, IndegreeFn&& indegree_of) const {
    for_each([&](std::size_t index, int remaining) {
      const int indegree = indegree_of(index);
      visitor(index, indegree - remaining, indegree);
    });
  }

  /// All tasks may run again. Caller: while no other thread uses the table.
  void reset() {
    for (std::size_t index = 0; index < n_; ++index) {
      // relaxed: the operation that lets others continue makes it visible to them
      remaining_[index].store(never_seen, std::memory_order_relaxed);
    }
  }

  /// Indices 0 <= index < capacity().
  [[nodiscard]] std::size_t capacity() const { return n_; }

  /// Indices that wait. Cost: linear in n.
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for_each([&count](std::size_t /*index*/, int /*remaining*/) { ++count; });
    return count;
  }

  [[nodiscard]] std::size_t memory_bytes() const { return n_ * sizeof(remaining_[0]); }

 private:
  static constexpr std::int32_t never_seen = 0;
  static constexpr std::int32_t has_run = -1;

  template <class IndegreeFn>
  static int checked_indegree(std::size_t index, IndegreeFn& indegree_of) {
    const int indegree = indegree_of(index);
    SHOAL_CHECK(indegree >= 1, "the indegree of index {} is {}: it must be at least 1", index,
                indegree);
    return indegree;
  }

  static Fulfill report(Fulfill result, Entry entry, Entry* out) {
    if (out != nullptr) *out = entry;
    return result;
  }

  // Any thread reads and writes, by compare-exchange only. 0 -> remaining -> ... -> -1, and back
  // by reset() only.
  std::unique_ptr<std::atomic<std::int32_t>[]> remaining_;
  std::size_t n_;
};

}  // namespace shoal::graph

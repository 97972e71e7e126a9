#pragma once
// A hash map in one array, for keys of any kind.

#include <shoal/detail/base/check.hpp>
#include <shoal/key.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace shoal {

/// @cond internals
/// Values of type T by keys of type K. `Hash` gives 64 or 32 bits; the highest bits of each half
/// depend on all of the key. (std::unordered_map allocates per key, and divides in each look-up.)
///
/// Open addressing with linear probing; erasing shifts the cluster back, so there are no tombstones
/// and probes stay short however many keys pass through. Capacity is at least `kCapacityMin` from
/// the first insertion on, grows by 2/5 at 3/4 full and shrinks when less than 1/8 full. A slot has
/// 4 bytes beside the key and the value. Keys and values that are large or may throw when moved
/// have an allocation each, and only their pointer moves.
///
/// **Caller**: one thread at a time. **Lifetime** of slots and values: until the next change.
/// **Errors**: exceptions of memory and of K's copy leave the map unchanged; hash and equality of K
/// must not throw.
template <class K, class T, class Hash = KeyHash<K>, std::size_t kCapacityMin = 16>
class FlatMap {
  struct Entry {
    K key;
    T value;
  };
  // Erasing and rehashing move entries and cannot be undone halfway: their moves do not throw.
  static constexpr std::size_t kMovedBytesMax = 128;
  static constexpr bool kBoxed = !std::is_nothrow_move_constructible_v<K> ||
                                 !std::is_nothrow_move_constructible_v<T> ||
                                 sizeof(Entry) > kMovedBytesMax;
  using Stored = std::conditional_t<kBoxed, std::unique_ptr<Entry>, Entry>;
  using HashValue = std::invoke_result_t<Hash, const K&>;

 public:
  /// The place of a key, or a free one.
  class Slot {
   public:
    // Leaves the bytes as they are.
    Slot() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init)
    [[nodiscard]] bool used() const { return hash_ != 0; }
    /// **Precondition** of both: used().
    [[nodiscard]] const K& key() const { return entry().key; }
    [[nodiscard]] T& value() { return entry().value; }
    [[nodiscard]] const T& value() const { return entry().value; }

   private:
    friend FlatMap;
    struct Zeros {};
    constexpr explicit Slot(Zeros /*zeros*/) : bytes_{} {}

    [[nodiscard]] bool is(std::uint32_t hash, const K& key) const {
      return hash_ == hash && key_equal(entry().key, key);
    }
    [[nodiscard]] Stored& stored() { return *std::launder(reinterpret_cast<Stored*>(bytes_)); }
    [[nodiscard]] const Entry& entry() const {
      const Stored& stored = *std::launder(reinterpret_cast<const Stored*>(bytes_));
      if constexpr (kBoxed) {
        return *stored;
      } else {
        return stored;
      }
    }
    [[nodiscard]] Entry& entry() { return const_cast<Entry&>(std::as_const(*this).entry()); }
    // Precondition: it is free.
    void fill(Stored&& stored, std::uint32_t hash) {
      std::construct_at(reinterpret_cast<Stored*>(bytes_), std::move(stored));
      hash_ = hash;
    }
    void end() { std::destroy_at(&stored()); }

    alignas(Stored) std::byte bytes_[sizeof(Stored)];  // a Stored if and only if used()
    std::uint32_t hash_ = 0;                           // of the key; 0: this slot is free
  };

  FlatMap() = default;
  FlatMap(const FlatMap& other)
    requires std::is_copy_constructible_v<T>
  {
    other.for_each([this](const K& key, const T& value) { insert(key, value); });
  }
  FlatMap(FlatMap&& other) noexcept { swap(other); }
  FlatMap& operator=(FlatMap&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FlatMap() {
    if constexpr (!std::is_trivially_destructible_v<Stored>) {
      for (std::size_t i = 0; i < capacity_; ++i) {
        if (slots_[i].used()) slots_[i].end();
      }
    }
  }
  void swap(FlatMap& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    std::swap(size_max_, other.size_max_);
    std::swap(size_min_, other.size_min_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Calls visitor(const K& key, const T& value) for every key, in no order.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (slots_[i].used()) visitor(slots_[i].key(), slots_[i].value());
    }
  }

  /// The slot of `key`, or the free one where it belongs. Functions with a `hash` are for callers
  /// that know it: Hash()(key).
  [[nodiscard]] Slot* locate(HashValue hash, const K& key) const {
    const std::uint32_t wanted = slot_hash(hash);
    Slot* slot = slots_ + home(wanted);
    if (slot->is(wanted, key)) [[likely]]
      return slot;
    Slot* const end = slots_ + capacity_;
    while (slot->used()) {  // ends, because the table is at most 3/4 full
      if (++slot == end) slot = slots_;
      if (slot->is(wanted, key)) break;
    }
    return slot;
  }
  [[nodiscard]] Slot* locate(const K& key) const { return locate(Hash()(key), key); }
  /// nullptr: there is none.
  [[nodiscard]] T* find(HashValue hash, const K& key) {
    Slot* const slot = locate(hash, key);
    return slot->used() ? &slot->value() : nullptr;
  }
  [[nodiscard]] T* find(const K& key) { return find(Hash()(key), key); }

  /// `slot`: result of locate(), which is free.
  T& insert(Slot* slot, HashValue hash, const K& key, T value) {
    Stored stored = make_stored(key, std::move(value));
    const std::uint32_t stored_hash = slot_hash(hash);
    if (size_ >= size_max_) {
      rehash(at_least_min(capacity_ + capacity_ * 2 / 5));
      slot = free_slot(stored_hash);
    }
    slot->fill(std::move(stored), stored_hash);
    ++size_;
    return slot->value();
  }
  /// **Precondition**: find() gives nothing.
  T& insert(HashValue hash, const K& key, T value) {
    return insert(locate(hash, key), hash, key, std::move(value));
  }
  T& insert(const K& key, T value) { return insert(Hash()(key), key, std::move(value)); }

  /// `slot`: result of locate(), which is used.
  void erase(Slot* slot) {
    // Invariant: no free slot lies between the home of a key and its slot. The hole moves forward
    // until it can be freed: an entry fills it unless the hole lies before the entry's home.
    slot->end();
    auto hole = static_cast<std::size_t>(slot - slots_);
    for (std::size_t i = next(hole); slots_[i].used(); i = next(i)) {
      Slot& moved = slots_[i];
      if (distance(home(moved.hash_), i) < distance(hole, i)) continue;
      slots_[hole].fill(std::move(moved.stored()), moved.hash_);
      moved.end();
      hole = i;
    }
    slots_[hole].hash_ = 0;
    if (--size_ < size_min_) try_shrink();
  }
  /// Nothing if there is no such key.
  void erase(HashValue hash, const K& key) {
    if (Slot* const slot = locate(hash, key); slot->used()) erase(slot);
  }
  void erase(const K& key) { erase(Hash()(key), key); }
  void clear() { FlatMap().swap(*this); }

 private:
  // A map without memory has this one, which is never written: look-ups need not ask.
  static constexpr Slot kNone{typename Slot::Zeros()};

  static std::size_t at_least_min(std::size_t wanted) {
    return wanted < kCapacityMin ? kCapacityMin : wanted;
  }
  // Callers may have used some bits to choose this map among many: each bit of the result has
  // another one, from the other half, in it. Not 0: the lowest bit hardly tells where home() is.
  static std::uint32_t slot_hash(HashValue hash) {
    if constexpr (sizeof(HashValue) > 4) {
      return static_cast<std::uint32_t>(hash ^ (hash >> 32U)) | 1U;
    } else {
      return hash | 1U;
    }
  }
  // Spreads hashes over [0, capacity) in their order, so that a rehash writes the new table from
  // front to back, and any capacity will do.
  [[nodiscard]] std::size_t home(std::uint32_t hash) const {
    return static_cast<std::size_t>((std::uint64_t{hash} * capacity_) >> 32U);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return i + 1 == capacity_ ? 0 : i + 1; }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + capacity_ - from;
  }
  [[nodiscard]] Slot* free_slot(std::uint32_t hash) const {
    std::size_t i = home(hash);
    while (slots_[i].used()) i = next(i);
    return &slots_[i];
  }
  static Stored make_stored(const K& key, T&& value) {
    if constexpr (kBoxed) {
      return std::make_unique<Entry>(Entry{key, std::move(value)});
    } else {
      return {key, std::move(value)};
    }
  }

  void try_shrink() {
    try {
      rehash(at_least_min(size_ * 2));
    } catch (const std::bad_alloc&) {
      // The larger table does as well; the next erasure tries again.
    }
  }
  void rehash(std::size_t capacity) {
    SHOAL_CHECK(capacity >> 32U == 0, "a hash table of {} slots: at most 2^32", capacity);
    FlatMap old;
    old.memory_ = std::make_unique<Slot[]>(capacity);  // nothing below throws
    std::swap(memory_, old.memory_);
    old.slots_ = std::exchange(slots_, memory_.get());
    old.capacity_ = std::exchange(capacity_, capacity);
    size_max_ = capacity * 3 / 4;
    size_min_ = capacity > kCapacityMin ? capacity / 8 : 0;
    for (std::size_t i = 0; i < old.capacity_; ++i) {
      Slot& slot = old.slots_[i];
      if (slot.used()) free_slot(slot.hash_)->fill(std::move(slot.stored()), slot.hash_);
    }
  }

  // Invariants: capacity_ slots, size_ of them used; capacity_ is 0 or at least kCapacityMin;
  // size_ <= size_max_ == 3/4 capacity_; with size_ < size_min_ the table is to shrink.
  std::unique_ptr<Slot[]> memory_;
  Slot* slots_ = const_cast<Slot*>(&kNone);  // memory_, if there is some
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
  std::size_t size_min_ = 0;
};

/// @endcond
}  // namespace shoal

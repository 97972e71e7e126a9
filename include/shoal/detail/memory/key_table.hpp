#pragma once
// Hash table by addresses in global memory.

#include <shoal/global_ptr.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace shoal::memory {

/// Values by address. A look-up of a key that is there takes about 15 instructions, and no division
/// as in std::unordered_map. Values are movable and have a default.
///
/// Linear probing in a power of two of slots, at most half of them in use. Erasing shifts the
/// cluster back. **Caller**: one thread at a time. **Lifetime** of what find() returns: until the
/// next change.
template <class Value>
class KeyTable {
 public:
  /// Not null.
  using Key = GlobalPtr<const std::byte>;

  [[nodiscard]] std::size_t size() const { return size_; }

  /// nullptr: there is none.
  [[nodiscard]] Value* find(Key key) {
    for (std::size_t i = home(key);; i = next(i)) {
      Slot& slot = slots_[i];
      if (slot.key == key) [[likely]]
        return &slot.value;
      if (!slot.key) return nullptr;
    }
  }
  /// **Precondition**: find() gives nothing.
  void insert(const Key& key, Value value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({key, std::move(value)});
    ++size_;
  }
  /// **Precondition**: find() gives something.
  void erase(const Key& key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key) hole = next(hole);
    slots_[hole] = {};
    for (std::size_t i = next(hole); slots_[i].key; i = next(i)) {
      // It may move to the hole if that is on its way from its home.
      if (distance(home(slots_[i].key), i) < distance(hole, i)) continue;
      slots_[hole] = std::exchange(slots_[i], {});
      hole = i;
    }
    --size_;
  }
  void clear() {
    slots_ = std::vector<Slot>(kSlotsMin);
    mask_ = kSlotsMin - 1;
    size_ = 0;
  }
  /// Calls f(key) for all keys, in no order. f changes nothing.
  template <class F>
  void for_each_key(F f) const {
    for (const Slot& slot : slots_) {
      if (slot.key) f(slot.key);
    }
  }

 private:
  static constexpr std::size_t kSlotsMin = 8;

  struct Slot {
    Key key;  // null: it is free
    Value value{};
  };

  [[nodiscard]] std::size_t home(const Key& key) const { return std::hash<Key>()(key) & mask_; }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask_; }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return (to - from) & mask_;
  }
  void place(Slot slot) {
    std::size_t i = home(slot.key);
    while (slots_[i].key) i = next(i);
    slots_[i] = std::move(slot);
  }
  void grow() {
    std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    mask_ = slots_.size() - 1;
    for (Slot& slot : before) {
      if (slot.key) place(std::move(slot));
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kSlotsMin);
  std::size_t mask_ = kSlotsMin - 1;  // slots_.size() - 1, without a division
  std::size_t size_ = 0;
};

}  // namespace shoal::memory

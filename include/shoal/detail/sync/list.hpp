#pragma once
// Lists with links that are members of their elements: nothing is allocated.

#include <utility>

namespace shoal::sync {

template <class T>
struct ListLink {
  T* previous = nullptr;
  T* next = nullptr;
};

/// Doubly linked: an element leaves its list in constant time. Owns nothing. Each T is in at most
/// one list per link.
template <class T, ListLink<T> T::*kLink>
class List {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] T* first() const { return first_; }
  [[nodiscard]] T* last() const { return last_; }
  [[nodiscard]] static T* next(const T& item) { return (item.*kLink).next; }

  void push_back(T& item) { insert_before(nullptr, item); }

  /// Inserts an item before `place`, or at the end if that is nullptr.
  void insert_before(T* place, T& item) {
    ListLink<T>& link = item.*kLink;
    link.next = place;
    link.previous = place == nullptr ? last_ : (place->*kLink).previous;
    (link.previous == nullptr ? first_ : (link.previous->*kLink).next) = &item;
    (place == nullptr ? last_ : (place->*kLink).previous) = &item;
  }

  void erase(T& item) {
    ListLink<T>& link = item.*kLink;
    (link.previous == nullptr ? first_ : (link.previous->*kLink).next) = link.next;
    (link.next == nullptr ? last_ : (link.next->*kLink).previous) = link.previous;
    link = {};
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

/// Singly linked queue of objects that have a member `T* next`, first in, first out. Owns nothing.
template <class T>
class Fifo {
 public:
  Fifo() = default;
  Fifo(Fifo&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  Fifo& operator=(Fifo&&) = delete;

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] T* first() const { return first_; }
  void push(T& item) {
    item.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &item;
    last_ = &item;
  }
  /// Moves all items of `other` to the end.
  void append(Fifo& other) {
    if (other.empty()) return;
    (last_ != nullptr ? last_->next : first_) = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
  }
  /// Removes the first item and returns it; nullptr if there is none.
  T* pop() {
    T* const item = first_;
    if (item == nullptr) return nullptr;
    first_ = std::exchange(item->next, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    return item;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace shoal::sync

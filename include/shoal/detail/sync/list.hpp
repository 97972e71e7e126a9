#pragma once
// Doubly linked lists whose links are members of their elements: nothing is allocated, and an
// element leaves its list in constant time.

namespace shoal::sync {

template <class T>
struct ListLink {
  T* previous = nullptr;
  T* next = nullptr;
};

/// Owns nothing. Each T is in at most one list per link.
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

}  // namespace shoal::sync

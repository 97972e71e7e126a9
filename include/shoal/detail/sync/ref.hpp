#pragma once
// A pointer to an object that counts its references itself.

#include <concepts>
#include <cstddef>
#include <utility>

namespace shoal::sync {

/// Shares a T, for which add_reference(T*) and remove_reference(T*) are found by the type of T.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over a reference that was counted already.
  explicit Ref(T* counted) : object_(counted) {}
  ~Ref() {
    if (object_ != nullptr) remove_reference(object_);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) add_reference(object_);
  }
  template <class Derived>
    requires std::convertible_to<Derived*, T*>
  Ref(const Ref<Derived>& other)  // NOLINT(google-explicit-constructor): as for pointers
      : object_(other.get()) {
    if (object_ != nullptr) add_reference(object_);
  }
  Ref(Ref&& other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  [[nodiscard]] T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  bool operator==(std::nullptr_t) const { return object_ == nullptr; }
  /// Gives the reference up without removing it.
  [[nodiscard]] T* detach() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace shoal::sync

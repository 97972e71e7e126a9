#pragma once
// Values that no one changes any more, so that ranks of one process may share them.

#include <shoal/archive.hpp>
#include <shoal/detail/base/check.hpp>

namespace shoal {

/// A shared handle to a const T. Sent as an argument, it is copied between processes, and handed
/// over without a copy within one; the receiver cannot tell the difference, since T never changes.
/// Guarantees: T lives as long as any handle to it in this process; copying a handle copies no T.
/// Caller: any thread; one handle is not to be changed by two threads at once (as std::shared_ptr).
/// Source: stapl-rts-thesis, section 6.2.1.3, "permanently immutable objects".
template <class T>
class Immutable {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_array_v<T>,
                "shoal: Immutable<T> adds the const itself: T is a plain object type");
  static_assert(!wire::holds_view_v<T>,
                "shoal: an Immutable keeps its value, and a view owns none: take std::string or "
                "std::vector");

 public:
  /// Makes an empty handle.
  Immutable() = default;
  /// Makes a handle to an existing value that does not change any more.
  explicit Immutable(std::shared_ptr<const T> value) : value_(std::move(value)) {}

  /// Returns the value. **Errors**: CheckError when the handle is empty.
  [[nodiscard]] const T& get() const {
    SHOAL_CHECK(value_ != nullptr, "an empty Immutable has no value: use make_immutable()");
    return *value_;
  }
  /// Returns a reference to the value. **Errors**: CheckError when the handle is empty.
  [[nodiscard]] const T& operator*() const { return get(); }
  /// Gives access to a member of the value. **Errors**: CheckError when the handle is empty.
  [[nodiscard]] const T* operator->() const { return &get(); }

  /// Whether there is a value.
  explicit operator bool() const { return value_ != nullptr; }

  /// The pointer that the handle holds.
  [[nodiscard]] const std::shared_ptr<const T>& shared() const { return value_; }
  /// Handles to this value in this process; a hint only while other threads copy or drop handles.
  [[nodiscard]] std::size_t use_count() const {
    return static_cast<std::size_t>(value_.use_count());
  }

 private:
  std::shared_ptr<const T> value_;
};

/// Makes a T from `args` and a handle to it. Cost: one allocation.
template <class T, class... Args>
[[nodiscard]] Immutable<T> make_immutable(Args&&... args) {
  return Immutable<T>(std::make_shared<const T>(std::forward<Args>(args)...));
}

/// Makes a handle to a value of the caller's, which owns nothing: ranks of the process get the
/// value itself, without a copy. **Lifetime**: `value` is neither changed nor destroyed before the
/// next synchronization of all its receivers: a wait() or fence(). **Source**: stapl-rts thesis,
/// section 6.2.1.3, "temporarily immutable objects".
template <class T>
[[nodiscard]] Immutable<T> immutable(const T& value) {
  return Immutable<T>(std::shared_ptr<const T>(std::shared_ptr<const T>(), &value));
}

namespace wire {

template <class T>
struct IsPlain<Immutable<T>> : IsPlain<T> {};

/// Codec of an Immutable between processes: the value itself travels, and the receiver has its own
/// copy.
template <class T>
struct Codec<Immutable<T>> {
  template <class Archive>
  static constexpr void save(Archive& ar, const Immutable<T>& value) {
    ar(static_cast<std::uint8_t>(value ? 1 : 0));
    if (value) ar(*value);
  }

  static Immutable<T> load(ReadArchive& ar) {
    if (load_index(ar, 2, "presence behind a shoal::Immutable") == 0) return {};
    return make_immutable<T>(wire::load<T>(ar));
  }
};

}  // namespace wire

}  // namespace shoal

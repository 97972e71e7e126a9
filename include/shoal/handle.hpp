#pragma once
// Handles: names of distributed objects that travel, and the types that have one.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/object/objects.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

template <class T>
class Handle;
template <class T>
class DistributedObject;
template <class Self, class Root>
class Invoker;

namespace object {

template <class T>
inline constexpr bool is_handle_v = false;
template <class T>
inline constexpr bool is_handle_v<Handle<T>> = true;

/// X is, or derives from, a class of distributed objects: `x.handle()` is a Handle.
template <class X>
concept Distributed = std::is_class_v<X> && !is_handle_v<X> && requires(const X& object) {
  requires is_handle_v<std::remove_cvref_t<decltype(object.handle())>>;
};

/// Class under which the representatives of X are registered: X itself, or a base of it.
template <Distributed X>
using RootOf = typename std::remove_cvref_t<decltype(std::declval<const X&>().handle())>::Object;

/// The representative behind a registered address. In its base's constructor it is no Root yet, so
/// the address of the base is registered.
template <class Root>
Root& root_at(void* representative) {
  if constexpr (std::is_base_of_v<DistributedObject<Root>, Root>) {
    return static_cast<Root&>(*static_cast<DistributedObject<Root>*>(representative));
  } else {
    return *static_cast<Root*>(representative);
  }
}

/// The representative as an X. **Errors**: CheckError when it is of another class.
template <class X, class Root>
X& as_class(Root& root) {
  if constexpr (std::is_base_of_v<X, Root>) {
    return root;
  } else if constexpr (std::is_polymorphic_v<Root>) {
    X* const found = dynamic_cast<X*>(&root);
    SHOAL_CHECK(found != nullptr,
                "a representative is no {}: all members make objects of this class, whose methods "
                "are invoked",
                type_name<X>());
    return *found;
  } else {
    static_assert(std::is_polymorphic_v<Root>,
                  "shoal: a parameter of a class derived from the object's class, which needs a "
                  "virtual function then, such as the destructor, to find out what a "
                  "representative is");
  }
}

/// Object of an invocation, as its caller names it.
struct Place {
  Objects* objects = nullptr;  // nullptr: the caller's rank is no member of the team
  Address address;
  Order order = Order::causal;
};

/// Team of all ranks, on the calling rank. **Errors**: CheckError, naming `what`, on a thread
/// outside the workers.
[[nodiscard]] Team& world_here(const char* what);
/// Refuses the index of an element of a container. **Errors**: CheckError that names it.
[[noreturn]] void refuse_element(const Place& place, std::size_t index, std::size_t size);
/// Refuses an element that the invoking rank expects on this rank and that is on another one.
/// **Errors**: CheckError that names it.
[[noreturn]] void refuse_distribution(const Place& place, std::size_t index, std::size_t size);
/// Table of the team of an object on the calling rank. **Errors**: CheckError, naming `what`.
[[nodiscard]] Objects& objects_for(const Address& address, const char* what);

}  // namespace object

/// Names a distributed object on all ranks: compact, comparable, travels in messages. T is the
/// class that the object registers (see DistributedObject). It may outlive the object: using it
/// then is an error that names the object.
///
/// Ranks that are no members of the object's team invoke, too; their invocations go through rank 0
/// of the team, and wait there until it has made the object. **Source**: stapl-rts thesis,
/// sections 7.5, 7.6.
template <class T>
class Handle : public Invoker<Handle<T>, T> {
 public:
  /// Class of the representatives.
  using Object = T;

  /// Makes a handle that names no object.
  Handle() = default;
  /// Makes a handle that names no object.
  Handle(std::nullptr_t /*none*/) {}  // NOLINT(google-explicit-constructor)
  /// @cond internals
  /// Names the object with this address.
  explicit Handle(const object::Address& address) : address_(address) {}
  /// @endcond
  /// Handle of an object, so that references and pointers to objects travel as handles in messages.
  template <object::Distributed X>
    requires std::same_as<object::RootOf<X>, T>
  Handle(const X& object)  // NOLINT(google-explicit-constructor)
      : address_(object.handle().address()) {}
  /// Handle of the object behind a pointer.
  template <object::Distributed X>
    requires std::same_as<object::RootOf<X>, T>
  Handle(const X* object)  // NOLINT(google-explicit-constructor): nullptr names no object
      : address_(object != nullptr ? object->handle().address() : object::Address()) {}

  /// Returns whether it names an object.
  [[nodiscard]] explicit operator bool() const { return address_.number != 0; }
  /// Returns whether both name the same object.
  [[nodiscard]] bool operator==(const Handle& other) const { return address_ == other.address_; }
  /// Compares in a total order.
  [[nodiscard]] auto operator<=>(const Handle& other) const { return address_ <=> other.address_; }

  /// Returns the representative on the calling rank; nullptr if there is none. **Errors**:
  /// CheckError when this rank has made an object of another class in its place. **Caller**: a
  /// task, handler or main function.
  [[nodiscard]] T* find() const {
    const object::Objects* const objects = object::Objects::find(address_.team, "a handle");
    void* const representative =
        objects != nullptr ? objects->find(address_.number, object::object_class<T>) : nullptr;
    return representative != nullptr ? &object::root_at<T>(representative) : nullptr;
  }
  /// Returns the representative on the calling rank. **Errors**: CheckError that says why there is
  /// none, or names the class of another object that was made in its place. **Caller**: a task,
  /// handler or main function.
  [[nodiscard]] T& get() const {
    const object::Objects& objects = object::objects_for(address_, "a handle");
    return object::root_at<T>(objects.get(address_, object::object_class<T>));
  }
  /// @cond internals
  /// Place of the object, for Invoker.
  [[nodiscard]] object::Place place_of_object() const;

  /// Address of the object.
  [[nodiscard]] const object::Address& address() const { return address_; }
  /// @endcond

 private:
  object::Address address_;
};

/// @cond internals
template <class T>
object::Place Handle<T>::place_of_object() const {
  return {object::Objects::find(address_.team, "a handle"), address_, object::Order::causal};
}
/// @endcond

}  // namespace shoal

template <class T>
struct std::hash<shoal::Handle<T>> {
  std::size_t operator()(const shoal::Handle<T>& handle) const noexcept {
    return std::hash<std::uint64_t>{}(handle.address().team * 31 + handle.address().number);
  }
};

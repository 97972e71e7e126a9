#pragma once
// Distributed objects: one representative on each rank of a team.

#include <shoal/invoker.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace shoal {

namespace object {

/// Registration of a representative during its lifetime.
class Registration {
 public:
  /// Registers a representative of this class.
  Registration(Team& team, void* representative, const ObjectClass& registered);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Table of the team.
  [[nodiscard]] Objects& objects() const { return *objects_; }
  /// Address of the object.
  [[nodiscard]] Address address() const {
    Address now = address_;
    now.epoch = epoch_.load(std::memory_order_relaxed);  // relaxed: of the caller's past, at least
    return now;
  }
  /// Place of the object.
  [[nodiscard]] Place place() const { return {objects_.get(), address(), Order::causal}; }
  /// Registers the new address of a representative that has moved.
  void move_to(void* representative) { objects_->move(address_, representative); }

 private:
  const std::shared_ptr<Objects> objects_;
  std::atomic<std::uint32_t> epoch_{0};  // written by `objects_`
  const Address address_;
};

}  // namespace object

/// A member that makes its class a class of distributed objects: `OwnedHandle<A> handle_{team,
/// *this}`, with `const OwnedHandle<A>& handle() const`. Everything else is as for
/// DistributedObject.
template <class T>
class OwnedHandle : public Invoker<OwnedHandle<T>, T> {
 public:
  /// Class of the representatives.
  using Object = T;

  /// Registers a representative; see DistributedObject.
  OwnedHandle(Team& team, T& representative)
      : registration_(std::make_unique<object::Registration>(team, &representative,
                                                             object::object_class<T>)) {}
  /// Takes the registration over for a representative that was moved here.
  OwnedHandle(OwnedHandle&& other, T& representative) noexcept
      : registration_(std::move(other.registration_)) {
    registration_->move_to(&representative);
  }

  /// @cond internals
  /// Address of the object.
  [[nodiscard]] object::Address address() const { return registration_->address(); }
  /// @endcond
  /// Handle of the object.
  [[nodiscard]] operator Handle<T>() const {  // NOLINT(google-explicit-constructor)
    return Handle<T>(address());
  }
  /// Team of the object.
  [[nodiscard]] Team& team() const { return registration_->objects().team(); }
  /// @cond internals
  /// Place of the object, for Invoker.
  [[nodiscard]] object::Place place_of_object() const { return registration_->place(); }
  /// @endcond

 private:
  std::unique_ptr<object::Registration> registration_;
};

/// Base of a class T of distributed objects: `class A : public DistributedObject<A>`. All members
/// of a team make it, in their main functions or in one task each, in the same order as their other
/// distributed objects on the team; each has its own representative. The constructor sends nothing.
/// Representatives may be destroyed in any order, each rank for itself: an invocation that arrives
/// later is an error that names the object.
///
/// Between two points at which it waits, the code that has made the object may use its
/// representative freely: no invocation runs on that rank meanwhile, whatever its team. (So
/// constructors and destructors are not interrupted.) A copy is another object, on all ranks; a
/// moved representative is not. **Source**: stapl-rts thesis, sections 3.3 and 3.4.
template <class T>
class DistributedObject : public Invoker<DistributedObject<T>, T> {
 public:
  /// Class of the representatives.
  using Object = T;

  /// Name of the object on all ranks.
  [[nodiscard]] Handle<T> handle() const { return Handle<T>(registration_->address()); }
  /// Team of the object.
  [[nodiscard]] Team& team() const { return registration_->objects().team(); }
  /// Rank of the representative in its team.
  [[nodiscard]] Rank rank() const { return team().rank(); }
  /// @cond internals
  /// Place of the object, for Invoker.
  [[nodiscard]] object::Place place_of_object() const { return registration_->place(); }
  /// @endcond

 protected:
  /// Registers a representative.
  explicit DistributedObject(Team& team)
      : registration_(
            std::make_unique<object::Registration>(team, self(), object::object_class<T>)) {}
  /// Makes another object. Collective: all ranks copy theirs in the same order.
  DistributedObject(const DistributedObject& other) : DistributedObject(other.team()) {}
  /// Takes over the registration of the object that was moved.
  DistributedObject(DistributedObject&& other) noexcept
      : registration_(std::move(other.registration_)) {
    registration_->move_to(self());
  }
  /// Leaves the registrations unchanged: each object keeps its own.
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned
  DistributedObject& operator=(const DistributedObject& /*other*/) { return *this; }
  /// Takes over the registration of the object that was moved.
  DistributedObject& operator=(DistributedObject&& other) noexcept {
    if (this != &other) {
      registration_ = std::move(other.registration_);
      registration_->move_to(self());
    }
    return *this;
  }
  ~DistributedObject() = default;

 private:
  /// Address under which the representative is registered; object::root_at() finds the object by
  /// it.
  void* self() { return this; }

  std::unique_ptr<object::Registration> registration_;
};

}  // namespace shoal

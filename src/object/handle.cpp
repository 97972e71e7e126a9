#include <shoal/distributed_object.hpp>

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <exception>

namespace shoal::object {

Objects& objects_for(const Address& address, const char* what) {
  Objects* const objects = Objects::find(address.team, what);
  if (objects == nullptr) {
    throw CheckError(
        fmt::format("{} of object {} was used on rank {} of the world, which is not a member of "
                    "the object's team: invoke methods by the handle, or use it on a member",
                    what, address.number, sched::current_scheduler(what).rank().value()));
  }
  return *objects;
}

Objects& sender_of(const Place& place) {
  SHOAL_CHECK(place.address.number != 0,
              "an empty handle was used: take handle() of an object first");
  return place.objects != nullptr ? *place.objects : objects_for(place.address, "a handle");
}

void fence(Objects& objects) {
  objects.set_draining(true);
  try {
    objects.team().wait();
  } catch (...) {
    objects.set_draining(false);
    objects.pass_fences(std::current_exception());
    throw;
  }
  objects.set_draining(false);
  objects.advance_epoch();
  objects.pass_fences(nullptr);
}

namespace {

void tunnel_closed(Team& team, std::uint64_t context) { Objects::of(team).close_tunnel(context); }

}  // namespace

void close_tunnel(Objects& objects, Rank to, std::uint64_t context) {
  if (objects.scope().failed()) return;
  messaging::send(objects.channel(), to, am<&tunnel_closed>, context);
}

Registration::Registration(Team& team, void* representative, const ObjectClass& registered)
    : objects_(Objects::of(team).shared_from_this()),
      address_(objects_->add(representative, registered, epoch_)) {}

Registration::~Registration() { objects_->remove(address_); }

}  // namespace shoal::object

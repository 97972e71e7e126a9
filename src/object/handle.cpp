#include <shoal/distributed_object.hpp>

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <exception>

#include "team/messenger.hpp"

namespace shoal::object {

Objects& objects_for(const Address& address, const char* what) {
  Objects* const objects = Objects::find(address.team, what);
  if (objects == nullptr) {
    throw CheckError(fmt::format(
        "{} of object {} was used on rank {} of the world, which is not a member of "
        "the object's team: invoke methods by the handle, or use it on a member",
        what, address.number, sched::current_scheduler(what, sched::kUseInTask).rank().value()));
  }
  return *objects;
}

Objects& sender_of(const Place& place) {
  if (place.address.number == 0) refuse_empty_handle();
  return place.objects != nullptr ? *place.objects : objects_for(place.address, "a handle");
}

void fail_call(const Objects& objects, const Invocation& invocation, int rank, bool in_world,
               std::uint64_t number) {
  const std::string text = shoal::describe(sched::caught_exception());
  team::fail_promise(objects.core(), rank, in_world, number, objects.name_of(invocation), text);
}

void refuse_target(const Objects* objects, std::uint32_t number, int size,
                   const team::StaticHandler& handler, Rank to) {
  const std::string& method = team::static_handlers()[handler.index()].name;
  const std::string object =
      objects != nullptr ? objects->name_of(number) : fmt::format("object {}", number);
  const std::string call = fmt::format("{} of {}", method, object);
  if (objects != nullptr) objects->core().refuse_rank(call, to.value());
  detail::refuse_rank(call, to.value(),
                      sched::current_scheduler("a handle", sched::kUseInTask).rank(),
                      "the object's team", size);
}

void check_target(const Objects& objects, std::uint32_t number, const team::StaticHandler& handler,
                  Rank to) {
  const TeamCore& team = objects.core();
  if (!team.has(to)) refuse_target(&objects, number, team.size(), handler, to);
}

void refuse_element(const Place& place, std::size_t index, std::size_t size) {
  const Objects& objects = sender_of(place);
  detail::refuse_element(objects.name_of(place.address.number), index,
                         objects.core().messenger().rank(), size);
}

void refuse_distribution(const Place& place, std::size_t index, std::size_t size) {
  const Objects& objects = sender_of(place);
  throw CheckError(fmt::format(
      "{}, on rank {}: element {}, which another rank looks for here, is not here: this rank has "
      "made it of {} elements; all members make it with the same sizes and distribution",
      objects.name_of(place.address.number), objects.core().messenger().rank(), index, size));
}

void refuse_number(const Place& place, detail::TextValue number, std::string_view type) {
  const std::string object = place.objects != nullptr
                                 ? place.objects->name_of(place.address.number)
                                 : fmt::format("object {}", place.address.number);
  detail::refuse_number(
      fmt::format("argument of a function for {}, on rank {}", object,
                  sched::current_scheduler("a handle", sched::kUseInTask).rank().value()),
      number, type);
}

void refuse_number(const team::StaticHandler& handler, detail::TextValue number,
                   std::string_view type) {
  detail::refuse_number(
      fmt::format("invocation of {}, on rank {}", team::static_handlers()[handler.index()].name,
                  sched::current_scheduler("a handle", sched::kUseInTask).rank().value()),
      number, type);
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
  if (objects.core().failed()) return;
  team::send(objects.core(), to, am<&tunnel_closed>, context);
}

Registration::Registration(Team& team, void* representative, const ObjectClass& registered)
    : objects_(Objects::of(team).shared_from_this()),
      address_(objects_->add(representative, registered, epoch_)) {}

Registration::~Registration() { objects_->remove(address_); }

}  // namespace shoal::object

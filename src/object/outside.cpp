// Invocations that are counted outside the object's team.
//
// On a rank that is no member they go through rank 0 of the team: a message of the world, and one
// of the team. A rank sends all of its own on that way, or all directly, so they keep their order.
// The caller's team waits for the end of each invocation, not of its message, which only queues it.

#include <shoal/am/backlog.hpp>
#include <shoal/am/messenger.hpp>
#include <shoal/base/check.hpp>
#include <shoal/base/key.hpp>
#include <shoal/object/invoker.hpp>
#include <shoal/runtime/world.hpp>

#include "base/bytes.hpp"
#include "object/outside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::object {

namespace {

using Bytes = std::vector<std::byte>;

TeamHandle team_of(const Address& address) { return {address.team, address.home, address.size}; }

/// On the target.
void arrive(Team& team, const Outside& outside, const Bytes& arguments) {
  const Address& address = outside.address;
  Objects& objects = Objects::of(team);
  const std::uint64_t context =
      outside.context != 0 ? context_on(outside.context, Rank(outside.target)) : 0;
  const net::RunPrefix prefix = Target{context, address.number, outside.epoch}.to_prefix();
  const messaging::Message message{.channel = &objects.channel(),
                                   .source = Rank(outside.origin),
                                   .is_object = false,
                                   .dropped = false,
                                   .arguments = as_span(arguments),
                                   .prefix = &prefix};
  messaging::Batch batch(message);
  Outside copy = outside;
  messaging::static_handlers()[outside.handler].invoke(&copy, batch);
}

void pass_to(Team& team, const Outside& outside, Bytes arguments) {
  SHOAL_CHECK(team.rank_of(Rank(outside.origin)) < 0,
              "{}: that rank is a member of the team, and must make the object before it invokes",
              describe(outside));
  messaging::send(team.scope().channel(), Rank(outside.target), am<&arrive>, outside,
                  std::move(arguments));
}

void pass_on_all(HeldOutside& held, Team& team) {
  for (HeldOutside::Held& one : held.take(team.scope().channel().team().id())) {
    pass_to(team, one.outside, std::move(one.arguments));
  }
}

void pass_on_held_here(World& world, const Address& address) {
  Team* const team = world.find(team_of(address));
  if (team != nullptr) pass_on_all(HeldOutside::of(world.scope().channel()), *team);
}

// By a handler: what comes from outside later is handled after it.
void pass_on_held(Team& team) {
  const TeamHandle handle = team.handle();
  Team& world = team.scope().channel().messenger().world().services().get<Team>();
  messaging::send(world.scope().channel(), world.rank(), am<&pass_on_held_here>,
                  Address{handle.id, 0, handle.first, handle.size});
}

/// On rank 0 of the team.
void pass_on(World& world, const Outside& outside, Bytes arguments) {
  HeldOutside& held = HeldOutside::of(world.scope().channel());
  const TeamHandle handle = team_of(outside.address);
  // Looked for before the team: a team has a channel only while it exists, or ends.
  const bool is_known = world.scope().messenger().find_channel(handle.id) != nullptr;
  if (Team* const team = world.find(handle); team != nullptr) {
    pass_on_all(held, *team);
    return pass_to(*team, outside, std::move(arguments));
  }
  if (is_known || held.has_ended(outside.address.team)) {
    SHOAL_CHECK(outside.may_miss != 0,
                "{}: its team has ended: keep the object until all invocations have run",
                describe(outside));
    if (outside.sender == 0) return;
    const messaging::Messenger& messenger = world.scope().messenger();
    return messenger.backlog().listener().acknowledge(Rank(outside.origin), outside.sender, 1);
  }
  held.hold(outside, std::move(arguments), &pass_on_held);
  // Either its first object sees that something is held, or the team is there now.
  if (Team* const team = world.find(handle); team != nullptr) pass_on_all(held, *team);
}

}  // namespace

Team& world_here(const char* what) {
  auto& scope = static_cast<term::Scope&>(sched::current_scheduler(what).scope());
  return scope.channel().services().get<Team>();
}

void refuse_empty_handle() { throw CheckError("an empty handle was used"); }

messaging::Channel& reply_channel(const Place& place) {
  return place.objects != nullptr ? place.objects->channel()
                                  : world_here("a handle").scope().channel();
}

std::uint64_t fresh_outside_context() {
  return Objects::of(world_here("bind()").scope().channel()).fresh_context();
}

void send_outside(const Place& place, Rank to, const messaging::StaticHandler& handler,
                  std::vector<std::byte> arguments, std::uint32_t epoch, std::uint64_t context,
                  bool may_miss) {
  const Address& address = place.address;
  SHOAL_CHECK(to >= 0 && to.value() < address.size,
              "rank {} is out of range: the object's team has ranks 0 to {}", to.value(),
              address.size - 1);
  Outside outside{.address = address,
                  .context = 0,
                  .sender = 0,
                  .target = to.value(),
                  .origin = 0,
                  .epoch = epoch,
                  .handler = handler.index(),
                  .may_miss = may_miss ? 1U : 0U};
  const auto complete = [&](Objects& objects) {
    if (place.order == Order::causal)
      outside.context = context != 0 ? context : objects.caller_context();
    outside.origin = objects.channel().messenger().rank().value();
    sched::TaskScope* const sender = sched::current_scope();
    if (sender != nullptr) outside.sender = sender->begin_message_outside();
  };
  if (place.objects != nullptr) {
    complete(*place.objects);
    outside.epoch = std::max(epoch, place.objects->caller_epoch());
    return messaging::send(place.objects->channel(), to, am<&arrive>, outside,
                           std::move(arguments));
  }
  Team& world = world_here("a handle");
  complete(Objects::of(world));
  // Handlers have the number of their rank, in the team, for a context.
  if (outside.context != 0) outside.context = detail::mix64(outside.context + 1);
  messaging::send(world.scope().channel(), Rank(address.home), am<&pass_on>, outside,
                  std::move(arguments));
}

}  // namespace shoal::object

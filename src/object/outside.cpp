// Invocations that are counted outside the object's team.
//
// On a rank that is no member, or has not made the team, they go through rank 0 of the team: a
// message of the world, and one of the team. A rank that is no member sends all of its own on that
// way, and a member all until they have arrived there: so they keep their order; see Forwards. The
// caller's team waits for the end of each invocation, not of its message, which only queues it.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/object/objects.hpp>
#include <shoal/invoker.hpp>
#include <shoal/key.hpp>
#include <shoal/world.hpp>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "object/outside.hpp"
#include "team/control_message.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal::object {

namespace {

using Bytes = std::vector<std::byte>;

/// Message of the team to a member whose invocation has come on another way. The team may have
/// ended there: then nothing waits for it.
struct ForwardArrived {
  struct Traits {
    using Wires = TypeList<>;
  };
  static void invoke(void* /*self*/, team::Batch& batch) {
    while (const team::Message* const message = batch.next()) {
      if (!has_ended(*message->core)) Objects::of(*message->core).forward_arrived();
    }
  }
  static void late(const team::Message& /*message*/) {}
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline team::StaticHandler handler{"shoal::object::arrived", type_signature<>(),
                                            Delivery::inlined, &invoke, &late};
};

/// Handler on a rank that is no member.
void is_outsider(World& world, std::uint64_t team) {
  Forwards::of(world.core()).set_outsider(team);
}

/// An invocation whose team has ended on this rank. **Errors**: CheckError, unless it may miss.
void ignore(const Outside& outside, const team::Messenger& messenger) {
  SHOAL_CHECK(outside.has(Outside::kMayMiss),
              "{}: its team has ended: keep the object until all invocations have run",
              describe(outside));
  if (outside.sender == 0) return;
  team::acknowledge(messenger.world(), Rank(outside.origin), outside.sender, 1);
}

/// On the target.
void arrive(TeamCore& core, const Outside& outside, const Bytes& arguments,
            net::PacketHolder packet) {
  if (outside.has(Outside::kMayMiss) && has_ended(core)) {
    return ignore(outside, core.messenger());
  }
  const std::uint64_t context =
      outside.context != 0 ? context_on(outside.context, Rank(outside.target)) : 0;
  const net::RunPrefix prefix = Target{context, outside.address.number, outside.epoch}.to_prefix();
  const team::Message message{.core = &core,
                              .source = Rank(outside.origin),
                              .is_object = false,
                              .dropped = false,
                              .arguments = as_span(arguments),
                              .prefix = &prefix};
  team::Batch batch(message);
  Arrived arrived{outside, std::move(packet)};
  team::static_handlers()[outside.handler].invoke(&arrived, batch);
  if (outside.has(Outside::kByMember)) {
    team::send_static<ForwardArrived, net::Lane::normal, team::kOwnOrderBit>(
        core, core.from_world(message.source));
  }
}

/// Part of the two messages that carry an invocation. Reports call them by its method.
struct Carrier {
  struct Traits {
    using Wires = TypeList<Outside, Bytes>;
  };
  static std::string describe(const team::Message& message) {
    if (!message.is_object) return text_of(decode<Outside, Bytes>(message.arguments));
    if (const auto* const pieces = team::pieces_of(message))
      return text_of(decode_pieces<Outside, Bytes>(**pieces, false));
    using Object = team::ArgumentsObject<Outside, Bytes>;
    return text_of(static_cast<const Object&>(*team::object_of(message)).values);
  }

 private:
  static std::string text_of(const std::tuple<Outside, Bytes>& values) {
    return object::describe(std::get<0>(values));
  }
};

/// The message that arrives. If the team has failed, a caller outside hears of it: the invocation
/// is queued, and dropped from there.
struct Arrival : Carrier {
  static void invoke(void* /*self*/, team::Batch& batch) {
    team::Message message = batch.message();
    const bool dropped = std::exchange(message.dropped, false);
    const team::MessageRun run = batch.keep();
    std::exception_ptr first;  // the others are queued nevertheless
    for (std::uint64_t i = 0; i < run.count; ++i) {
      message.arguments = {run.first + i * run.step, run.size_bytes};
      try {
        team::with_arguments(message, Traits::Wires{},
                             [&](const Outside& outside, const Bytes& arguments) {
                               if (dropped && !outside.has(Outside::kWithoutTeam)) return;
                               arrive(*message.core, outside, arguments, run.rest(i).packet);
                             });
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
    }
    if (first != nullptr) std::rethrow_exception(first);
  }
  static void late(const team::Message& message) {
    team::with_arguments(message, Traits::Wires{},
                         [&](const Outside& outside, const Bytes& /*arguments*/) {
                           ignore(outside, message.core->messenger());
                         });
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline team::StaticHandler handler{"shoal::object::carry",
                                            type_signature<Outside, Bytes>(),
                                            Delivery::inlined,
                                            &invoke,
                                            &late,
                                            &describe};
  static void send(TeamCore& core, const Outside& outside, Bytes arguments) {
    team::send_static<Arrival, net::Lane::normal, team::kOwnOrderBit>(
        core, Rank(outside.target), outside, std::move(arguments));
  }
};

// Context of the handlers of a rank: its number in the team.
std::uint64_t context_of_handlers(Rank member, Rank world_rank) {
  if (member >= 0) return static_cast<std::uint64_t>(member.value()) + 1;
  return detail::mix64(static_cast<std::uint64_t>(world_rank.value()) + 2);
}

void pass_to(TeamCore& team, Outside outside, Bytes arguments) {
  const Rank origin(outside.origin);
  const Rank member = team.from_world(origin);
  if (outside.has(Outside::kByHandler)) outside.context = context_of_handlers(member, origin);
  if (outside.has(Outside::kCounted)) {
    if (member >= 0) {
      outside.flags |= Outside::kByMember;
    } else {
      team::send(team.messenger().world(), origin, am<&is_outsider>, team.id());
    }
  }
  Arrival::send(team, outside, std::move(arguments));
}

/// The message to rank 0 of the team, handled once the team exists there, or when it has ended.
struct Relay : Carrier {
  static void invoke(void* /*self*/, team::Batch& batch) {
    while (const team::Message* const message = batch.next()) {
      team::with_arguments(*message, Traits::Wires{},
                           [message](const Outside& outside, Bytes& arguments) {
                             pass_on(message->core->messenger(), outside, std::move(arguments));
                           });
    }
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline team::StaticHandler handler{"shoal::object::carry_to_rank_0",
                                            type_signature<Outside, Bytes>(),
                                            Delivery::inlined,
                                            &invoke,
                                            nullptr,
                                            &describe};

 private:
  static void pass_on(const team::Messenger& messenger, const Outside& outside, Bytes arguments) {
    const team::TeamInUse team(outside.address.team);
    if (team.core() == nullptr || has_ended(*team.core())) return ignore(outside, messenger);
    pass_to(*team.core(), outside, std::move(arguments));
  }
};

/// Sends an invocation through rank 0 of the team, where it waits for the team. A message of the
/// world, which counts it.
void send_home(TeamCore& world, const Outside& outside, Bytes arguments) {
  using Wires = Relay::Traits::Wires;
  const Rank home(outside.address.home);
  const std::uint32_t number = Relay::handler.index() | team::kOwnOrderBit | net::kTeamBit;
  net::Link& link = world.admit(home, number);
  net::MessageHeader header = world.header_of({number, Relay::handler.signature(), home}, 0);
  header.team = outside.address.team | team::kAboutBit;
  header.size_bytes = encoded_size<Outside, Bytes>(outside, arguments);
  if (header.size_bytes < net::kPieceBytes) {
    world.append_bytes(link, header, encoded(outside, arguments));
  } else if (world.is_local(link)) {
    world.append_object(link, header, header.size_bytes,
                        team::make_object(Wires{}, outside, std::move(arguments)));
  } else {
    world.append_pieces(link, header, {},
                        team::make_pieces(Wires{}, outside, std::move(arguments)));
  }
}

}  // namespace

void refuse_late(const team::StaticHandler& handler, const team::Message& message) {
  throw CheckError(fmt::format(
      "{}, invoked by rank {} of the world on object {}: its team has ended: keep the object until "
      "all invocations have run",
      team::static_handlers()[handler.index()].name, message.source.value(),
      Target::from(*message.prefix).number));
}

Team& world_here(const char* what) {
  auto& world = static_cast<TeamCore&>(sched::current_scheduler(what, sched::kUseInTask).scope());
  return world.services().get<Team>();
}

void refuse_empty_handle() {
  throw CheckError("an empty handle was used: take handle() of an object first");
}

TeamCore& reply_core(const Place& place) {
  return place.objects != nullptr ? place.objects->core() : world_here("a handle").core();
}

std::uint64_t fresh_outside_context() {
  return Objects::of(world_here("bind()").core()).fresh_context();
}

namespace {

/// `flags`: of the message; see Outside.
void send_flagged(const Place& place, Rank to, const team::StaticHandler& handler,
                  std::vector<std::byte> arguments, std::uint32_t epoch, std::uint64_t context,
                  std::uint32_t flags) {
  const Address& address = place.address;
  Outside outside{.address = address,
                  .context = 0,
                  .sender = 0,
                  .target = to.value(),
                  .origin = 0,
                  .epoch = epoch,
                  .handler = handler.index(),
                  .flags = flags};
  const auto complete = [&](Objects& objects) {
    if (place.order == Order::causal) {
      outside.context = context != 0 ? context : objects.caller_context();
      if (context == 0 && sched::current_task() == nullptr) outside.flags |= Outside::kByHandler;
    }
    outside.origin = objects.core().messenger().rank().value();
    sched::TaskScope* const sender = sched::current_scope();
    if (sender != nullptr) outside.sender = TeamCore::of(*sender).begin_message_outside();
  };
  if (Objects* const objects = place.objects; objects != nullptr) {
    outside.epoch = std::max(epoch, objects->caller_epoch());
    const bool is_forwarded = objects->forward();
    complete(*objects);
    if (!is_forwarded) return Arrival::send(objects->core(), outside, std::move(arguments));
    outside.flags |= Outside::kCounted;
    return send_home(objects->core().messenger().world(), outside, std::move(arguments));
  }
  Team& world = world_here("a handle");
  TeamCore& core = world.core();
  outside.origin = world.rank().value();
  TeamCore* const known = core.messenger().find_core(address.team);
  if (core.messenger().has_ended(address.team) || (known != nullptr && has_ended(*known)))
    return ignore(outside, core.messenger());
  const Forwards::Path path = Forwards::of(core).begin(core.messenger(), address.team);
  if (path == Forwards::Path::direct) {
    const Place now{Objects::find(address.team, "a handle"), address, place.order};
    return send_flagged(now, to, handler, std::move(arguments), epoch, context, flags);
  }
  complete(Objects::of(world));
  if (path == Forwards::Path::counted) outside.flags |= Outside::kCounted;
  send_home(core, outside, std::move(arguments));
}

}  // namespace

void send_outside(const Place& place, Rank to, const team::StaticHandler& handler,
                  std::vector<std::byte> arguments, std::uint32_t epoch, std::uint64_t context,
                  bool may_miss) {
  if (to < 0 || to >= place.address.size)
    refuse_target(place.objects, place.address.number, place.address.size, handler, to);
  const std::uint32_t without_team = place.objects == nullptr ? Outside::kWithoutTeam : 0;
  send_flagged(place, to, handler, std::move(arguments), epoch, context,
               without_team | (may_miss ? Outside::kMayMiss : 0));
}

std::string describe(const Outside& outside) {
  return fmt::format("{}, invoked by rank {} of the world on object {}",
                     team::static_handlers()[outside.handler].name, outside.origin,
                     outside.address.number);
}

Forwards& Forwards::of(const TeamCore& core) {
  return core.messenger().world().services().obtain<Forwards>(
      [] { return std::make_unique<Forwards>(); });
}

std::uint64_t Forwards::take(const TeamCore& core) {
  const std::uint64_t team = core.id();
  if (team == 0) return 0;
  Forwards& all = of(core);
  const sync::Lock lock(all.mutex_);
  const auto it = all.counts_.find(team);
  if (it == all.counts_.end()) return 0;
  const std::uint64_t count = it->second;
  all.counts_.erase(it);
  return count;
}

// take() comes after the core is there: it sees what is counted while there is none.
Forwards::Path Forwards::begin(const team::Messenger& messenger, std::uint64_t team) {
  const sync::Lock lock(mutex_);
  if (messenger.find_core(team) != nullptr) return Path::direct;
  if (std::ranges::find(outside_, team) != outside_.end()) return Path::plain;
  ++counts_[team];
  return Path::counted;
}

void Forwards::set_outsider(std::uint64_t team) {
  const sync::Lock lock(mutex_);
  if (counts_.erase(team) == 0) return;
  outside_.push_back(team);
  if (outside_.size() > kOutsideMax) outside_.pop_front();
}

}  // namespace shoal::object

#pragma once
// Sending of a team's control messages. They are not counted; each carries the team's id first.

#include <shoal/archive.hpp>
#include <shoal/detail/team/handler.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "team/messenger.hpp"

namespace shoal::team {

/// Handlers of the control messages.
struct ControlHandlers {
  using Handler = StaticHandler;
  // Detection: up, down, up, down the tree.
  const Handler& report;
  const Handler& request;
  const Handler& confirmation;
  const Handler& done;
  // Failure.
  const Handler& failure_up;
  const Handler& failure_down;
  // Stuck worlds.
  const Handler& stuck_part;
  const Handler& verdict;
  // Messages for members that never make the team.
  const Handler& ask;
  const Handler& answer;
  const Handler& dropped;
  // Messages into other teams.
  const Handler& acknowledged;
};
const ControlHandlers& control_handlers();

/// Asks `source`, whose messages for a team wait on this rank where the team does not exist: the
/// first ones, or the first ones since UnexpectedMessages::drop().
void ask_about(TeamCore& world, std::uint64_t team, Rank source);
/// Tells `sender` that `count` messages that tasks or handlers of `team` there have sent to other
/// teams were handled on this rank, before they are counted as processed. Caller: a handler.
void acknowledge(TeamCore& world, Rank sender, std::uint64_t team, std::uint64_t count);

/// About a team, to a rank of the world.
template <class... Ts>
void send_about(Messenger& messenger, const StaticHandler& handler, Rank rank, std::uint64_t team,
                const Ts&... values) {
  messenger.send_control(handler, rank, encoded(team, values...));
}

/// To a member of the core's team, where the message waits until the team exists.
template <class... Ts>
void send_control(TeamCore& core, const StaticHandler& handler, Rank member, const Ts&... values) {
  core.messenger().send_control(handler, core.to_world(member), encoded(core.id(), values...),
                                core.id());
}

/// A message of the world, which is counted. Caller: a handler.
template <class... Ts>
void send_counted(TeamCore& world, const StaticHandler& handler, Rank rank, const Ts&... values) {
  const std::vector<std::byte> bytes = encoded(values...);
  net::Link& link = world.messenger().link_to(rank, net::Lane::normal);
  const std::uint32_t number = handler.index() | kOwnOrderBit;
  world.append_bytes(link, {number, handler.signature(), bytes.size()}, bytes);
}

}  // namespace shoal::team

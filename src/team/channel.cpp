#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/team/channel.hpp>
#include <shoal/detail/trace/probes.hpp>

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal::messaging {

namespace {

/// A sender that waits for room.
class WaitingSender {
 public:
  explicit WaitingSender(Backlog& backlog) : backlog_(backlog) { backlog_.sender_waits(true); }
  ~WaitingSender() { backlog_.sender_waits(false); }
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;

 private:
  Backlog& backlog_;
  const sched::ParkedSenderMark mark_;
};

}  // namespace

Channel::Channel(Messenger& messenger, sched::TaskScope& scope, ChannelTeam team)
    : messenger_(messenger),
      scheduler_(messenger.scheduler()),
      scope_(scope),
      team_(std::move(team), messenger.rank(), messenger.size()),
      team_bit_(team_.is_world() ? 0 : net::kTeamBit),
      fast_size_(team_.is_world() ? team_.size() : 0),
      links_(messenger.fabric().links_of(messenger.rank())),
      layout_(messenger.fabric().layout()),
      crosses_(!team_.is_world()),
      polls_next_(messenger.polls_next()) {}

void Channel::open() { messenger_.add(*this); }

Channel::~Channel() { messenger_.remove(*this); }

// A message that a task of another team sends counts in this team, and the other team waits until
// it is handled. If the other team is an outer one, the message counts there as well.
std::uint64_t Channel::outside_sender(std::uint32_t handler) const {
  sched::TaskScope* const sender = sched::current_scope();
  if (sender == nullptr || scope_.is_within(*sender) || (handler & kLargeBit) != 0) return 0;
  return sender->begin_message_outside();
}

std::string Channel::name_of(std::uint32_t handler) const {
  const std::uint32_t index = handler & kIndexMask;
  return (handler & kInstanceBit) != 0 ? handlers_.name_of(index) : static_handlers()[index].name;
}

[[gnu::noinline]] void Channel::refuse_target(const char* what, std::uint32_t handler,
                                              Rank target) const {
  SHOAL_CHECK(!run_has_ended_,
              "a {} for '{}' is sent after its run() has returned: make the handler anew in the "
              "main function of each run",
              what, name_of(handler));
  detail::refuse_rank(fmt::format("{} for '{}'", what, name_of(handler)), target.value(),
                      messenger_.rank(), scope_.describe(), team_.size());
}

net::Link& Channel::admit_to(Rank target, net::Lane lane, std::uint32_t handler) {
  if (run_has_ended_ || !team_.has(target)) [[unlikely]]
    refuse_target("message", handler, target);
  if (!handlers_.all_open() && sched::in_main_function()) open_handlers();
  const Rank world_rank = team_.to_world(target);
  net::Link& link = messenger_.link_to(world_rank, lane);
  if (link.has_room()) {
    give_way(link);
    return link;
  }
  if (sched::in_handler()) return link;
  // A task made from a message is not suspended either, as messages that wait for it may fill the
  // window for which it would wait. Its messages are queued, like those of a handler.
  if (scheduler_.count_slot() != scope_.counts.foreign_slot() && !sched::in_suspendable_task()) {
    return link;
  }
  const WaitingSender waiting(messenger_.backlog());
  const std::string what = fmt::format("send() to rank {}", world_rank.value());
  const auto peer = static_cast<std::uint32_t>(world_rank.value());
  trace::window_full(peer);
  while (!link.has_room()) {
    sched::block(scheduler_.env(), what.c_str(),
                 [&link](sync::Waiter& waiter) { return link.enlist(waiter); });
  }
  trace::window_open(peer);
  return link;
}

// The window bounds the messages that this rank sends, but not the answers of other ranks'
// handlers. To bound these, a task that sends lets its worker handle arrivals at least this often.
void Channel::give_way(const net::Link& link) {
  if (link.message_count() % net::Link::kSendsPerLook != 0) return;  // any sparse choice will do
  if (!messenger_.looks_busy() || !sched::in_suspendable_task()) return;
  sched::block(scheduler_.env(), "send()", [](sync::Waiter& waiter) {
    waiter.wake();  // the worker looks at its arrivals, then goes on here
    return true;
  });
}

void Channel::append_bytes(net::Link& link, const net::MessageHeader& header,
                           std::span<const std::byte> bytes, const net::RunPrefix* prefix) {
  const auto write = [bytes](std::span<std::byte> place) {
    if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
  };
  append(link, header, 0, write, prefix);
}

void Channel::append_object(net::Link& link, net::MessageHeader header, std::size_t extra_bytes,
                            std::unique_ptr<ObjectMessage> object, const net::RunPrefix* prefix) {
  header.handler |= kObjectBit;
  header.size_bytes = sizeof(std::uintptr_t);
  const auto write = [&object](std::span<std::byte> place) {
    const auto raw = reinterpret_cast<std::uintptr_t>(object.release());
    std::memcpy(place.data(), &raw, sizeof raw);
  };
  append(link, header, extra_bytes, write, prefix);
}

void Channel::flush() { messenger_.flush(); }

std::uint32_t Channel::add_handler(std::shared_ptr<Handler> handler, const std::string& name,
                                   const HandlerSource& source) {
  const HandlerTable::Added added =
      handlers_.add(std::move(handler), name, source, sched::in_main_function());
  if (!added.opened) return added.index;
  sync::publish(&messenger_);
  messenger_.retry_if_early();
  return added.index;
}

void Channel::open_handlers() {
  if (!handlers_.open_all()) return;
  sync::publish(&messenger_);
  messenger_.retry_if_early();
}

void Channel::remove_handler(std::uint32_t index) {
  if (const std::shared_ptr<Handler> removed = handlers_.remove(index)) messenger_.reclaim(removed);
}

void Channel::close_handlers(std::span<const std::uint32_t> indices) {
  for (const std::uint32_t index : indices) remove_handler(index);
  if (!indices.empty() && !sched::in_handler()) messenger_.await_reclaimed();
}

}  // namespace shoal::messaging

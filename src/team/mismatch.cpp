#include "team/mismatch.hpp"

#include <shoal/error.hpp>
#include <shoal/message.hpp>

#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "team/messenger.hpp"

namespace shoal::messaging {

namespace {

/// On the rank that has sent the message. `there`: the handler that it met.
void name_both(const MessageContext& context, std::uint32_t index, const std::string& there) {
  Channel& channel = context.channel();
  const std::string text = fmt::format(
      "a message of rank {} met another handler on rank {}: number {} of the team is {} on rank "
      "{}, and {} on rank {}; all ranks of a team make their active messages, task graphs, flows, "
      "events and memories in the same order, at the same places in the source and with the same "
      "names",
      channel.messenger().rank().value(), context.world_source().value(), index,
      channel.handlers().describe(index), channel.messenger().rank().value(), there,
      context.world_source().value());
  channel.fail("a message", std::make_exception_ptr(CheckError(text)));
}

}  // namespace

void report_mismatch(Channel& channel, Rank sender, std::uint32_t index) {
  using Question = StaticFunction<&name_both, Delivery::inlined>;
  const std::string here = channel.handlers().describe(index);
  const std::vector<std::byte> bytes = encoded(index, here);
  const Route route{Question::handler.index() | channel.flag_bits() | kOwnOrderBit,
                    Question::handler.signature(), sender};
  net::Link& link = channel.messenger().link_to(channel.to_world(sender), net::Lane::normal);
  channel.append_bytes(link, channel.header_of(route, bytes.size()), bytes);
}

}  // namespace shoal::messaging

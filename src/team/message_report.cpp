#include "team/message_report.hpp"

#include <fmt/format.h>

#include "team/arrivals.hpp"
#include "team/messenger.hpp"

namespace shoal::team {

std::string handler_name(const Messenger& messenger, std::uint32_t handler) {
  const std::uint32_t index = handler & kIndexMask;
  if ((handler & kInstanceBit) == 0) {
    const std::vector<Handler>& statics = static_handlers();
    return index < statics.size() ? statics[index].name : "an unknown handler";
  }
  if ((handler & net::kTeamBit) != 0) return fmt::format("active message {} of a team", index);
  return messenger.world().handlers().name_of(index);
}

std::vector<std::string> handler_names(const Messenger& messenger, const net::Packet& packet) {
  std::vector<std::string> names;
  net::Run run;
  for (std::size_t offset = 0; offset < packet.messages().size();) {
    if (!net::read_run(packet.messages(), offset, run)) break;
    offset += run.count * run.step();
    const std::string name = handler_name(messenger, run.handler);
    names.push_back(run.count == 1 ? name : fmt::format("{} x {}", std::uint64_t{run.count}, name));
  }
  return names;
}

MessageStatistics statistics_of(const Messenger& messenger) {
  MessageStatistics sum{.messages_received = messenger.arrivals().total(),
                        .bytes_sent = messenger.payload_bytes()};
  for (const net::LinkState& link : messenger.fabric().link_states(messenger.rank())) {
    sum.messages_sent += link.message_count;
    sum.bytes_sent += link.byte_count;
  }
  return sum;
}

}  // namespace shoal::team

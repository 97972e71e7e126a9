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

namespace {

/// The handler of a run, if it has texts of its own about these messages; else nullptr.
Describe describe_of(const net::Run& run) {
  constexpr std::uint32_t kOther = kInstanceBit | kMulticastBit | kLargeBit;
  const std::vector<Handler>& statics = static_handlers();
  const std::uint32_t index = run.handler & kIndexMask;
  if ((run.handler & kOther) != 0 || index >= statics.size()) return nullptr;
  return statics[index].signature == run.signature ? statics[index].describe : nullptr;
}

}  // namespace

std::string message_text(const Messenger& messenger, const net::Packet& packet, const net::Run& run,
                         std::size_t offset) {
  const Describe describe = describe_of(run);
  if (describe == nullptr) return handler_name(messenger, run.handler);
  return describe({.core = &messenger.world(),
                   .source = Rank(packet.header().source),
                   .is_object = (run.handler & kObjectBit) != 0,
                   .dropped = false,
                   .arguments = packet.messages().subspan(offset, run.size_bytes)});
}

std::vector<std::string> handler_names(const Messenger& messenger, const net::Packet& packet) {
  std::vector<std::string> names;
  net::Run run;
  for (std::size_t offset = 0; offset < packet.messages().size();) {
    if (!net::read_run(packet.messages(), offset, run)) break;
    // Pieces have their object when they have arrived; all other objects are there on the way.
    const bool is_readable = (run.handler & kObjectBit) == 0 || packet.out_of_band == nullptr;
    if (is_readable && describe_of(run) != nullptr) {
      for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
        names.push_back(message_text(messenger, packet, run, offset));
      }
      continue;
    }
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

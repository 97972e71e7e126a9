#include <shoal/am/packet_reader.hpp>

#include <shoal/am/handler.hpp>
#include <shoal/sync/strand.hpp>

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "am/multicast_wire.hpp"

namespace shoal::messaging {

void PacketReader::refuse(const net::Packet& packet, const net::Run& run) const {
  fatal_(fmt::format("corrupt packet from rank {}: {} messages of {} bytes end behind it",
                     packet.header().source, std::uint64_t{run.count},
                     std::uint64_t{run.size_bytes}));
}

std::uint64_t PacketReader::unprocessed_from(const net::Packet& packet, std::size_t offset) const {
  std::uint64_t count = 0;
  while (offset < packet.messages().size()) {
    net::Run run;
    read_run(packet, offset, run);
    const std::uint64_t each = (run.handler & kLargeBit) != 0 ? 2 : 1;
    count += run.count * each;
    offset += run.count * run.step();
  }
  return count;
}

namespace {

Stream stream_of(const net::Packet& packet, const net::Run& run, std::size_t offset) {
  const net::PacketHeader& header = packet.header();
  Stream stream{run.team, header.source, header.lane};
  if ((run.handler & kMulticastBit) != 0 && run.size_bytes >= sizeof(MulticastHeader)) {
    MulticastHeader multicast;
    std::memcpy(&multicast, packet.messages().data() + offset, sizeof multicast);
    stream.origin = multicast.origin;
  }
  return stream;
}

}  // namespace

Stream PacketReader::stream_at(const net::Packet& packet, std::size_t offset) const {
  net::Run run;
  read_run(packet, offset, run);
  return stream_of(packet, run, offset);
}

bool PacketReader::is_mixed(const net::Packet& packet, std::size_t offset) const {
  const Stream first = stream_at(packet, offset);
  while (offset < packet.messages().size()) {
    net::Run run;
    read_run(packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
      if (stream_of(packet, run, offset) != first) return true;
    }
  }
  return false;
}

net::PacketList PacketReader::split(net::Packet* packet, std::size_t offset) const {
  net::PacketList parts;
  if (offset == 0 && !is_mixed(*packet, offset)) {
    parts.push_back(packet);
    return parts;
  }
  std::map<Stream, net::Packet*> by_stream;
  while (offset < packet->messages().size()) {
    net::Run run;
    read_run(*packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) {
      net::Packet*& copy = by_stream[stream_of(*packet, run, offset)];
      if (copy == nullptr) {
        copy = net::Packet::create(packet->messages().size() + net::kMessageAlign);
        net::PacketHeader header = packet->header();
        header.size_bytes = 0;
        header.message_count = 0;
        header.first_message = 0;  // they do not stand one behind the other
        copy->header() = header;
        parts.push_back(copy);
      }
      const std::span<std::byte> place =
          copy->add_message({run.handler, run.signature, run.size_bytes, run.team, run.sender},
                            (run.handler & net::kPrefixBit) != 0 ? &run.prefix : nullptr);
      if (!place.empty()) std::memcpy(place.data(), packet->body() + offset, place.size());
    }
  }
  sync::pass_on(packet, parts.front());
  packet->release();
  return parts;
}

}  // namespace shoal::messaging

#include "am/packet_reader.hpp"

#include <shoal/detail/am/handler.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

#include "am/multicast_wire.hpp"

namespace shoal::messaging {

void PacketReader::refuse(const net::Packet& packet, const net::Run& run) const {
  fatal_(fmt::format("corrupt packet from rank {}: {} messages of {} bytes end behind it",
                     packet.header().source, std::uint64_t{run.count},
                     std::uint64_t{run.size_bytes}));
}

template <class F>
void PacketReader::for_each_message(const PacketPart& part, F f) const {
  std::size_t offset = part.offset;
  while (offset < part.packet->messages().size()) {
    net::Run run;
    read_run(*part.packet, offset, run);
    for (std::uint64_t i = 0; i < run.count; ++i, offset += run.step()) f(run, offset);
  }
}

std::uint64_t PacketReader::count_before(const net::Packet& packet, std::size_t offset) const {
  std::uint64_t count = 0;
  net::Run run;
  for (std::size_t at = 0; at < offset; at += run.count * run.step()) {
    read_run(packet, at, run);
    count += run.count;
  }
  return count;
}

std::uint64_t PacketReader::unprocessed(const PacketPart& part) const {
  std::uint64_t count = 0;
  for_each_message(part, [&count](const net::Run& run, std::size_t /*offset*/) {
    count += (run.handler & kLargeBit) != 0 ? 2 : 1;
  });
  return count;
}

namespace {

std::uint32_t order_of(std::uint32_t handler) {
  if ((handler & kOwnOrderBit) == 0) return Stream::kShared;
  if ((handler & kInstanceBit) == 0) return Stream::kStatic;
  return Stream::kInstance + (handler & kIndexMask);
}

Stream stream_at(const net::Packet& packet, const net::Run& run, std::size_t offset) {
  const net::PacketHeader& header = packet.header();
  Stream stream{run.team, header.source, header.lane, order_of(run.handler)};
  if ((run.handler & kMulticastBit) != 0 && run.size_bytes >= sizeof(MulticastHeader)) {
    MulticastHeader multicast;
    std::memcpy(&multicast, packet.messages().data() + offset, sizeof multicast);
    stream.origin = multicast.origin;
    stream.path = multicast.path;
  }
  return stream;
}

const net::RunPrefix* prefix_of(const net::Run& run) {
  return (run.handler & net::kPrefixBit) != 0 ? &run.prefix : nullptr;
}

void append_copy(net::Packet& to, const net::Packet& packet, const net::Run& run,
                 std::size_t offset) {
  const std::span<std::byte> place = to.add_message(
      {run.handler, run.signature, run.size_bytes, run.team, run.sender}, prefix_of(run));
  if (!place.empty()) {
    std::memcpy(place.data(), packet.messages().data() + offset, place.size());
  }
}

}  // namespace

Stream PacketReader::stream_of(const PacketPart& part) const {
  std::size_t offset = part.offset;
  net::Run run;
  read_run(*part.packet, offset, run);
  return stream_at(*part.packet, run, offset);
}

std::vector<PacketReader::Stretch> PacketReader::stretches_of(
    const PacketPart& part, FunctionRef<bool(const Stream&)> waits) const {
  std::vector<Stretch> stretches;
  Stream last;
  bool last_waits = false;
  for_each_message(part, [&](const net::Run& run, std::size_t offset) {
    const Stream stream = stream_at(*part.packet, run, offset);
    const bool is_first = stretches.empty();
    const bool same = !is_first && stream == last;
    const bool waited = std::exchange(last_waits, same ? last_waits : waits(stream));
    if (is_first || waited != last_waits || (last_waits && !same)) {
      stretches.push_back({.begin = offset, .end = offset});
    }
    last = stream;
    ++stretches.back().count;
    stretches.back().end = offset + run.step();
  });
  return stretches;
}

PacketParts PacketReader::split(PacketPart part, FunctionRef<bool(const Stream&)> waits) const {
  PacketParts parts;
  const std::vector<Stretch> stretches = stretches_of(part, waits);
  if (stretches.size() <= 1) {
    parts.push_back(std::move(part));
    return parts;
  }
  net::PacketHeader header = part.packet->header();
  if (header.first_message != 0) {
    header.first_message += static_cast<std::uint32_t>(count_before(*part.packet, part.offset));
  }
  header.size_bytes = 0;
  header.message_count = 0;
  auto stretch = stretches.begin();
  for_each_message(part, [&](const net::Run& run, std::size_t offset) {
    if (offset == stretch->begin) {
      const std::size_t header_bytes =
          net::Packet::bytes_at_most({.handler = run.handler}, prefix_of(run));
      net::Packet* const copy = net::Packet::create(stretch->end - offset + header_bytes);
      copy->header() = header;
      sync::pass_on(part.packet.get(), copy);
      parts.push_back({net::PacketHolder(copy)});
      if (header.first_message != 0) {
        header.first_message += static_cast<std::uint32_t>(stretch->count);
      }
    }
    append_copy(*parts.back().packet, *part.packet, run, offset);
    if (offset + run.step() == stretch->end) ++stretch;
  });
  return parts;
}

}  // namespace shoal::messaging

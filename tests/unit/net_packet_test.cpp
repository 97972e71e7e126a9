
#include <shoal/detail/net/packet.hpp>
#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace shoal::net {
namespace net_packet_test {

using ::testing::HasSubstr;

struct ReleasePacket {
  void operator()(Packet* packet) const { packet->release(); }
};
using PacketHolder = std::unique_ptr<Packet, ReleasePacket>;

PacketHolder make_packet(std::size_t capacity_bytes) {
  return PacketHolder(Packet::create(capacity_bytes));
}

void add_text(Packet& packet, std::uint32_t handler, const std::string& text) {
  const std::span<std::byte> place = packet.add_message({handler, 7, text.size()});
  std::memcpy(place.data(), text.data(), text.size());
}

/// A packet of rank 2 for rank 5 with two messages, sealed as number 9.
PacketHolder make_sealed() {
  PacketHolder packet = make_packet(256);
  packet->header().lane = static_cast<std::uint32_t>(Lane::normal);
  packet->header().source = 2;
  packet->header().target = 5;
  add_text(*packet, 1, "sixteen bytes....");
  add_text(*packet, 2, "and a longer message behind the first one.......");
  packet->seal(9);
  return packet;
}

std::string text_of_failure(const Packet& packet, std::size_t received_bytes,
                            std::uint64_t expected_sequence) {
  try {
    packet.verify(received_bytes, expected_sequence);
  } catch (const TransportError& error) {
    return error.what();
  }
  return "";
}

class CountingOwner final : public PacketOwner {
 public:
  void consumed(std::size_t accounted_bytes) override {
    ++calls;
    bytes += accounted_bytes;
  }
  int calls = 0;
  std::size_t bytes = 0;
};

TEST(Packet, AddMessage_StartsEachMessageAtTheAlignment) {
  const PacketHolder packet = make_packet(256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet->body()) % kMessageAlign, 0U);
  for (const std::size_t size : {9U, 16U, 17U}) {
    const std::span<std::byte> place = packet->add_message({1, 2, size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place.data()) % kMessageAlign, 0U);
    EXPECT_EQ(place.size(), size);
  }
  for (const std::size_t size : {0U, 1U, 8U}) {
    const std::span<std::byte> place = packet->add_message({1, 2, size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place.data()) % (kMessageAlign / 2), 0U);
    EXPECT_EQ(place.size(), size);
  }
  EXPECT_EQ(packet->header().message_count, 6U);
  EXPECT_EQ(packet->header().size_bytes, 6 * sizeof(RunHeader) + 16 + 16 + 32 + 16 + 16 + 8);
  EXPECT_EQ(packet->room_bytes(), 256 - packet->header().size_bytes);
  EXPECT_EQ(packet->messages().size(), packet->header().size_bytes);
}

/// The first words of all messages, in the order in which they are found.
std::vector<std::uint64_t> words_of(Packet& packet) {
  std::vector<std::uint64_t> words;
  shoal::net::Run run;
  for (std::size_t at = 0; at < packet.messages().size();) {
    EXPECT_TRUE(read_run(packet.messages(), at, run));
    for (std::uint64_t i = 0; i < run.count; ++i, at += run.step()) {
      std::memcpy(&words.emplace_back(), packet.body() + at, sizeof(std::uint64_t));
    }
  }
  return words;
}

void add_word(Packet& packet, std::uint32_t handler, std::uint64_t word, std::size_t size = 8) {
  ASSERT_LE(packet.bytes_for({handler, 7, size}), packet.room_bytes());
  std::memcpy(packet.add_message({handler, 7, size}).data(), &word, sizeof word);
}

TEST(Packet, AddMessage_OfTheSameKindAndSize_SharesAHeader) {
  const PacketHolder packet = make_packet(1024);
  for (std::uint64_t i = 0; i < 3; ++i) add_word(*packet, 1, i);
  EXPECT_EQ(packet->header().size_bytes, sizeof(RunHeader) + 3 * 8);
  add_word(*packet, 2, 3);  // behind padding: a header stands at the alignment
  EXPECT_EQ(packet->header().size_bytes, 2 * sizeof(RunHeader) + 4 * 8 + 8);
  add_word(*packet, 2, 4, 16);
  add_word(*packet, 2, 5, 16);
  add_word(*packet, 1, 6);
  EXPECT_EQ(packet->header().message_count, 7U);
  EXPECT_EQ(words_of(*packet), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Packet, AddMessage_OfMoreThanARunMayHave_StartsAnother) {
  const std::uint64_t count = RunHeader::kCountMax + 2;
  const PacketHolder packet = make_packet(2 * sizeof(RunHeader) + 8 * count + 8);
  for (std::uint64_t i = 0; i < count; ++i) add_word(*packet, 1, i);
  const std::vector<std::uint64_t> words = words_of(*packet);
  ASSERT_EQ(words.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(words[i], i);
}

TEST(Packet, BytesFor_IsWhatAMessageTakes) {
  const PacketHolder packet = make_packet(4096);
  std::uint32_t handler = 0;
  for (const std::size_t size : {0U, 8U, 8U, 9U, 3U, 3U, 3U, 40U, 40U, 0U, 0U, 0U}) {
    handler += size == 9 ? 1 : 0;
    const std::size_t before = packet->header().size_bytes;
    const std::size_t needed = packet->bytes_for({handler, 7, size});
    EXPECT_LE(needed, Packet::bytes_at_most({0, 0, size}) + kMessageAlign / 2);
    packet->add_message({handler, 7, size});
    EXPECT_EQ(packet->header().size_bytes - before, needed);
  }
}

TEST(Packet, ReadRun_OfWhatIsNoRun_SaysSo) {
  const PacketHolder packet = make_packet(256);
  for (std::uint64_t i = 0; i < 3; ++i) add_word(*packet, 1, i);
  const std::span<const std::byte> good = packet->messages();
  const auto reads = [](std::span<const std::byte> messages, std::size_t at) {
    shoal::net::Run run;
    return read_run(messages, at, run);
  };
  EXPECT_TRUE(reads(good, 0));
  EXPECT_FALSE(reads(good.first(good.size() - 1), 0)) << "the last message ends behind it";
  EXPECT_FALSE(reads(good.first(sizeof(RunHeader) - 1), 0)) << "half a header";
  EXPECT_FALSE(reads(good, good.size())) << "no header";
  for (const std::uint64_t size : {std::uint64_t{9}, RunHeader::kSizeMax}) {
    RunHeader wrong;
    std::memcpy(&wrong, packet->body(), sizeof wrong);
    wrong.size_bytes = size & RunHeader::kSizeMax;
    std::memcpy(packet->body(), &wrong, sizeof wrong);
    EXPECT_FALSE(reads(good, 0)) << "messages of " << size << " bytes";
  }
  RunHeader none;
  std::memcpy(packet->body(), &none, sizeof none);
  EXPECT_FALSE(reads(good, 0)) << "no message";
}

TEST(Packet, Wire_IsTheHeaderFollowedByTheMessages) {
  const PacketHolder packet = make_sealed();
  const std::span<std::byte> wire = packet->wire();
  EXPECT_EQ(wire.size(), sizeof(PacketHeader) + packet->header().size_bytes);
  EXPECT_EQ(wire.data() + sizeof(PacketHeader), packet->body());
}

TEST(Packet, Release_WhenLastReference_TellsTheOwnerOnce) {
  CountingOwner owner;
  Packet* const packet = Packet::create(64);
  packet->owner = &owner;
  packet->accounted_bytes = 48;
  packet->add_reference();
  packet->release();
  EXPECT_EQ(owner.calls, 0);
  packet->release();
  EXPECT_EQ(owner.calls, 1);
  EXPECT_EQ(owner.bytes, 48U);
}

TEST(Packet, Verify_WhenUntouched_Accepts) {
  const PacketHolder packet = make_sealed();
  EXPECT_NO_THROW(packet->verify(packet->wire().size(), 9));
}

TEST(Packet, Verify_WhenCopiedOverAWire_Accepts) {
  const PacketHolder sent = make_sealed();
  const PacketHolder received = make_packet(512);
  std::memcpy(&received->header(), sent->wire().data(), sent->wire().size());
  EXPECT_NO_THROW(received->verify(sent->wire().size(), 9));
  EXPECT_EQ(received->header().message_count, 2U);
}

TEST(Packet, Verify_WhenEmpty_Accepts) {
  const PacketHolder packet = make_packet(0);
  packet->seal(0);
  EXPECT_NO_THROW(packet->verify(sizeof(PacketHeader), 0));
}

TEST(Packet, Verify_WhenAnyBitOfHeaderOrMessagesIsFlipped_Throws) {
  const PacketHolder packet = make_sealed();
  const std::span<std::byte> wire = packet->wire();
  for (std::size_t at = 0; at < wire.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto mask = static_cast<std::byte>(1 << bit);
      wire[at] ^= mask;
      EXPECT_THROW(packet->verify(wire.size(), 9), TransportError)
          << "byte " << at << " bit " << bit;
      wire[at] ^= mask;
    }
  }
  EXPECT_NO_THROW(packet->verify(wire.size(), 9));
}

TEST(Packet, Verify_WhenAHeaderFieldIsWrong_SaysWhatIsWrong) {
  const PacketHolder packet = make_sealed();
  const std::size_t size = packet->wire().size();
  PacketHeader& header = packet->header();
  const PacketHeader good = header;
  header.magic ^= 1;
  EXPECT_THAT(text_of_failure(*packet, size, 9), HasSubstr("do not start with a packet header"));
  header = good;
  header.size_bytes += 16;
  EXPECT_THAT(text_of_failure(*packet, size, 9), HasSubstr("truncated"));
  header = good;
  for (const auto& change : std::vector<void (*)(PacketHeader&)>{
           [](PacketHeader& h) { h.lane = 1; },
           [](PacketHeader& h) { h.source = 3; },
           [](PacketHeader& h) { h.target = 4; },
           [](PacketHeader& h) { h.sequence = 10; },
           [](PacketHeader& h) { h.message_count = 3; },
           [](PacketHeader& h) { h.checksum += 1; },
       }) {
    change(header);
    EXPECT_THAT(text_of_failure(*packet, size, header.sequence), HasSubstr("checksum"));
    header = good;
  }
}

TEST(Packet, Verify_NamesSourceAndTarget) {
  const PacketHolder packet = make_sealed();
  packet->body()[0] ^= std::byte{1};
  EXPECT_THAT(text_of_failure(*packet, packet->wire().size(), 9),
              HasSubstr("from rank 2 to rank 5"));
}

TEST(Packet, Verify_WhenTruncatedAnywhere_Throws) {
  const PacketHolder packet = make_sealed();
  for (std::size_t size = 0; size < packet->wire().size(); ++size) {
    EXPECT_THROW(packet->verify(size, 9), TransportError) << size << " bytes";
  }
  EXPECT_THROW(packet->verify(packet->wire().size() + 1, 9), TransportError);
}

TEST(Packet, Verify_WhenOneIsMissingOrComesTwice_SaysWhichWasDue) {
  const PacketHolder packet = make_sealed();
  const std::size_t size = packet->wire().size();
  EXPECT_THAT(text_of_failure(*packet, size, 8), HasSubstr("packet 9 arrived where 8 was due"));
  EXPECT_THAT(text_of_failure(*packet, size, 10), HasSubstr("packet 9 arrived where 10 was due"));
}

TEST(PacketList, PopFront_GivesPacketsInTheOrderPushed) {
  PacketList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
  std::vector<Packet*> packets;
  for (int i = 0; i < 5; ++i) {
    packets.push_back(Packet::create(16));
    list.push_back(packets.back());
  }
  EXPECT_EQ(list.front(), packets.front());
  for (Packet* const expected : packets) {
    const PacketHolder packet(list.pop_front());
    EXPECT_EQ(packet.get(), expected);
    EXPECT_EQ(packet->next, nullptr);
  }
  EXPECT_TRUE(list.empty());
}

TEST(PacketList, Append_MovesAllBehindTheOwn) {
  PacketList first;
  PacketList second;
  PacketList empty;
  Packet* const a = Packet::create(16);
  Packet* const b = Packet::create(16);
  Packet* const c = Packet::create(16);
  first.append(std::move(empty));
  first.push_back(a);
  second.push_back(b);
  second.push_back(c);
  first.append(std::move(second));
  EXPECT_TRUE(second.empty());  // NOLINT(bugprone-use-after-move): promised
  for (Packet* const expected : {a, b, c}) {
    const PacketHolder packet(first.pop_front());
    EXPECT_EQ(packet.get(), expected);
  }
  EXPECT_EQ(first.pop_front(), nullptr);
}

TEST(PacketList, Destructor_ReleasesAll) {
  CountingOwner owner;
  {
    PacketList list;
    for (int i = 0; i < 3; ++i) {
      Packet* const packet = Packet::create(16);
      packet->owner = &owner;
      packet->accounted_bytes = 10;
      list.push_back(packet);
    }
    PacketList other;
    other = std::move(list);
  }
  EXPECT_EQ(owner.calls, 3);
  EXPECT_EQ(owner.bytes, 30U);
}

}  // namespace net_packet_test
}  // namespace shoal::net

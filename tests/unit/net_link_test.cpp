#include <shoal/detail/net/transport.hpp>
#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "net/local_link.hpp"

namespace shoal::net {
namespace net_link_test {

/// Keeps the packets that arrive.
class KeepingReceiver final {
 public:
  ~KeepingReceiver() { release_all(); }
  void on_packet(Packet* packet) { packets.push_back(packet); }
  void release_all() {
    for (Packet* const packet : packets) packet->release();
    packets.clear();
  }
  std::vector<Packet*> packets;
};

/// Calls `handle(source thread, index)` for each message of two integers.
template <class Handle>
class ReadingReceiver final {
 public:
  explicit ReadingReceiver(Handle handle) : handle_(std::move(handle)) {}
  void on_packet(Packet* packet) {
    shoal::net::Run run;
    for (std::size_t at = 0; at < packet->messages().size();) {
      ASSERT_TRUE(read_run(packet->messages(), at, run));
      for (std::uint64_t i = 0; i < run.count; ++i, at += run.step()) {
        std::uint64_t values[2];
        std::memcpy(values, packet->body() + at, sizeof values);
        handle_(values[0], values[1]);
      }
    }
    packet->release();
  }

 private:
  Handle handle_;
};

class CountingWaker final : public PortWaker {
 public:
  void wake_for_progress() override { ++wakes; }
  std::atomic<int> wakes = 0;
};

class CountingWaiter final : public sync::Waiter {
 public:
  void wake() override { ++woken; }
  int woken = 0;
};

class BlockingWaiter final : public sync::Waiter {
 public:
  void wake() override { semaphore_.release(); }
  void wait() { semaphore_.acquire(); }

 private:
  std::binary_semaphore semaphore_{0};
};

void append_bytes(Link& link, std::size_t size_bytes, std::size_t extra_bytes = 0) {
  link.append({1, 2, size_bytes}, extra_bytes, [](std::span<std::byte> place) {
    std::fill(place.begin(), place.end(), std::byte{0x5A});
  });
}

void append_pair(Link& link, std::uint64_t first, std::uint64_t second) {
  const std::uint64_t values[2] = {first, second};
  link.append({1, 2, sizeof values}, 0, [&](std::span<std::byte> place) {
    std::memcpy(place.data(), values, sizeof values);
  });
}

/// Delivers what stands in the port; returns how many items stood there.
template <class Receiver>
int deliver_all(Port& port, Receiver& receiver) {
  int count = 0;
  while (PortItem* const item = port.try_take()) {
    PacketList packets = item->take_arrivals();
    while (Packet* const packet = packets.pop_front()) receiver.on_packet(packet);
    ++count;
  }
  return count;
}

class LocalLinkTest : public ::testing::Test {
 protected:
  LinkOptions options{.packet_bytes = 256, .window_bytes = 1024};
  Port port;
  LocalLink link{Rank(0), Rank(1), Lane::normal, options, port};
  KeepingReceiver receiver;
};

TEST_F(LocalLinkTest, Append_WhenNobodyCarries_MessagesShareAPacket) {
  for (int i = 0; i < 5; ++i) append_bytes(link, 16);
  EXPECT_EQ(deliver_all(port, receiver), 1);
  ASSERT_EQ(receiver.packets.size(), 1U);
  EXPECT_EQ(receiver.packets[0]->header().message_count, 5U);
  EXPECT_EQ(receiver.packets[0]->header().source, 0);
  EXPECT_EQ(receiver.packets[0]->header().target, 1);
}

TEST_F(LocalLinkTest, Append_WhenThePacketIsFull_OpensAnother) {
  for (int i = 0; i < 31; ++i) append_bytes(link, 16);  // 15 fill a packet, with their header
  EXPECT_EQ(deliver_all(port, receiver), 1);
  ASSERT_EQ(receiver.packets.size(), 3U);
  EXPECT_EQ(receiver.packets[0]->header().message_count, 15U);
  EXPECT_EQ(receiver.packets[1]->header().message_count, 15U);
  EXPECT_EQ(receiver.packets[2]->header().message_count, 1U);
}

TEST_F(LocalLinkTest, Append_WhenLargerThanAPacket_TravelsInOneOfItsOwn) {
  append_bytes(link, 16);
  append_bytes(link, 5000);
  append_bytes(link, 16);
  deliver_all(port, receiver);
  ASSERT_EQ(receiver.packets.size(), 3U);
  EXPECT_EQ(receiver.packets[1]->header().size_bytes, sizeof(RunHeader) + align_up(5000));
}

TEST_F(LocalLinkTest, Append_AnnouncesOnceUntilThePacketsAreTaken) {
  CountingWaker waker;
  port.set_waker(&waker);
  for (int i = 0; i < 100; ++i) append_bytes(link, 16);
  EXPECT_EQ(waker.wakes, 1);
  EXPECT_EQ(deliver_all(port, receiver), 1);
  append_bytes(link, 16);
  EXPECT_EQ(waker.wakes, 2);
  EXPECT_EQ(deliver_all(port, receiver), 1);
}

TEST_F(LocalLinkTest, Window_CountsMessagesAndExtraBytesUntilTheLastRelease) {
  append_bytes(link, 16, 500);
  EXPECT_EQ(link.in_flight_bytes(), 32U + 500U);
  EXPECT_TRUE(link.has_room());
  append_bytes(link, 16, 500);
  EXPECT_FALSE(link.has_room());
  deliver_all(port, receiver);
  EXPECT_FALSE(link.has_room());
  receiver.packets[0]->add_reference();
  Packet* const kept = receiver.packets[0];
  receiver.release_all();
  EXPECT_EQ(link.in_flight_bytes(), 32U + 16U + 2 * 500U);  // of one header
  kept->release();
  EXPECT_EQ(link.in_flight_bytes(), 0U);
}

TEST_F(LocalLinkTest, Enlist_WhenThereIsRoom_DoesNotRegister) {
  CountingWaiter waiter;
  EXPECT_FALSE(link.enlist(waiter));
  append_bytes(link, 16);
  deliver_all(port, receiver);
  receiver.release_all();
  EXPECT_EQ(waiter.woken, 0);
}

TEST_F(LocalLinkTest, Enlist_WhenFull_IsWokenOnceAtLowWater) {
  for (int i = 0; i < 9; ++i) append_bytes(link, 112);  // two to a packet of 240 bytes
  EXPECT_FALSE(link.has_room());
  CountingWaiter first;
  CountingWaiter second;
  EXPECT_TRUE(link.enlist(first));
  EXPECT_TRUE(link.enlist(second));
  deliver_all(port, receiver);
  ASSERT_EQ(receiver.packets.size(), 5U);
  receiver.packets[0]->release();
  EXPECT_TRUE(link.has_room());
  receiver.packets[1]->release();
  EXPECT_EQ(first.woken, 0) << "woken above low water";
  receiver.packets[2]->release();
  EXPECT_EQ(first.woken, 1);
  EXPECT_EQ(second.woken, 1);
  receiver.packets[3]->release();
  receiver.packets[4]->release();
  receiver.packets.clear();
  EXPECT_EQ(first.woken, 1);
}

TEST_F(LocalLinkTest, Destructor_WhenPacketsWait_FreesThem) {
  Port own_port;
  LocalLink own_link(Rank(0), Rank(1), Lane::normal, options, own_port);
  for (int i = 0; i < 100; ++i) append_bytes(own_link, 100);
}

// Each thread's messages come in the order it appended them, and none is lost or doubled, whatever
// the number of threads.
TEST(LocalLinkThreads, Append_FromManyThreads_KeepsEachThreadsOrder) {
  for (const std::uint64_t thread_count : {1U, 2U, 8U}) {
    constexpr std::uint64_t kMessages = 5'000;
    Port port;
    LocalLink link(Rank(0), Rank(1), Lane::normal, {.packet_bytes = 512}, port);
    std::vector<std::uint64_t> next(thread_count);
    std::uint64_t received = 0;
    std::uint64_t misplaced = 0;
    ReadingReceiver receiver([&](std::uint64_t thread, std::uint64_t index) {
      if (index != next[thread]++) ++misplaced;
      ++received;
    });
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < thread_count; ++t) {
      threads.emplace_back([&link, t] {
        for (std::uint64_t i = 0; i < kMessages; ++i) append_pair(link, t, i);
      });
    }
    while (received < thread_count * kMessages) {
      if (deliver_all(port, receiver) == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(misplaced, 0U) << thread_count << " threads";
    EXPECT_EQ(deliver_all(port, receiver), 0);
    EXPECT_EQ(link.in_flight_bytes(), 0U);
  }
}

// Senders sleep whenever there is no room; if one wake-up were lost, this would never end.
TEST(LocalLinkThreads, Enlist_FromManyThreads_LosesNoWakeUp) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kMessages = 1'000;
  const LinkOptions options{.packet_bytes = 128, .window_bytes = 512};
  Port port;
  LocalLink link(Rank(0), Rank(1), Lane::normal, options, port);
  std::uint64_t received = 0;
  std::size_t peak_bytes = 0;
  ReadingReceiver receiver([&](std::uint64_t, std::uint64_t) {
    ++received;
    peak_bytes = std::max(peak_bytes, link.in_flight_bytes());
  });
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&link, t] {
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        while (!link.has_room()) {
          BlockingWaiter waiter;
          if (link.enlist(waiter)) waiter.wait();
        }
        append_pair(link, t, i);
      }
    });
  }
  while (received < kThreads * kMessages) {
    if (deliver_all(port, receiver) == 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(link.in_flight_bytes(), 0U);
  // has_room() and append() are two steps: each thread may add one message beyond the window.
  EXPECT_LE(peak_bytes, options.window_bytes + kThreads * 32);
}

// --- Fabric

/// Fake of a transport between two processes: remembers which links were asked for.
class FakeTransport final : public Transport {
 public:
  Layout layout() const override { return {4, 2, 0}; }
  void attach(Fabric& fabric) override { attached = &fabric; }
  std::unique_ptr<Link> make_link(Rank source, Rank target, Lane lane) override {
    ++links;
    return std::make_unique<LocalLink>(source, target, lane, LinkOptions{}, port_);
  }
  bool poll(bool, DirectArrivals*) override { return false; }
  env::Steppable* engine() override { return nullptr; }
  std::uint32_t new_payload_tag() override { return 0; }
  void send_payload(Rank, Rank, std::uint32_t, std::span<const std::byte>, Completion*) override {}
  void receive_payload(Rank, Rank, std::uint32_t, std::span<std::byte>, Completion*) override {}
  std::vector<std::string> exchange(const std::string& mine) override { return {mine}; }
  void finish() override {}
  void abort(int) override {}

  Fabric* attached = nullptr;
  int links = 0;

 private:
  Port port_;
};

TEST(Fabric, Link_WhenAskedAgain_IsTheSame) {
  Fabric fabric({.world_size = 2, .ranks_per_process = 2}, {}, nullptr);
  Link& link = fabric.link(Rank(0), Rank(1), Lane::normal);
  EXPECT_EQ(&link, &fabric.link(Rank(0), Rank(1), Lane::normal));
  EXPECT_NE(&link, &fabric.link(Rank(0), Rank(1), Lane::control));
  EXPECT_NE(&link, &fabric.link(Rank(1), Rank(0), Lane::normal));
  EXPECT_EQ(link.source(), Rank(0));
  EXPECT_EQ(link.target(), Rank(1));
  EXPECT_EQ(link.lane(), Lane::normal);
}

TEST(Fabric, Link_WhenAskedByManyThreadsAtOnce_IsTheSame) {
  constexpr int kThreads = 8;
  Fabric fabric({.world_size = 1, .ranks_per_process = 1}, {}, nullptr);
  std::vector<Link*> links(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(links.size());
  for (auto& link : links) {
    threads.emplace_back([&] { link = &fabric.link(Rank(0), Rank(0), Lane::normal); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(links, ::testing::Each(links.front()));
}

// Each look takes a time by the number of links, or 10,000 would take minutes.
TEST(Fabric, LinkStates_AreThoseOfTheLinksThatWereMade_ByTarget) {
  constexpr int kRanks = 1'000'000;
  FakeTransport transport;
  Fabric fabric({.world_size = kRanks, .ranks_per_process = 1}, {}, &transport);
  EXPECT_THAT(fabric.link_states(Rank(0)), ::testing::IsEmpty());
  fabric.link(Rank(0), Rank(kRanks - 1), Lane::normal);
  fabric.link(Rank(0), Rank(7), Lane::control);
  fabric.link(Rank(0), Rank(5), Lane::urgent);
  fabric.link(Rank(0), Rank(5), Lane::normal);
  fabric.link(Rank(0), Rank(5), Lane::normal);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(fabric.link_states(Rank(0)).size(), 3U);
  std::vector<int> targets;
  for (const LinkState& link : fabric.link_states(Rank(0))) targets.push_back(link.target.value());
  EXPECT_THAT(targets, ::testing::ElementsAre(5, 5, kRanks - 1));
}

TEST(Fabric, Link_ToALocalRank_DeliversToItsPort) {
  Fabric fabric({.world_size = 2, .ranks_per_process = 2}, {}, nullptr);
  append_bytes(fabric.link(Rank(0), Rank(1), Lane::normal), 16);
  append_bytes(fabric.link(Rank(1), Rank(1), Lane::normal), 16);
  KeepingReceiver receiver;
  EXPECT_EQ(deliver_all(fabric.port(Rank(0)), receiver), 0);
  EXPECT_EQ(deliver_all(fabric.port(Rank(1)), receiver), 2);
}

TEST(Fabric, Link_ToARankOfAnotherProcess_ComesFromTheTransport) {
  FakeTransport transport;
  Fabric fabric(transport.layout(), {}, &transport);
  EXPECT_EQ(transport.attached, &fabric);
  fabric.link(Rank(0), Rank(1), Lane::normal);
  EXPECT_EQ(transport.links, 0);
  fabric.link(Rank(0), Rank(2), Lane::normal);
  fabric.link(Rank(0), Rank(2), Lane::normal);
  EXPECT_EQ(transport.links, 1);
}

TEST(Fabric, LinkAndPort_WhenTheRankIsWrong_AreRefusedWithItsNumber) {
  FakeTransport transport;
  Fabric fabric(transport.layout(), {}, &transport);
  const auto text = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const CheckError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(text([&] { fabric.link(Rank(0), Rank(4), Lane::normal); }),
              ::testing::HasSubstr("rank 4 is out of range"));
  EXPECT_THAT(text([&] { fabric.link(Rank(0), Rank(-1), Lane::normal); }),
              ::testing::HasSubstr("rank -1 is out of range"));
  EXPECT_THAT(text([&] { static_cast<void>(fabric.port(Rank(2))); }),
              ::testing::HasSubstr("rank 2 is not in this"));
}

}  // namespace net_link_test
}  // namespace shoal::net

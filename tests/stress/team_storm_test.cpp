// Handlers that answer: all ranks send to all, none waits for ever.

#include "support/flood.hpp"

#include <algorithm>
#include <optional>

namespace team_storm_test {

using namespace shoal;
using namespace shoal::testing;

struct Setting {
  Delivery request;
  Delivery reply;
  int ranks;
  int workers;
};

class Storm : public ::testing::TestWithParam<Setting> {
 protected:
  [[nodiscard]] std::string name() const {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  FloodTally replies_;
};

INSTANTIATE_TEST_SUITE_P(Settings, Storm,
                         ::testing::Values(Setting{Delivery::inlined, Delivery::inlined, 2, 1},
                                           Setting{Delivery::task, Delivery::inlined, 2, 1},
                                           Setting{Delivery::inlined, Delivery::task, 4, 2},
                                           Setting{Delivery::task, Delivery::task, 3, 2},
                                           Setting{Delivery::task, Delivery::task, 1, 1}));

TEST_P(Storm, EveryRequestIsAnswered) {
  const auto count = static_cast<std::uint64_t>(sized(100'000, 10'000));
  const Setting& setting = GetParam();
  const auto links = static_cast<std::size_t>(setting.ranks * setting.ranks);
  run_flood(name(), setting.ranks, setting.workers, links * 32 * kFloodWindow, replies_,
            [&](World& world) {
              auto reply = world.make_am(
                  [&](std::uint64_t number, std::span<const std::uint8_t> padding) {
                    replies_.add(number, padding);
                  },
                  {.delivery = setting.reply});
              auto request = world.make_am(
                  [&](std::uint64_t number, int from) {
                    reply.send(Rank(from), number, std::span<const std::uint8_t>());
                  },
                  {.delivery = setting.request});
              for (std::uint64_t i = 0; i < count; ++i) {
                for (int to = 0; to < world.size(); ++to) {
                  request.send(Rank(to), i, world.rank().value());
                }
              }
              world.wait();
            });
  replies_.expect(static_cast<std::uint64_t>(setting.ranks * setting.ranks), count);
}

// The receiver keeps up, so that the sender is never held back; the answers must not pile up behind
// its only worker, where all of them would take three times the limit. A thread that loses its
// processor for a while has a window of requests and one of answers behind it, in packets.
TEST(Replies, ToATaskThatOnlySends_DoNotPileUp) {
  const auto count = static_cast<std::uint64_t>(sized(300'000, 20'000));
  FloodTally replies;
  run_flood("ToATaskThatOnlySends", 2, 1, 8 * kFloodWindow, replies, [&](World& world) {
    auto reply = world.make_am([&](std::uint64_t number) { replies.add(number, {}); });
    auto request = world.make_am([&](std::uint64_t number) { reply.send(Rank(0), number); });
    for (std::uint64_t i = 0; i < count && world.rank() == 0; ++i) {
      volatile std::uint64_t work = i;
      for (int k = 0; k < 500; ++k) work = work * 3 + 1;
      request.send(Rank(1), i);
    }
    world.wait();
  });
  replies.expect(1, count);
}

// Messages made by handlers are never held back: a window that is smaller than one message, and
// tasks that stand still in it, cannot stop them.
TEST(Windows, SmallerThanAMessage_StopNobody) {
  const int count = sized(3'000, 300);
  for (const Delivery delivery : {Delivery::inlined, Delivery::task}) {
    std::atomic<int> ended{0};
    EXPECT_EQ(run_world(3, 1,
                        [&](World& world) {
                          std::optional<ActiveMessage<int, std::span<const int>>> hop;
                          hop = world.make_am(
                              [&](int left, std::span<const int> load) {
                                EXPECT_EQ(load.size(), 400U);
                                if (left == 0) {
                                  ++ended;
                                } else {
                                  hop->send(Rank((world.rank() + left) % world.size()), left - 1,
                                            load);
                                }
                              },
                              {.delivery = delivery});
                          const std::vector<int> load(400);
                          for (int t = 0; t < 100; ++t) {
                            world.spawn([&, t] {
                              for (int i = t; i < count; i += 100) hop->send(Rank(i % 3), 7, load);
                            });
                          }
                          world.wait();
                        },
                        {"--packet-bytes", "512", "--window-bytes", "512"}),
              0);
    EXPECT_EQ(ended, 3 * count);
  }
}

TEST(LargeMessages, OfAllRanksAtAll_ArriveAndAreReleased) {
  const int count = sized(400, 40);
  constexpr std::size_t kSize = 16 * 1024;
  for (const Delivery delivery : {Delivery::inlined, Delivery::task}) {
    std::atomic<int> arrived{0};
    std::atomic<int> released{0};
    EXPECT_EQ(
        run_world(
            4, 2,
            [&](World& world) {
              auto message = world.make_large_am<int>(
                  [](std::size_t size, int) { return std::span(new int[size], size); },
                  [&](std::span<int> data, int number) {
                    EXPECT_TRUE(std::ranges::all_of(data, [number](int x) { return x == number; }));
                    delete[] data.data();
                    ++arrived;
                  },
                  [&](int) { ++released; }, {.delivery = delivery});
              std::vector<std::vector<int>> payloads;
              for (int t = 0; t < 4; ++t) payloads.emplace_back(kSize, t);
              for (int t = 0; t < 4; ++t) {
                world.spawn([&, t] {
                  const std::span<const int> payload(payloads[static_cast<std::size_t>(t)]);
                  for (int i = 0; i < count; ++i) {
                    message.send(Rank((i + t) % world.size()), payload, t);
                  }
                });
              }
              world.wait();
            },
            kFloodOptions),
        0);
    EXPECT_EQ(arrived, 16 * count);
    EXPECT_EQ(released, 16 * count);
  }
}

}  // namespace team_storm_test

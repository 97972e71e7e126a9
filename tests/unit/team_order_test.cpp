// Between two ranks, handlers start in the order in which the messages were sent.

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <random>

namespace team_order_test {

using namespace shoal;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using ::testing::Each;

/// The next number due from each sender: of a source rank, or of one of its tasks.
class Order {
 public:
  void arrived(int source, int sender, int number) {
    EXPECT_EQ(number, (next_[{source, sender}]++)) << "from " << source << ", sender " << sender;
  }
  [[nodiscard]] std::size_t senders() const { return next_.size(); }
  void expect_all(int count) const {
    for (const auto& [who, next] : next_) EXPECT_EQ(next, count);
  }

 private:
  std::map<std::pair<int, int>, int> next_;  // handlers of one rank run one at a time
};

/// Small messages that share packets, messages larger than a packet, and objects, all handled
/// inline and counted by one Order.
class Mixture {
 public:
  Mixture(World& world, Order& order)
      : world_(world),
        small_(world.make_am(
            [&](int source, int sender, int number) { order.arrived(source, sender, number); })),
        view_(world.make_am([&](int source, int sender, int number, std::span<const int> numbers) {
          order.arrived(source, sender, number);
          EXPECT_TRUE(std::ranges::all_of(numbers, [&](int n) { return n == number; }));
        })),
        object_(world.make_am(
            [&](int source, int sender, int number, const std::vector<std::string>& words) {
              order.arrived(source, sender, number);
              EXPECT_THAT(words, Each(std::to_string(number)));
            })) {}

  void send(Rank to, int sender, int number, std::uint32_t choice) {
    const int me = world_.rank();
    const std::size_t size = choice / 8 % 1500;
    switch (choice % 8) {
      case 0:
      case 1:
        return view_.send(to, me, sender, number, std::vector<int>(size, number));
      case 2:
        return object_.send(to, me, sender, number,
                            std::vector<std::string>(size % 10, std::to_string(number)));
      default:
        return small_.send(to, me, sender, number);
    }
  }

 private:
  World& world_;
  ActiveMessage<int, int, int> small_;
  ActiveMessage<int, int, int, std::span<const int>> view_;
  ActiveMessage<int, int, int, std::vector<std::string>> object_;
};

/// `senders` tasks and the main function of every rank send `count` messages each to every rank.
int order_main(World& world, int senders, int count, std::uint32_t seed) {
  Order order;
  Mixture mixture(world, order);
  const auto send_all = [&](int sender) {
    std::minstd_rand random(seed + static_cast<std::uint32_t>(sender * 100 + world.rank()));
    for (int number = 0; number < count; ++number) {
      for (int to = 0; to < world.size(); ++to) {
        mixture.send(Rank(to), sender, number, static_cast<std::uint32_t>(random()));
      }
    }
  };
  for (int sender = 1; sender <= senders; ++sender) {
    world.spawn([&, sender] { send_all(sender); });
  }
  send_all(0);
  world.wait();
  EXPECT_EQ(order.senders(), static_cast<std::size_t>((senders + 1) * world.size()));
  order.expect_all(count);
  return 0;
}

struct Setting {
  int ranks;
  int workers;
  int senders;
  std::vector<std::string> more;
};

class Threads : public ::testing::TestWithParam<Setting> {};

INSTANTIATE_TEST_SUITE_P(
    Settings, Threads,
    ::testing::Values(Setting{1, 1, 2, {}}, Setting{1, 4, 4, {}}, Setting{2, 1, 0, {}},
                      Setting{2, 4, 4, {}}, Setting{4, 2, 3, {}},
                      Setting{2, 2, 2, {"--packet-bytes", "512", "--window-bytes", "512"}},
                      Setting{3, 2, 2, {"--packet-bytes", "1K", "--window-bytes", "16K"}}));

TEST_P(Threads, MixedMessages_StartInTheOrderSent) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::printf("seed %u\n", seed);
  const Setting& setting = GetParam();
  EXPECT_EQ(
      run_world(
          setting.ranks, setting.workers,
          [&](World& world) { return order_main(world, setting.senders, sized(400, 60), seed); },
          setting.more),
      0);
}

// Larger than this, a sender that is suspended and resumed is on its way more often.
TEST(Turns, MixedMessages_StartInTheOrderSent) {
  const auto first = std::random_device()();
  std::printf("seed %u\n", first);
  for (std::uint32_t seed = first; seed < first + 25; ++seed) {
    SCOPED_TRACE(seed);
    const net::LinkOptions link{seed % 2 == 0 ? 512U : 8192U, seed % 3 == 0 ? 1024U : 65536U};
    const auto result =
        run_turns({seed, 3, 2, link}, [&](World& world) { return order_main(world, 2, 25, seed); });
    EXPECT_THAT(result.exit_codes, Each(0));
    for (const auto& error : result.errors) EXPECT_EQ(error, nullptr);
  }
}

TEST(Order, HandlersThatSendOn_KeepTheOrder) {
  const int count = sized(5'000, 500);
  EXPECT_EQ(run_world(3, 2,
                      [&](World& world) {
                        Order order;
                        std::optional<ActiveMessage<int, int>> relay;
                        relay = world.make_am([&](int number, int hops) {
                          order.arrived(0, hops, number);
                          const Rank next((world.rank() + 1) % world.size());
                          if (hops > 1) relay->send(next, number, hops - 1);
                        });
                        if (world.rank() == 0) {
                          for (int i = 0; i < count; ++i) relay->send(Rank(1), i, 6);
                        }
                        world.wait();
                        EXPECT_EQ(order.senders(), 2U);
                        order.expect_all(count);
                      },
                      {"--window-bytes", "16K"}),
            0);
}

void log_number(World&, std::uintptr_t log, int number) {
  reinterpret_cast<std::vector<int>*>(log)->push_back(number);
}

TEST(Order, StaticAndInstanceHandlers_ShareOneOrder) {
  std::vector<int> log;
  EXPECT_EQ(run_world(2, 2,
                      [&](World& world) {
                        auto instance = world.make_am([&](int number) { log.push_back(number); });
                        const auto address = reinterpret_cast<std::uintptr_t>(&log);
                        if (world.rank() == 0) {
                          for (int i = 0; i < 1000; i += 2) {
                            instance.send(Rank(1), i);
                            world.send(Rank(1), am<log_number>, address, i + 1);
                          }
                        }
                        world.wait();
                      }),
            0);
  EXPECT_EQ(log.size(), 1000U);
  EXPECT_TRUE(std::ranges::is_sorted(log));
}

}  // namespace team_order_test

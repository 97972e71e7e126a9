// Messages that follow each other with the same handler: their handler goes through a whole batch.

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_world.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace team_batch_test {

using namespace shoal;
using shoal::testing::run_world;
using ::testing::HasSubstr;

/// The only worker is busy until wait(): what is sent to the own rank before shares a packet.
std::string error_of_wait(World& world) {
  try {
    world.wait();
    return "";
  } catch (const TaskError& error) {
    return error.what();
  }
}

TEST(Batch, OfMessagesOfAllSmallSizes_ArrivesInOrder) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        std::vector<int> seen;
                        const auto none = world.make_am([&] { seen.push_back(0); });
                        const auto one = world.make_am([&](std::uint8_t v) { seen.push_back(v); });
                        const auto eight = world.make_am(
                            [&](std::uint64_t v) { seen.push_back(static_cast<int>(v)); });
                        const auto twelve = world.make_am([&](const std::array<int, 3>& v) {
                          seen.push_back(v[0] + v[1] + v[2]);
                        });
                        std::vector<int> expected;
                        for (int i = 0; i < 600; ++i) {
                          const int length = 1 + i % 5;  // of the run
                          for (int j = 0; j < length; ++j) {
                            const int value = i % 4 == 0 ? 0 : (i + j) % 256;
                            if (i % 4 == 0) none.send(Rank(0));
                            if (i % 4 == 1) one.send(Rank(0), static_cast<std::uint8_t>(value));
                            if (i % 4 == 2) eight.send(Rank(0), static_cast<std::uint64_t>(value));
                            if (i % 4 == 3) twelve.send(Rank(0), std::array{value, 1, -1});
                            expected.push_back(value);
                          }
                        }
                        world.wait();
                        EXPECT_EQ(seen, expected);
                      }),
            0);
}

TEST(Batch, WhoseHandlerThrows_IsDroppedFromThereOn) {
  int count = 0;
  EXPECT_EQ(run_world(1, 1,
                      [&](World& world) {
                        const auto message = world.make_am([&](int i) {
                          ++count;
                          if (i == 3) throw std::runtime_error("enough");
                        });
                        for (int i = 0; i < 10; ++i) message.send(Rank(0), i);
                        EXPECT_THAT(error_of_wait(world), HasSubstr("enough"));
                      }),
            0);
  EXPECT_EQ(count, 4);
}

TEST(Batch, WhoseHandlerIsDestroyedHalfWay_RunsForNoFurtherMessage) {
  int count = 0;
  EXPECT_EQ(run_world(1, 1,
                      [&](World& world) {
                        std::optional<ActiveMessage<int>> message;
                        message.emplace(world.make_am([&](int i) {
                          ++count;
                          if (i == 3) message.reset();
                        }));
                        for (int i = 0; i < 10; ++i) message->send(Rank(0), i);
                        EXPECT_THAT(error_of_wait(world), HasSubstr("destroyed here"));
                      }),
            0);
  EXPECT_EQ(count, 4);
}

TEST(Batch, WhoseHandlerSends_LetsNewMessagesWait) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        std::vector<int> seen;
                        std::optional<ActiveMessage<int>> message;
                        message.emplace(world.make_am([&](int i) {
                          seen.push_back(i);
                          if (i < 50) message->send(Rank(0), i + 50);
                        }));
                        std::vector<int> expected;
                        for (int i = 0; i < 50; ++i) message->send(Rank(0), i);
                        for (int i = 0; i < 100; ++i) expected.push_back(i);
                        world.wait();
                        EXPECT_EQ(seen, expected);
                      }),
            0);
}

// Each task keeps the packet, and a mostly empty one is replaced by a smaller copy half way.
TEST(Batch, MadeIntoTasks_GivesEachItsOwnMessage) {
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        std::vector<int> seen(200);
                        const auto message =
                            world.make_am([&](int i) { ++seen[static_cast<std::size_t>(i)]; },
                                          {.delivery = Delivery::task});
                        for (int i = 0; i < 200; ++i) message.send(Rank(0), i);
                        world.wait();
                        EXPECT_EQ(seen, std::vector<int>(200, 1));
                      }),
            0);
}

}  // namespace team_batch_test

// Large messages: payloads that travel without a copy in between, and the three functions.

#include <shoal/shoal.hpp>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/stderr_tap.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

namespace team_large_test {

using namespace shoal;
using shoal::testing::run_world;
using shoal::testing::sized;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Setting {
  int ranks;
  int workers;
  Delivery delivery;
};

class Large : public ::testing::TestWithParam<Setting> {
 protected:
  template <class F>
  void run(F function, const std::vector<std::string>& more = {}) {
    EXPECT_EQ(run_world(GetParam().ranks, GetParam().workers, std::move(function), more), 0);
  }
  [[nodiscard]] AmOptions options(std::string name = "") const {
    return {.delivery = GetParam().delivery, .name = std::move(name)};
  }
};

INSTANTIATE_TEST_SUITE_P(Settings, Large,
                         ::testing::Values(Setting{1, 1, Delivery::inlined},
                                           Setting{2, 1, Delivery::inlined},
                                           Setting{2, 2, Delivery::task},
                                           Setting{4, 2, Delivery::inlined},
                                           Setting{4, 1, Delivery::task}));

double element(int from, int to, std::size_t size, std::size_t i) {
  return from * 1000 + to * 100 + static_cast<double>(size % 97) + static_cast<double>(i) * 0.5;
}

/// The buffers of one rank, by source and size.
class Inbox {
 public:
  std::span<double> make(std::size_t count, int from) {
    auto& buffer = buffers_[{from, count}];  // `buffer` functions of one rank run one at a time
    EXPECT_EQ(buffer, nullptr);
    buffer = std::make_unique<double[]>(std::max<std::size_t>(count, 1));
    return {buffer.get(), count};
  }
  [[nodiscard]] const double* find(std::size_t count, int from) const {
    return buffers_.at({from, count}).get();
  }
  [[nodiscard]] std::size_t size() const { return buffers_.size(); }

 private:
  std::map<std::pair<int, std::size_t>, std::unique_ptr<double[]>> buffers_;
};

TEST_P(Large, AllSizesInAllDirectionsAtOnce_ArriveWhole) {
  const std::vector<std::size_t> sizes{0, 1, 7, 512, 4097, std::size_t{1} << 17};  // to 1 MiB
  run([&](World& world) {
    Inbox inbox;
    std::atomic<std::size_t> arrived{0};
    std::atomic<std::size_t> released{0};
    auto tile = world.make_large_am<double>(
        [&](std::size_t count, int from, const std::string& /*name*/) {
          return inbox.make(count, from);
        },
        [&](std::span<double> data, int from, const std::string& name) {
          EXPECT_EQ(name, std::to_string(data.size()));
          for (std::size_t i = 0; i < data.size(); ++i) {
            ASSERT_EQ(data[i], element(from, world.rank(), data.size(), i)) << i;
          }
          ++arrived;
        },
        [&](int from, const std::string& name) {
          EXPECT_EQ(from, world.rank());
          EXPECT_FALSE(name.empty());
          ++released;
        },
        options("tile"));
    std::vector<std::vector<double>> payloads;
    for (int to = 0; to < world.size(); ++to) {
      for (const std::size_t size : sizes) {
        std::vector<double>& payload = payloads.emplace_back(size);
        for (std::size_t i = 0; i < size; ++i) payload[i] = element(world.rank(), to, size, i);
        tile.send(Rank(to), std::span<const double>(payload), world.rank().value(),
                  std::to_string(size));
      }
    }
    world.wait();
    const std::size_t expected = sizes.size() * static_cast<std::size_t>(world.size());
    EXPECT_EQ(arrived, expected);
    EXPECT_EQ(released, expected);
    EXPECT_EQ(inbox.size(), expected);
  });
}

TEST_P(Large, Arrival_SeesTheBufferThatWasGiven) {
  run([&](World& world) {
    std::vector<int> place(100);
    std::atomic<int> arrived{0};
    auto message = world.make_large_am<int>(
        [&](std::size_t count) { return std::span(place).subspan(10, count); },
        [&](std::span<int> data) {
          EXPECT_EQ(data.data(), place.data() + 10);
          EXPECT_EQ(data.size(), 5U);
          EXPECT_THAT(std::span(place).first(10), ::testing::Each(0));
          EXPECT_THAT(std::span(place).last(85), ::testing::Each(0));
          EXPECT_THAT(data, ::testing::Each(3));
          ++arrived;
        },
        [] {}, options());
    const std::vector<int> payload(5, 3);
    if (world.rank() == 0) message.send(Rank(world.size() - 1), std::span<const int>(payload));
    world.wait();
    EXPECT_EQ(arrived, world.rank() == world.size() - 1 ? 1 : 0);
  });
}

// Release is the permission to overwrite: what it overwrites must have been copied before.
TEST_P(Large, Release_RunsOncePerMessageAndAfterTheCopy) {
  const int count = sized(300, 60);
  constexpr std::size_t kSize = 3000;
  run([&](World& world) {
    std::map<std::pair<int, int>, std::vector<int>> places;
    std::atomic<int> arrived{0};
    std::atomic<int> released{0};
    std::vector<std::vector<int>> payloads(static_cast<std::size_t>(count),
                                           std::vector<int>(kSize));
    std::vector<std::atomic<int>> releases(static_cast<std::size_t>(count));
    auto message = world.make_large_am<int>(
        [&](std::size_t size, int from, int i) {
          auto& place = places[{from, i}];
          place.resize(size);
          return std::span(place);
        },
        [&](std::span<int> data, int from, int i) {
          EXPECT_TRUE(std::ranges::all_of(data, [&](int x) { return x == from + i; }));
          ++arrived;
        },
        [&](int, int i) {
          std::ranges::fill(payloads[static_cast<std::size_t>(i)], -1);
          ++releases[static_cast<std::size_t>(i)];
          ++released;
        },
        options());
    for (int i = 0; i < count; ++i) {
      auto& payload = payloads[static_cast<std::size_t>(i)];
      std::ranges::fill(payload, world.rank() + i);
      message.send(Rank((world.rank() + i) % world.size()), std::span<const int>(payload),
                   world.rank().value(), i);
    }
    world.wait();
    EXPECT_EQ(released, count);
    for (const auto& once : releases) EXPECT_EQ(once, 1);
    EXPECT_EQ(world.allreduce(arrived.load(), std::plus<int>()), count * world.size());
  });
}

TEST_P(Large, OneBufferReusedByRelease_CarriesEveryVersion) {
  const int rounds = sized(500, 100);
  run([&](World& world) {
    std::vector<int> payload(1000, 0);
    std::vector<int> place(1000);
    int expected = 0;
    std::optional<LargeMessage<int, int>> message;
    const auto send = [&](int round) {
      std::ranges::fill(payload, round);
      message->send(Rank(world.size() - 1), std::span<const int>(payload), round);
    };
    // Inlined: the next version is sent only when this one was copied, and has arrived by then.
    message.emplace(world.make_large_am<int>([&](std::size_t, int) { return std::span(place); },
                                             [&](std::span<int> data, int round) {
                                               EXPECT_EQ(round, expected++);
                                               EXPECT_THAT(data, ::testing::Each(round));
                                             },
                                             [&](int round) {
                                               if (round + 1 < rounds) send(round + 1);
                                             }));
    if (world.rank() == 0) send(0);
    world.wait();
    EXPECT_EQ(expected, world.rank() == world.size() - 1 ? rounds : 0);
  });
}

TEST_P(Large, BesideSmallMessages_BufferRunsInTheOrderSent) {
  const int count = sized(300, 60);
  run(
      [&](World& world) {
        std::map<int, int> next;
        std::vector<char> place(1 << 16);
        auto small = world.make_am([&](int from, int i) { EXPECT_EQ(i, next[from]++); });
        auto large = world.make_large_am<char>(
            [&](std::size_t size, int from, int i) {
              EXPECT_EQ(i, next[from]++);
              return std::span(place).first(size);
            },
            [](std::span<char>, int, int) {}, [](int, int) {});
        const std::vector<char> payload(1 << 16);
        for (int i = 0; i < count; ++i) {
          for (int to = 0; to < world.size(); ++to) {
            if (i % 3 == 0) {
              large.send(Rank(to),
                         std::span<const char>(payload).first(static_cast<std::size_t>(i) * 7),
                         world.rank().value(), i);
            } else {
              small.send(Rank(to), world.rank().value(), i);
            }
          }
        }
        world.wait();
        for (int from = 0; from < world.size(); ++from) EXPECT_EQ(next[from], count);
      },
      {"--window-bytes", "128K"});
}

TEST_P(Large, FromManyTasksAndThreads_EachArrivesOnce) {
  const int count = sized(100, 20);
  constexpr int kSenders = 4;
  run([&](World& world) {
    std::vector<long> place(500);
    std::atomic<long> sum{0};
    std::atomic<int> released{0};
    auto message = world.make_large_am<long>(
        [&](std::size_t size, int) { return std::span(place).first(size); },
        [&](std::span<long> data, int sender) {  // inlined: one at a time
          EXPECT_TRUE(std::ranges::all_of(data, [&](long x) { return x == sender; }));
          sum += sender;
        },
        [&](int) { ++released; });
    std::vector<std::vector<long>> payloads;
    for (int s = 0; s <= kSenders; ++s) payloads.emplace_back(500, s);
    const auto send_all = [&](int sender) {
      const std::span<const long> payload(payloads[static_cast<std::size_t>(sender)]);
      for (int i = 0; i < count; ++i) message.send(Rank(i % world.size()), payload, sender);
    };
    for (int s = 0; s < kSenders; ++s) world.spawn([&, s] { send_all(s); });
    std::thread thread([&, hold = world.hold()] { send_all(kSenders); });
    world.wait();
    thread.join();
    EXPECT_EQ(released, (kSenders + 1) * count);
    EXPECT_EQ(world.allreduce(sum.load(), std::plus<long>()), 10L * count * world.size());
  });
}

TEST_P(Large, AsTask_ArrivalIsATaskOfTheReceiver) {
  run([&](World& world) {
    std::vector<int> place(4);
    auto message = world.make_large_am<int>([&](std::size_t) { return std::span(place); },
                                            [](std::span<int>) {}, [] {}, options());
    const std::vector<int> payload(4);
    if (world.rank() == 0) message.send(Rank(world.size() - 1), std::span<const int>(payload));
    world.wait();
    const bool receives = world.rank() == world.size() - 1;
    EXPECT_EQ(world.statistics().tasks_run,
              receives && GetParam().delivery == Delivery::task ? 1U : 0U);
  });
}

TEST_P(Large, Statistics_CountThePayload) {
  run([&](World& world) {
    std::vector<double> place(1000);
    auto message = world.make_large_am<double>([&](std::size_t) { return std::span(place); },
                                               [](std::span<double>) {}, [] {});
    const std::vector<double> payload(1000);
    const std::uint64_t before = world.statistics().bytes_sent;
    message.send(Rank(world.rank()), std::span<const double>(payload));
    world.wait();
    EXPECT_GE(world.statistics().bytes_sent - before, 8000U);
    EXPECT_LE(world.statistics().bytes_sent - before, 8200U);
  });
}

// --- errors. On every path the sender's wait() ends, with the text; nothing hangs.

/// Rank 0 sends `count` elements to the last rank; what wait() throws there and here.
template <class Buffer, class Arrival, class Release>
std::string failure(const Setting& setting, Buffer buffer, Arrival arrival, Release release) {
  std::string text;
  const int code = run_world(setting.ranks, setting.workers, [&](World& world) {
    auto message = world.make_large_am<int>(buffer, arrival, release,
                                            {.delivery = setting.delivery, .name = "the tile"});
    const std::vector<int> payload(100);
    if (world.rank() == 0) {
      for (int i = 0; i < 3; ++i) {
        message.send(Rank(world.size() - 1), std::span<const int>(payload), i);
      }
    }
    try {
      world.wait();
    } catch (const TaskError& error) {
      if (world.rank() == 0) text = error.what();
    }
  });
  EXPECT_EQ(code, 0);  // the main functions caught it
  return text;
}

TEST_P(Large, BufferOfWrongSize_IsRefusedByName) {
  for (const std::size_t given : {std::size_t{0}, std::size_t{99}, std::size_t{101}}) {
    std::vector<int> place(200);
    const std::string text = failure(
        GetParam(), [&](std::size_t, int) { return std::span(place).first(given); },
        [](std::span<int>, int) { ADD_FAILURE(); }, [](int) {});
    EXPECT_THAT(text, AllOf(HasSubstr("the tile"), HasSubstr(fmt::format("{} elements", given)),
                            HasSubstr("100 arrive")));
  }
}

TEST_P(Large, BufferThatThrows_FailsEveryRankWithItsText) {
  const std::string text = failure(
      GetParam(), [](std::size_t, int) -> std::span<int> { throw std::runtime_error("no room"); },
      [](std::span<int>, int) { ADD_FAILURE(); }, [](int) {});
  EXPECT_THAT(text, AllOf(HasSubstr("the tile"), HasSubstr("no room")));
}

TEST_P(Large, ArrivalThatThrows_FailsEveryRankWithItsText) {
  std::vector<int> place(100);
  const std::string text = failure(
      GetParam(), [&](std::size_t, int) { return std::span(place); },
      [](std::span<int>, int) { throw std::runtime_error("bad tile"); }, [](int) {});
  EXPECT_THAT(text, AllOf(HasSubstr("the tile"), HasSubstr("bad tile")));
}

TEST_P(Large, ReleaseThatThrows_FailsEveryRankWithItsText) {
  std::vector<int> place(100);
  const std::string text = failure(
      GetParam(), [&](std::size_t, int) { return std::span(place); }, [](std::span<int>, int) {},
      [](int) { throw std::runtime_error("bad release"); });
  EXPECT_THAT(text, AllOf(HasSubstr("the tile"), HasSubstr("bad release")));
}

struct ThrowsWhenSaved {
  template <class Archive>
  void serialize(Archive& /*ar*/) {
    if constexpr (Archive::is_saving) throw std::runtime_error("cannot save");
  }
};

// wait() does not wait for a message that was not sent.
TEST_P(Large, SendThatThrows_LeavesNothingBehind) {
  run([](World& world) {
    const std::vector<int> payload(10);
    auto message = world.make_large_am<int>(
        [](std::size_t, int) -> std::span<int> { return {}; }, [](std::span<int>, int) {},
        [](int) { ADD_FAILURE() << "released what was not sent"; });
    auto other = world.make_large_am<int>(
        [](std::size_t, const ThrowsWhenSaved&) -> std::span<int> { return {}; },
        [](std::span<int>, const ThrowsWhenSaved&) {}, [](const ThrowsWhenSaved&) {});
    EXPECT_THROW(message.send(Rank(world.size()), std::span<const int>(payload), 1), CheckError);
    EXPECT_THROW(message.send(Rank(-1), std::span<const int>(payload), 1), CheckError);
    EXPECT_THROW(other.send(Rank(0), std::span<const int>(payload), ThrowsWhenSaved()),
                 std::runtime_error);
    world.wait();
  });
}

TEST_P(Large, Arguments_MayBeChangedAtOnce) {
  run([](World& world) {
    std::vector<int> place(8);
    std::atomic<int> arrived{0};
    auto message = world.make_large_am<int>(
        [&](std::size_t, const std::vector<int>& numbers) {
          EXPECT_EQ(numbers, std::vector(3, 9));
          return std::span(place);
        },
        [&](std::span<int>, const std::vector<int>& numbers) {
          EXPECT_EQ(numbers, std::vector(3, 9));
          ++arrived;
        },
        [](const std::vector<int>& numbers) { EXPECT_EQ(numbers, std::vector(3, 9)); });
    const std::vector<int> payload(8);
    std::vector<int> numbers(3, 9);
    message.send(Rank((world.rank() + 1) % world.size()), std::span<const int>(payload), numbers);
    std::ranges::fill(numbers, -1);
    world.wait();
    EXPECT_EQ(arrived, 1);
  });
}

TEST_P(Large, EachFunction_MayTakeFewerArguments) {
  run([&](World& world) {
    std::vector<int> place(4);
    std::vector<std::string> arrived;
    int released = 0;
    const auto message = world.make_large_am<int>(
        [&](std::size_t count) { return std::span(place).first(count); },
        [&](std::span<int> data, int from, const std::string& name) {
          arrived.push_back(name + std::to_string(from) + std::to_string(data.size()));
        },
        [&](int from) { released += from + 1; }, options());
    const auto plain = world.make_large_am<int>(
        [&](std::size_t count, int /*unused*/) { return std::span(place).first(count); },
        [](std::span<int> /*data*/) {}, options());
    const std::vector<int> payload(4, 3);
    if (world.rank() == 0) {
      message.send(Rank(world.size() - 1), payload, 0, "tile");
      plain.send(Rank(world.size() - 1), payload, 1);
    }
    world.wait();
    const bool is_last = world.rank() == world.size() - 1;
    EXPECT_EQ(arrived, is_last ? std::vector<std::string>{"tile04"} : std::vector<std::string>{});
    EXPECT_EQ(released, world.rank() == 0 ? 1 : 0);
  });
}

// Captures do not travel: this one cannot even be copied.
TEST_P(Large, OnRelease_RunsOnTheSenderOnceAfterRelease) {
  const int count = sized(100, 20);
  run([&](World& world) {
    std::map<int, std::vector<int>> places;
    std::vector<int> order(static_cast<std::size_t>(count), 0);
    std::atomic<int> wrong{0};  // arrivals that are tasks run at the same time
    const auto message = world.make_large_am<int>(
        [&](std::size_t size, int number, int from) {
          std::vector<int>& place = places[from * count + number];
          place.resize(size);
          return std::span(place);
        },
        [&](std::span<int> data, int number) { wrong += data[0] == number ? 0 : 1; },
        [&](int number) { order[static_cast<std::size_t>(number)] = 1; }, options());
    const Rank next((world.rank() + 1) % world.size());
    for (int number = 0; number < count; ++number) {
      auto payload = std::make_unique<std::vector<int>>(100, number);
      const std::span<const int> span(*payload);
      message.send(next, span, number, world.rank().value(),
                   on_release([&order, number, payload = std::move(payload)] {
                     int& step = order[static_cast<std::size_t>(number)];
                     step = step == 1 && payload->size() == 100 ? 2 : -1;
                   }));
    }
    world.wait();
    EXPECT_EQ(order, std::vector<int>(static_cast<std::size_t>(count), 2));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(places.size(), static_cast<std::size_t>(count));
  });
}

TEST_P(Large, OnReleaseThatThrows_FailsEveryRankWithItsText) {
  std::atomic<int> told{0};
  EXPECT_EQ(run_world(GetParam().ranks, GetParam().workers,
                      [&](World& world) {
                        std::vector<int> place(1);
                        const auto message =
                            world.make_large_am<int>([&](std::size_t) { return std::span(place); },
                                                     [](std::span<int>) {}, options("tile"));
                        if (world.rank() == 0) {
                          message.send(Rank(0), std::span<const int>(place),
                                       on_release([] { throw std::runtime_error("not mine"); }));
                        }
                        try {
                          world.wait();
                        } catch (const TaskError& error) {
                          told += error.text() == "not mine" && error.task_name() == "tile" ? 1 : 0;
                        }
                        return 0;
                      }),
            0);
  EXPECT_EQ(told, GetParam().ranks);
}

// The same decision in every build; only in those with debug checks do messages ask for it.
TEST(PayloadSizes, SmallOnesOnAverage_AreNamedOnce) {
  const auto said_of = [](std::size_t size_bytes, int count) {
    shoal::testing::StderrTap tap;
    team::PayloadSizes sizes;
    for (int i = 0; i < count; ++i) sizes.note("tile", size_bytes);
    return tap.stop();
  };
  EXPECT_THAT(said_of(100, 1000),
              AllOf(HasSubstr("the large message 'tile' have 100 bytes on average"),
                    ::testing::Not(::testing::ContainsRegex("tile.*tile"))));
  EXPECT_EQ(said_of(100, 10), "");  // may still become larger
  EXPECT_EQ(said_of(kLargeMessageBytes, 1000), "");
}

TEST_P(Large, SmallPayloads_AreNamedInBuildsWithDebugChecks) {
  shoal::testing::StderrTap tap;
  run([&](World& world) {
    constexpr std::size_t kCount = 100;
    std::vector<std::vector<int>> places(kCount, std::vector<int>(10));
    const std::vector<int> payload(10);
    auto message = world.make_large_am<int>(
        [&, next = std::size_t{0}](std::size_t) mutable { return std::span(places[next++]); },
        [](std::span<int>) {}, [] {}, options("little"));
    for (std::size_t i = 0; i < kCount; ++i) message.send(world.rank(), std::span(payload));
    world.wait();
  });
#ifdef NDEBUG
  EXPECT_EQ(tap.stop(), "");
#else
  EXPECT_THAT(tap.stop(), HasSubstr("the large message 'little' have 40 bytes on average"));
#endif
}

}  // namespace team_large_test

// Sending: from everywhere to everywhere, every kind of handler and argument.

#include <shoal/shoal.hpp>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <thread>
#include <variant>

namespace team_send_test {

using namespace shoal;
using shoal::testing::run_world;
using shoal::testing::sized;
using std::string_literals::operator""s;

// --- types with a serialize() in each of the four spellings

struct Member {
  std::string name;
  std::vector<int> data;
  bool operator==(const Member&) const = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, data);
  }
};

class VersionedMember {
 public:
  VersionedMember() = default;
  explicit VersionedMember(std::string name) : name_(std::move(name)) {}
  bool operator==(const VersionedMember&) const = default;

 private:
  friend class shoal::Access;
  template <class Archive>
  void serialize(Archive& ar, unsigned /*version*/) {
    ar& name_;
  }
  std::string name_;
};

struct Free {
  std::map<std::string, double> values;
  bool operator==(const Free&) const = default;
};
template <class Archive>
void serialize(Archive& ar, Free& free) {
  ar(free.values);
}

struct VersionedFree {
  std::vector<std::string> names;
  bool operator==(const VersionedFree&) const = default;
};
template <class Archive>
void serialize(Archive& ar, VersionedFree& free, unsigned /*version*/) {
  ar& free.names;
}

struct Point {
  double x = 0;
  int y = 0;
  bool operator==(const Point&) const = default;
};

enum class Color : std::uint8_t { red, green };

// --- the shapes of worlds

struct Shape {
  int ranks;
  int workers;
};

class Send : public ::testing::TestWithParam<Shape> {
 protected:
  template <class F>
  void run(F function) {
    EXPECT_EQ(run_world(GetParam().ranks, GetParam().workers, std::move(function)), 0);
  }
  [[nodiscard]] int ranks() const { return GetParam().ranks; }
};

std::string name_of(const ::testing::TestParamInfo<Shape>& info) {
  return fmt::format("{}ranks{}workers", info.param.ranks, info.param.workers);
}
INSTANTIATE_TEST_SUITE_P(Shapes, Send,
                         ::testing::Values(Shape{1, 1}, Shape{2, 1}, Shape{2, 3}, Shape{4, 2}),
                         name_of);

template <class F>
void for_each_rank(World& world, F function) {
  for (int rank = 0; rank < world.size(); ++rank) function(Rank(rank));
}

// --- static handlers. The ranks share the process: what they count in travels as an address.

using Address = std::uintptr_t;

struct Tally {
  std::atomic<int> calls{0};
  std::atomic<long> sum{0};
  void add(long value) {
    ++calls;
    sum += value;
  }
  [[nodiscard]] Address address() { return reinterpret_cast<Address>(this); }
  static Tally& at(Address address) { return *reinterpret_cast<Tally*>(address); }
};

void add_values(Address tally, int x, std::span<const double> values) {
  Tally::at(tally).add(x + std::lround(std::accumulate(values.begin(), values.end(), 0.0)));
}
void add_rank(World& world, Address tally, const std::string& text) {
  Tally::at(tally).add(world.rank() + static_cast<long>(text.size()));
}
void add_quietly(const World& /*world*/, Address tally) noexcept { Tally::at(tally).add(1); }

template <int N>
void add_constant(Address tally) {
  Tally::at(tally).add(N);
}

TEST_P(Send, StaticFunctionWithoutWorld_RunsOnEveryTarget) {
  Tally tally;
  run([&](World& world) {
    const std::vector<double> values{1, 2, 3};
    for_each_rank(world,
                  [&](Rank to) { world.send(to, am<add_values>, tally.address(), 10, values); });
    world.wait();
  });
  EXPECT_EQ(tally.calls, ranks() * ranks());
  EXPECT_EQ(tally.sum, 16 * ranks() * ranks());
}

TEST_P(Send, StaticFunctionWithWorld_SeesTheTargetsWorld) {
  Tally tally;
  run([&](World& world) {
    for_each_rank(world, [&](Rank to) { world.send(to, am<add_rank>, tally.address(), "four"); });
    for_each_rank(world, [&](Rank to) { world.send(to, am<add_quietly>, tally.address()); });
    world.wait();
  });
  EXPECT_EQ(tally.calls, 2 * ranks() * ranks());
  EXPECT_EQ(tally.sum, ranks() * (ranks() * (ranks() - 1) / 2 + 5 * ranks()));
}

TEST_P(Send, StaticFunctionDeliveredAsTask_RunsAsTaskOfTheTarget) {
  Tally tally;
  std::atomic<std::uint64_t> tasks{0};
  run([&](World& world) {
    for_each_rank(
        world, [&](Rank to) { world.send(to, am<add_rank, Delivery::task>, tally.address(), ""); });
    world.wait();
    tasks += world.statistics().tasks_run;
  });
  EXPECT_EQ(tally.calls, ranks() * ranks());
  EXPECT_EQ(tasks, static_cast<std::uint64_t>(ranks() * ranks()));
}

TEST_P(Send, InstancesOfOneTemplate_AreDifferentHandlers) {
  Tally tally;
  run([&](World& world) {
    world.send(Rank(0), am<add_constant<1>>, tally.address());
    world.send(Rank(0), am<add_constant<100>>, tally.address());
  });
  EXPECT_EQ(tally.sum, 101 * ranks());
}

TEST_P(Send, LambdaWithoutCaptures_NeedsNoRegistration) {
  Tally tally;
  run([&](World& world) {
    for_each_rank(world, [&](Rank to) {
      world.send(
          to, [](Address at, int x) { Tally::at(at).add(x); }, tally.address(), 3);
      world.send(
          to, [](World& w, Address at) { Tally::at(at).add(w.size()); }, tally.address());
    });
    world.wait();
  });
  EXPECT_EQ(tally.calls, 2 * ranks() * ranks());
  EXPECT_EQ(tally.sum, (3 + ranks()) * ranks() * ranks());
}

// --- arguments

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool same(const std::unique_ptr<T>& a, const std::unique_ptr<T>& b) {
  return a == b || (a && b && *a == *b);
}
template <class T>
bool same(const Immutable<T>& a, const Immutable<T>& b) {
  return *a == *b;
}

/// Every rank sends make() to every rank as an lvalue and moved, to handlers that take `Parameter`
/// and are delivered either way. Beside it travels a number, so that nothing is right by luck.
template <class Parameter, class Make>
void expect_arrives(World& world, Make make) {
  for (const Delivery delivery : {Delivery::inlined, Delivery::task}) {
    std::atomic<int> arrived{0};
    auto message = world.make_am(
        [&](int before, Parameter value, double after) {
          EXPECT_EQ(before, 7);
          EXPECT_EQ(after, 0.5);
          EXPECT_TRUE(same(value, make()));
          ++arrived;
        },
        {.delivery = delivery});
    for_each_rank(world, [&](Rank to) {
      auto value = make();
      message.send(to, 7, value, 0.5F);
      EXPECT_TRUE(same(value, make())) << "sending changed the sender's argument";
      message.send(to, 7, std::move(value), 0.5F);
    });
    world.wait();
    EXPECT_EQ(arrived, 2 * world.size());
  }
}

template <class T, class Make>
void expect_arrives_in_every_way(World& world, Make make) {
  expect_arrives<T>(world, make);
  expect_arrives<const T>(world, make);
  expect_arrives<const T&>(world, make);
  expect_arrives<T&&>(world, make);
}

TEST_P(Send, TriviallyCopyableArguments_Arrive) {
  run([](World& world) {
    expect_arrives_in_every_way<int>(world, [] { return -5; });
    expect_arrives_in_every_way<Point>(world, [] { return Point{1.5, 2}; });
    expect_arrives<const Color&>(world, [] { return Color::green; });
    expect_arrives<const std::array<int, 3>&>(world, [] { return std::array{1, 2, 3}; });
    expect_arrives<const bool&>(world, [] { return true; });
  });
}

TEST_P(Send, StandardContainers_Arrive) {
  run([](World& world) {
    expect_arrives_in_every_way<std::string>(world, [] { return std::string(100, 's'); });
    expect_arrives<const std::vector<int>&>(world, [] { return std::vector{3, 2, 1}; });
    expect_arrives<const std::vector<std::string>&>(world, [] {
      return std::vector{"a"s, ""s, std::string(50, 'b')};
    });
    expect_arrives<const std::map<std::string, std::vector<int>>&>(world, [] {
      return std::map<std::string, std::vector<int>>{{"one", {1}}, {"none", {}}};
    });
    expect_arrives<const std::optional<std::string>&>(
        world, [] { return std::optional<std::string>("here"); });
    expect_arrives<const std::tuple<int, std::string>&>(
        world, [] { return std::tuple<int, std::string>(4, "four"); });
    expect_arrives<const std::variant<int, std::string>&>(
        world, [] { return std::variant<int, std::string>("text"); });
  });
}

TEST_P(Send, UserTypesInAllFourSpellings_Arrive) {
  run([](World& world) {
    expect_arrives_in_every_way<Member>(world, [] { return Member{"m", {1, 2}}; });
    expect_arrives<const VersionedMember&>(world, [] { return VersionedMember("private"); });
    expect_arrives<const Free&>(world, [] { return Free{{{"pi", 3.14}}}; });
    expect_arrives<const VersionedFree&>(world, [] { return VersionedFree{{"a", "b"}}; });
  });
}

TEST_P(Send, MoveOnlyAndImmutableArguments_Arrive) {
  run([](World& world) {
    expect_arrives_in_every_way<std::unique_ptr<Point>>(world, [] {
      return std::make_unique<Point>(Point{2.5, 1});
    });
    expect_arrives_in_every_way<std::unique_ptr<Point>>(world,
                                                        [] { return std::unique_ptr<Point>(); });
    expect_arrives_in_every_way<Immutable<std::vector<int>>>(
        world, [] { return make_immutable<std::vector<int>>(10, 4); });
  });
}

TEST_P(Send, NoArguments_RunsTheHandler) {
  std::atomic<int> calls{0};
  run([&](World& world) {
    auto inlined = world.make_am([&] { ++calls; });
    auto task = world.make_am([&] { ++calls; }, {.delivery = Delivery::task});
    for_each_rank(world, [&](Rank to) {
      inlined.send(to);
      task.send(to);
    });
    world.wait();
  });
  EXPECT_EQ(calls, 2 * ranks() * ranks());
}

TEST_P(Send, Views_AreTakenFromAnythingThatConverts) {
  std::atomic<int> calls{0};
  run([&](World& world) {
    auto message = world.make_am([&](std::span<const int> numbers, std::string_view text) {
      EXPECT_TRUE(std::ranges::equal(numbers, std::array{1, 2, 3}));
      EXPECT_EQ(text, "text");
      ++calls;
    });
    auto fixed = world.make_am([&](std::span<const int, 3> numbers) {
      EXPECT_TRUE(std::ranges::equal(numbers, std::array{1, 2, 3}));
      ++calls;
    });
    std::vector vector{1, 2, 3};
    std::array array{1, 2, 3};
    for_each_rank(world, [&](Rank to) {
      message.send(to, vector, "text");
      message.send(to, array, "text"s);
      message.send(to, std::span(vector), std::string_view("text"));
      message.send(to, std::span<const int>(array), "text");
      message.send(to, std::vector{1, 2, 3}, "text");
      fixed.send(to, array);
      fixed.send(to, std::span<int, 3>(array));
    });
    world.wait();
  });
  EXPECT_EQ(calls, 7 * ranks() * ranks());
}

// Beside a string, views are kept as objects; alone, they are copied into the packet.
TEST_P(Send, ViewsBesideObjects_Arrive) {
  std::atomic<int> calls{0};
  run([&](World& world) {
    auto message = world.make_am(
        [&](const std::map<int, int>& map, std::span<const double, 2> pair,
            std::span<const double> numbers, std::string_view text) {
          EXPECT_EQ(map.at(1), 2);
          EXPECT_EQ(pair[1], 5.0);
          EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0.0), 100.0);
          EXPECT_EQ(text, "view");
          ++calls;
        },
        {.delivery = Delivery::task});
    const std::vector<double> numbers(100, 1.0);
    for_each_rank(world, [&](Rank to) {
      message.send(to, std::map<int, int>{{1, 2}}, std::array{4.0, 5.0}, numbers, "view"s);
      message.send(to, std::map<int, int>{{1, 2}}, std::array{4.0, 5.0}, std::span(numbers),
                   "view");
    });
    world.wait();
  });
  EXPECT_EQ(calls, 2 * ranks() * ranks());
}

TEST_P(Send, EmptyViewsAndContainers_ArriveEmpty) {
  std::atomic<int> calls{0};
  run([&](World& world) {
    auto message = world.make_am([&](std::span<const double> numbers, std::string_view text) {
      EXPECT_TRUE(numbers.empty() && text.empty());
      ++calls;
    });
    auto owned = world.make_am([&](const std::vector<Member>& members, const std::string& text) {
      EXPECT_TRUE(members.empty() && text.empty());
      ++calls;
    });
    for_each_rank(world, [&](Rank to) {
      message.send(to, std::span<const double>(), "");
      owned.send(to, std::vector<Member>(), std::string());
    });
    world.wait();
  });
  EXPECT_EQ(calls, 2 * ranks() * ranks());
}

TEST_P(Send, ArgumentsChangedAtOnce_ArriveUnchanged) {
  std::atomic<int> calls{0};
  const int count = sized(300, 50);
  run([&](World& world) {
    auto trivial = world.make_am([&](int i, const Point& point, std::span<const int> numbers) {
      EXPECT_EQ(point, (Point{i * 0.5, i}));
      EXPECT_TRUE(std::ranges::all_of(numbers, [i](int n) { return n == i; }));
      ++calls;
    });
    auto object = world.make_am(
        [&](int i, const std::vector<int>& numbers, const std::string& text, const Member& member) {
          EXPECT_EQ(numbers, std::vector(20, i));
          EXPECT_EQ(text, std::to_string(i));
          EXPECT_EQ(member, (Member{std::to_string(i), {i}}));
          ++calls;
        },
        {.delivery = Delivery::task});
    Point point;
    std::vector<int> numbers(20);
    std::string text;
    Member member;
    for (int i = 0; i < count; ++i) {
      for_each_rank(world, [&](Rank to) {
        point = {i * 0.5, i};
        std::ranges::fill(numbers, i);
        text = std::to_string(i);
        member = {text, {i}};
        trivial.send(to, i, point, numbers);
        object.send(to, i, numbers, text, member);
        point = {-1, -1};
        std::ranges::fill(numbers, -1);
        text = "changed";
        member = {"changed", {-1}};
      });
    }
    world.wait();
  });
  EXPECT_EQ(calls, 2 * count * ranks() * ranks());
}

// --- senders

TEST_P(Send, FromTasksHandlersAndMain_EveryMessageArrives) {
  std::atomic<int> calls{0};
  const int count = sized(200, 50);
  run([&](World& world) {
    auto last = world.make_am([&](const std::string& text) {
      EXPECT_EQ(text, "on");
      ++calls;
    });
    auto by_inlined = world.make_am([&](int to) { last.send(Rank(to), "on"s); });
    auto by_task =
        world.make_am([&](int to) { last.send(Rank(to), "on"); }, {.delivery = Delivery::task});
    for (int i = 0; i < count; ++i) {
      world.spawn([&, i] {
        const Rank there(i % world.size());
        const int back = (i / world.size()) % world.size();
        last.send(there, "on");
        by_inlined.send(there, back);
        by_task.send(there, back);
      });
      last.send(Rank((i + 1) % world.size()), "on");
    }
    world.wait();
  });
  EXPECT_EQ(calls, 4 * count * ranks());
}

TEST_P(Send, ManyTasksAtOnce_NothingIsLostOrMixed) {
  const int tasks = sized(64, 16);
  const int count = sized(200, 25);
  Tally numbers;
  Tally texts;
  EXPECT_EQ(run_world(GetParam().ranks, 4,
                      [&](World& world) {
                        auto number = world.make_am(
                            [&](int a, int b) { numbers.add(a == b ? a : -1'000'000); });
                        auto text = world.make_am([&](const std::string& word, int length) {
                          texts.add(static_cast<int>(word.size()) == length ? 1 : -1'000'000);
                        });
                        for (int t = 0; t < tasks; ++t) {
                          world.spawn([&, t] {
                            for (int i = 0; i < count; ++i) {
                              const Rank to((t + i) % world.size());
                              number.send(to, i, i);
                              const auto length = static_cast<std::size_t>(i % 40);
                              text.send(to, std::string(length, 'x'), i % 40);
                            }
                          });
                        }
                        world.wait();
                      }),
            0);
  const int total = tasks * count * ranks();
  EXPECT_EQ(numbers.calls, total);
  EXPECT_EQ(numbers.sum, static_cast<long>(total) * (count - 1) / 2);
  EXPECT_EQ(texts.sum, total);
}

TEST_P(Send, FromThreadsOfTheProgram_EveryMessageArrives) {
  constexpr int kThreads = 3;
  const int count = sized(2000, 200);
  Tally tally;
  run([&](World& world) {
    auto message = world.make_am([&](int value, std::string_view text) {
      tally.add(text == "thread" ? value : -1'000'000);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, hold = world.hold()] {
        for (int i = 0; i < count; ++i) {
          message.send(Rank(i % world.size()), 1, "thread");
          world.send(Rank(i % world.size()), am<add_constant<1>>, tally.address());
        }
      });
    }
    world.wait();
    EXPECT_EQ(world.allreduce(tally.calls.load(), [](int a, int b) { return std::max(a, b); }),
              2 * kThreads * count * ranks());
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(tally.sum, 2 * kThreads * count * ranks());
}

TEST_P(Send, HandlerThatSendsToItself_DoesNotRecurse) {
  const int steps = sized(100'000, 5'000);
  std::atomic<int> ended{0};
  run([&](World& world) {
    std::optional<ActiveMessage<int>> step;
    step = world.make_am([&](int left) {
      if (left > 0) {
        step->send(world.rank(), left - 1);
      } else {
        ++ended;
      }
    });
    step->send(world.rank(), steps);
    world.wait();
  });
  EXPECT_EQ(ended, ranks());
}

TEST_P(Send, AcrossRanksInTurn_ComesBackAsOftenAsAsked) {
  const int rounds = sized(2'000, 200);
  std::atomic<int> hops{0};
  run([&](World& world) {
    std::optional<ActiveMessage<int, std::string>> ball;
    ball = world.make_am(
        [&](int left, std::string text) {
          ++hops;
          EXPECT_EQ(text, "ball");
          const Rank next((world.rank() + 1) % world.size());
          if (left > 1) ball->send(next, left - 1, std::move(text));
        },
        {.delivery = Delivery::task});
    if (world.rank() == 0) ball->send(Rank(0), rounds, "ball");
    world.wait();
  });
  EXPECT_EQ(hops, rounds);
}

// --- refusals

TEST_P(Send, RankOutOfRange_IsRefusedAtTheCall) {
  run([](World& world) {
    auto message = world.make_am([](const std::string&) {});
    for (const int bad : {-1, world.size()}) {
      try {
        message.send(Rank(bad), "text");
        ADD_FAILURE() << "no error for rank " << bad;
      } catch (const CheckError& error) {
        EXPECT_NE(std::string(error.what()).find(fmt::format("rank {} is out of range", bad)),
                  std::string::npos);
      }
    }
    EXPECT_THROW(world.send(Rank(world.size()), am<add_constant<1>>, Address{0}), CheckError);
    world.wait();  // nothing was counted as sent
  });
}

struct ThrowsWhenSaved {
  template <class Archive>
  void serialize(Archive& /*ar*/) {
    if constexpr (Archive::is_saving) throw std::runtime_error("cannot save");
  }
};

TEST_P(Send, SerializeThatThrows_ReachesTheCallerAndNothingIsSent) {
  run([](World& world) {
    auto message = world.make_am([](const ThrowsWhenSaved&) { ADD_FAILURE(); });
    EXPECT_THROW(message.send(Rank(0), ThrowsWhenSaved()), std::runtime_error);
    world.wait();
  });
}

TEST_P(Send, Statistics_CountMessagesAndBytes) {
  run([](World& world) {
    auto message = world.make_am([](std::span<const double>) {});
    const Statistics before = world.statistics();
    const std::vector<double> numbers(10);
    for_each_rank(world, [&](Rank to) { message.send(to, numbers); });
    world.wait();
    const Statistics after = world.statistics();
    const auto size = static_cast<std::uint64_t>(world.size());
    EXPECT_EQ(after.messages_sent - before.messages_sent, size);
    EXPECT_EQ(after.messages_received - before.messages_received, size);
    EXPECT_GE(after.bytes_sent - before.bytes_sent, size * 10 * sizeof(double));
  });
}

}  // namespace team_send_test

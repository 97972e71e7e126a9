// Values of events, as fired and as got.

#include <shoal/event.hpp>

#include "support/event_program.hpp"

#include <shoal/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace event_values_test {

using shoal::EventList;
using shoal::Events;
using shoal::EventType;
using shoal::Rank;
using shoal::RawPayload;
using shoal::World;
using shoal::testing::expect_runs;
using shoal::testing::expect_two_ranks_run;
using shoal::testing::refusal_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Point {
  int x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

struct Shape {
  std::string name;
  std::vector<Point> points;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, points);
  }
  bool operator==(const Shape&) const = default;
};

// Encodings in pieces are read by several tasks of the ranks of a process.
TEST(EventValues, OfManyBytes_ArriveAsTheyWereFired) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    using Pair = std::pair<std::vector<double>, std::vector<Point>>;
    const Pair pair{std::vector<double>(5000, 2.5), std::vector<Point>(4000, Point{1, 2.0})};
    const Shape shape{"large", std::vector<Point>(6000, Point{3, 4.0})};
    const std::vector<std::byte> bytes(50'000, std::byte{9});
    int ran = 0;
    for (int i = 0; i < 2; ++i) {
      events.submit({{Rank(0), "pair"}, {Rank(0), "shape"}, {Rank(0), "text"}, {Rank(0), "raw"}},
                    [&](EventList& list) {
                      EXPECT_EQ(list[0].get<Pair>(), pair);
                      EXPECT_EQ(list[1].get<Shape>(), shape);
                      EXPECT_EQ(list[2].get<std::string_view>(), std::string(30'000, 't'));
                      EXPECT_TRUE(std::ranges::equal(list[3].raw()->bytes, bytes));
                      ++ran;
                    });
    }
    if (world.rank() == 0) {
      for (int i = 0; i < 2; ++i) {
        events.fire(shoal::all, "pair", Pair(pair));
        events.fire(shoal::all, "shape", shape);
        events.fire(shoal::all, "text", std::string(30'000, 't'));
        events.fire_raw(shoal::all, "raw", {1, bytes.size(), bytes});
      }
    }
    world.wait();
    EXPECT_EQ(ran, 2);
  });
}

TEST(EventValues, OfEveryKind_ArriveAsTheyWereFired) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    const Shape shape{"triangle", {{1, 2.0}, {3, 4.0}, {5, 6.0}}};
    std::vector<double> numbers{1.5, 2.5};
    int count = 0;
    events.submit({{Rank(0), "int"}, {Rank(0), "point"}, {Rank(0), "shape"}, {Rank(0), "map"}},
                  [&](EventList& list) {
                    EXPECT_EQ(list[0].get<int>(), 7);
                    EXPECT_EQ(list[1].get<Point>(), (Point{1, 2.0}));
                    EXPECT_EQ(list[2].get<Shape>(), shape);
                    EXPECT_EQ((list[3].get<std::map<std::string, int>>().at("x")), 1);
                    ++count;
                  });
    events.submit({{Rank(0), "span"}, {Rank(0), "vector"}, {Rank(0), "array"}},
                  [&](EventList& list) {
                    EXPECT_THAT(list[0].view<double>(), ElementsAre(1.5, 2.5));
                    EXPECT_THAT(list[0].get<std::vector<double>>(), ElementsAre(1.5, 2.5));
                    EXPECT_THAT(list[1].view<double>(), ElementsAre(1.5, 2.5));
                    EXPECT_THAT(list[1].get<std::span<const double>>(), ElementsAre(1.5, 2.5));
                    EXPECT_THAT(list[2].view<int>(), ElementsAre(1, 2, 3));
                    ++count;
                  });
    events.submit({{Rank(0), "literal"}, {Rank(0), "string"}, {Rank(0), "view"}},
                  [&](EventList& list) {
                    for (const shoal::Event& event : list) {
                      EXPECT_EQ(event.get<std::string>(), "text");
                      EXPECT_EQ(event.get<std::string_view>(), "text");
                    }
                    ++count;
                  });
    if (world.rank() == 0) {
      events.fire(shoal::all, "int", 7);
      events.fire(shoal::all, "point", Point{1, 2.0});
      events.fire(shoal::all, "shape", shape);
      events.fire(shoal::all, "map", std::map<std::string, int>{{"x", 1}});
      events.fire(shoal::all, "span", std::span(numbers));
      events.fire(shoal::all, "vector", numbers);
      const int array[] = {1, 2, 3};
      events.fire(shoal::all, "array", array);
      events.fire(shoal::all, "literal", "text");
      events.fire(shoal::all, "string", std::string("text"));
      events.fire(shoal::all, "view", std::string_view("text"));
      numbers.assign(100, 0.0);  // the events have copies
    }
    world.wait();
    EXPECT_EQ(count, 3);
  });
}

TEST(EventValues, AnEventWithout_HasNone) {
  expect_runs([](World& world) {
    Events events(world);
    events.fire(shoal::self, "a");
    const EventList list = events.retrieve_any({{shoal::self, "a"}});
    ASSERT_EQ(list.size(), 1U);
    EXPECT_FALSE(list[0].has_value());
    EXPECT_EQ(list[0].type(), EventType::none);
    EXPECT_EQ(list[0].name(), "a");
    EXPECT_EQ(list[0].source(), world.rank());
    EXPECT_EQ(list[0].raw(), nullptr);
    EXPECT_THAT(refusal_of([&] { static_cast<void>(list[0].get<int>()); }),
                HasSubstr("event \"a\" from rank 0 was fired with nothing, not with int"));
  });
}

TEST(EventValues, OfAnotherType_AreRefusedWithNameSourceAndBothTypes) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    if (world.rank() == 1) events.fire(Rank(0), "number", 1.5);
    if (world.rank() == 1) events.fire(Rank(0), "words", std::vector<std::string>{"a"});
    if (world.rank() == 0) {
      events.submit({{Rank(1), "number"}, {Rank(1), "words"}}, [](EventList& list) {
        EXPECT_THAT(refusal_of([&] { static_cast<void>(list[0].get<int>()); }),
                    HasSubstr("event \"number\" from rank 1 was fired with double, not with int"));
        EXPECT_THAT(refusal_of([&] { static_cast<void>(list[0].view<double>()); }),
                    HasSubstr("not with std::vector<double>"));
        EXPECT_THAT(refusal_of([&] { static_cast<void>(list[1].get<std::string>()); }),
                    HasSubstr("with std::vector<std::string>, not with std::string"));
        EXPECT_THAT(refusal_of([&] { static_cast<void>(list[0].address<double>()); }),
                    HasSubstr("with double, not with the address of double"));
      });
    }
    world.wait();
  });
}

TEST(EventValues, RawPayloads_KeepTypeCountAndBytes) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    const std::array<std::int32_t, 3> numbers{1, 2, 3};
    if (world.rank() == 0) {
      events.fire_raw(shoal::all, "raw", {42, 3, std::as_bytes(std::span(numbers))});
    }
    bool ran = false;
    events.submit({{Rank(0), "raw"}}, [&](EventList& list) {
      ran = true;
      const RawPayload* const raw = list[0].raw();
      ASSERT_NE(raw, nullptr);
      EXPECT_EQ(raw->type, 42);
      EXPECT_EQ(raw->count, 3U);
      ASSERT_EQ(raw->bytes.size(), sizeof numbers);
      EXPECT_EQ(std::memcmp(raw->bytes.data(), numbers.data(), sizeof numbers), 0);
      EXPECT_THAT(refusal_of([&] { static_cast<void>(list[0].get<int>()); }),
                  HasSubstr("with 3 elements of type 42, not with int"));
    });
    world.wait();
    EXPECT_TRUE(ran);
  });
}

TEST(EventValues, Addresses_StayOnTheirRank) {
  expect_two_ranks_run([](World& world) {
    Events events(world, "mine");
    const Rank other((world.rank() + 1) % 2);
    int data = 5;
    events.fire_address(shoal::self, "a", &data);
    events.fire_persistent_address(world.rank(), "b", &data);
    const EventList list = events.retrieve_any({{shoal::self, "a"}, {shoal::any, "b"}});
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].address<int>(), &data);
    EXPECT_EQ(list[1].address<int>(), &data);
    EXPECT_THAT(refusal_of([&] { static_cast<void>(list[0].address<double>()); }),
                HasSubstr("with the address of int, not with the address of double"));
    EXPECT_THAT(refusal_of([&] { events.fire_address(other, "a", &data); }),
                AllOf(HasSubstr("events 'mine'"), HasSubstr("\"a\""), HasSubstr("an address")));
    EXPECT_THAT(refusal_of([&] { events.fire_address(shoal::all, "a", &data); }),
                HasSubstr("cannot be fired to all with an address"));
    world.wait();
  });
}

TEST(EventValues, AnEvent_OutlivesItsTask) {
  expect_runs([](World& world) {
    Events events(world);
    std::vector<shoal::Event> kept;
    events.submit({{shoal::self, "a"}}, [&](EventList& list) { kept.push_back(list[0]); });
    events.fire(shoal::self, "a", std::vector<int>{1, 2});
    world.wait();
    EXPECT_THAT(kept[0].view<int>(), ElementsAre(1, 2));
  });
}

}  // namespace event_values_test

// Events as programs use them: what is fired and got, tasks by name, priorities, failures.

#include <shoal/event.hpp>

#include "support/turn_world.hpp"

#include <shoal/runtime/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using shoal::EventList;
using shoal::Events;
using shoal::EventType;
using shoal::Rank;
using shoal::RawPayload;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::run_turns;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void expect_runs(const std::function<void(World&)>& program) { EXPECT_EQ(error_of(program), ""); }

/// On worlds of two ranks, in one process and in two: there events travel as bytes.
void expect_two_ranks_run(const std::function<void(World&)>& program) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 2, .workers = 2}, [&](World& world) {
      program(world);
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
  }
}

template <class F>
std::string refusal_of(F&& call) {
  try {
    call();
  } catch (const shoal::CheckError& error) {
    return error.what();
  }
  return "nothing was refused";
}

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

// --- what is fired is what is got

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
                  HasSubstr("with 3 elements of raw type 42, not with int"));
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

// --- refusals

TEST(EventRefusal, RanksThatThereAreNot_AreNamed) {
  expect_runs([](World& world) {
    Events events(world, "flow");
    EXPECT_THAT(refusal_of([&] { events.fire(Rank(1), "a"); }),
                HasSubstr("events 'flow': \"a\" cannot be fired to rank 1: this world has ranks 0 "
                          "to 0"));
    EXPECT_THAT(refusal_of([&] { events.fire(Rank(-1), "a", 1); }), HasSubstr("rank -1"));
    EXPECT_THAT(refusal_of([&] { events.fire(shoal::any, "a"); }),
                HasSubstr("\"a\" cannot be fired to any"));
    EXPECT_THAT(refusal_of([&] {
                  events.submit({{Rank(2), "a"}}, [] {}, {.name = "sum"});
                }),
                AllOf(HasSubstr("events 'flow': task 'sum' cannot depend on \"a\" from rank 2")));
    EXPECT_THAT(refusal_of([&] {
                  events.submit({{Rank(-4), "a"}}, [] {});
                }),
                HasSubstr("a task cannot depend on \"a\" from rank -4"));
    EXPECT_THAT(refusal_of([&] {
                  static_cast<void>(events.retrieve_any({{Rank(9), "a"}}));
                }),
                HasSubstr("retrieve_any() cannot depend on \"a\" from rank 9"));
    world.wait();  // the refused calls have changed nothing
  });
}

TEST(EventRefusal, TasksThatCannotRun_AreRefusedByName) {
  expect_runs([](World& world) {
    Events events(world);
    EXPECT_THAT(refusal_of([&] {
                  events.submit({}, std::function<void(EventList&)>(), {.name = "empty"});
                }),
                HasSubstr("events 'events': task 'empty' has no function"));
    void (*unset)() = nullptr;
    EXPECT_THAT(refusal_of([&] { events.submit({}, unset); }), HasSubstr("a task has no function"));
    EXPECT_THAT(refusal_of([&] { events.submit({}, [] {}, {.name = "p", .persistent = true}); }),
                HasSubstr("task 'p' is persistent and depends on nothing"));
    EXPECT_THAT(refusal_of([&] {
                  events.submit({{shoal::self, "a"}}, [] {}, {.name = "g", .greedy = true});
                }),
                HasSubstr("task 'g' is greedy but not persistent"));
    world.wait();
  });
}

// --- tasks

TEST(EventTasks, BecomeReadyAndBeginInThatOrder) {
  expect_runs([](World& world) {
    Events events(world);
    std::vector<int> order;
    for (int i = 0; i < 5; ++i) {
      events.submit({{shoal::self, std::to_string(i)}}, [&order, i] { order.push_back(i); });
    }
    events.submit({}, [&] {  // on the worker itself, whose own queue is last in, first out
      for (const char* name : {"3", "1", "4", "0", "2"}) events.fire(shoal::self, name);
    });
    world.wait();
    EXPECT_THAT(order, ElementsAre(3, 1, 4, 0, 2));
  });
}

TEST(EventTasks, OfHigherPriority_BeginFirst) {
  expect_runs([](World& world) {
    Events events(world);
    std::vector<int> order;
    events.submit({}, [&] {
      for (const int priority : {0, 5, -3, 5, 1}) {
        events.submit({}, [&order, priority] { order.push_back(priority); },
                      {.priority = priority});
      }
    });
    world.wait();
    EXPECT_THAT(order, ElementsAre(5, 5, 1, 0, -3));
  });
}

TEST(EventTasks, SubmitTasksAndFireEvents_AsDeepAsTheyLike) {
  expect_runs([](World& world) {
    Events events(world);
    int depth = 0;
    std::function<void()> deeper = [&] {
      if (++depth == 100) return;
      events.submit({{shoal::self, "go"}}, [&] { deeper(); });
      events.fire(shoal::self, "go");
    };
    events.submit({}, [&] { deeper(); });
    world.wait();
    EXPECT_EQ(depth, 100);
  });
}

TEST(EventTasks, WithMoveOnlyFunctions_AreDestroyedBeforeWaitReturns) {
  expect_runs([](World& world) {
    Events events(world);
    const auto watched = std::make_shared<int>(3);
    int got = 0;
    auto owned = std::make_unique<std::shared_ptr<int>>(watched);
    events.submit({{shoal::self, "a"}}, [&got, owned = std::move(owned)] { got = **owned; });
    events.fire(shoal::self, "a");
    world.wait();
    EXPECT_EQ(got, 3);
    EXPECT_EQ(watched.use_count(), 1);
  });
}

TEST(EventTasks, ByName_AreFoundAndRemoved) {
  expect_runs([](World& world) {
    Events events(world);
    EXPECT_FALSE(events.is_submitted("t"));
    EXPECT_FALSE(events.remove("t"));
    bool ran = false;
    events.submit({{shoal::self, "a"}, {shoal::self, "b"}}, [&] { ran = true; }, {.name = "t"});
    EXPECT_TRUE(events.is_submitted("t"));
    events.fire(shoal::self, "a", 1);
    EXPECT_TRUE(events.remove("t"));
    EXPECT_FALSE(events.is_submitted("t"));
    EXPECT_EQ(events.retrieve_any({{shoal::self, "a"}})[0].get<int>(), 1);
    events.submit({{shoal::self, "a"}}, [&] { ran = true; }, {.name = "t"});
    events.fire(shoal::self, "a");
    EXPECT_FALSE(events.is_submitted("t"));  // it is ready
    world.wait();
    EXPECT_TRUE(ran);
  });
}

TEST(EventTasks, ThatAreGreedy_GetAllEventsUntilTheyBegin) {
  expect_runs([](World& world) {
    Events events(world);
    std::vector<std::vector<int>> got;
    events.submit({{shoal::self, "a"}},
                  [&](EventList& list) {
                    got.emplace_back();
                    for (const shoal::Event& event : list) got.back().push_back(event.get<int>());
                  },
                  {.persistent = true, .greedy = true});
    for (int i = 0; i < 5; ++i) events.fire(shoal::self, "a", i);
    world.wait();  // before, no task could begin
    events.fire(shoal::self, "a", 5);
    world.wait();
    EXPECT_THAT(got, ElementsAre(ElementsAre(0, 1, 2, 3, 4), ElementsAre(5)));
  });
}

TEST(EventTasks, ThatConsumeAPersistentEvent_FindItAgain) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    int runs = 0;
    const std::function<void(EventList&)> count = [&](EventList& list) {
      EXPECT_EQ(list[0].get<std::string>(), "config");
      if (++runs < 10) events.submit({{Rank(0), "p"}}, count);
    };
    events.submit({{Rank(0), "p"}}, count);
    if (world.rank() == 0) events.fire_persistent(shoal::all, "p", "config");
    world.wait();
    EXPECT_EQ(runs, 10);
    EXPECT_EQ(events.retrieve_any({{Rank(0), "p"}}).size(), 1U);
    EXPECT_EQ(events.retrieve_any({{Rank(0), "p"}, {Rank(0), "p"}}).size(), 1U);
  });
}

TEST(EventTasks, OfSeveralEvents_AreSeparate) {
  expect_two_ranks_run([](World& world) {
    Events first(world, "first");
    Events second(world, "second");
    const Rank other((world.rank() + 1) % 2);
    std::string got;
    first.submit({{other, "a"}}, [&](EventList& list) { got += list[0].get<std::string>(); });
    second.submit({{other, "a"}}, [&](EventList& list) { got += list[0].get<std::string>(); });
    second.fire(other, "a", "2");
    first.fire(other, "a", "1");
    world.wait();
    EXPECT_EQ(got.size(), 2U);
    EXPECT_EQ(first.name(), "first");
  });
}

// --- failures and who is stuck

TEST(EventFailure, OfATask_IsReportedWithItsName) {
  const auto program = [](const std::string& name) {
    return [name](World& world) {
      Events events(world, "flow");
      events.submit({}, [] {});
      events.submit({{shoal::self, "a"}}, [] { throw std::runtime_error("overflow"); },
                    {.name = name});
      events.fire(shoal::self, "a");
      world.wait();
    };
  };
  EXPECT_THAT(error_of(program("sum")), AllOf(HasSubstr("sum"), HasSubstr("overflow")));
  EXPECT_THAT(error_of(program("")), AllOf(HasSubstr("flow[1]"), HasSubstr("overflow")));
}

TEST(EventFailure, ATypeThatDoesNotFit_FailsTheWorldWithTheTaskAndTheEvent) {
  EXPECT_THAT(error_of([](World& world) {
                Events events(world);
                events.submit({{shoal::self, "a"}},
                              [](EventList& list) { static_cast<void>(list[0].get<float>()); },
                              {.name = "reader"});
                events.fire(shoal::self, "a", 1);
                world.wait();
              }),
              AllOf(HasSubstr("reader"), HasSubstr("\"a\""), HasSubstr("float")));
}

TEST(EventStuck, TasksThatWaitAndEventsThatNobodyTakes_AreNamed) {
  const std::string error = error_of([](World& world) {
    Events events(world, "flow");
    events.submit({{shoal::self, "a"}, {shoal::any, "b"}, {Rank(0), "c"}}, [] {}, {.name = "sum"});
    events.submit({{shoal::self, "d"}}, [] {});
    events.fire(shoal::self, "a");
    for (int i = 0; i < 3; ++i) events.fire(shoal::self, "left", 1.0);
    events.fire(shoal::self, "left");
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("events 'flow': sum has 1 of 3 events and waits for \"b\" from any "
                               "rank, \"c\" from rank 0"));
  EXPECT_THAT(error, HasSubstr("events 'flow': flow[1] has 0 of 1 events and waits for \"d\""));
  EXPECT_THAT(error, HasSubstr("nobody took \"left\" from rank 0 with double, 3 times"));
  EXPECT_THAT(error, HasSubstr("nobody took \"left\" from rank 0 with nothing"));
}

TEST(EventStuck, Reports_HintAtWhatMayHaveBeenMeant) {
  const std::string name = error_of([](World& world) {
    Events events(world);
    events.submit({{shoal::self, "resudial"}}, [] {}, {.name = "t"});
    events.fire(shoal::self, "residual");
    world.wait();
  });
  EXPECT_THAT(name, HasSubstr("\"residual\" is here from rank 0: is the name right?"));
  const auto result = run_turns({.seed = 3, .ranks = 2, .workers = 1}, [](World& world) {
    Events events(world);
    if (world.rank() == 0) {
      events.submit({{Rank(0), "a"}}, [] {}, {.name = "t"});
    } else {
      events.fire(Rank(0), "a");
    }
    world.wait();
    return 0;
  });
  EXPECT_THAT(shoal::describe(result.errors[1]),
              HasSubstr("\"a\" is here from rank 1: is the source right?"));
}

TEST(EventStuck, LongReports_AreCutShort) {
  const std::string error = error_of([](World& world) {
    Events events(world);
    std::vector<shoal::EventDependency> many;
    many.reserve(30);
    for (int i = 0; i < 30; ++i) many.push_back({shoal::self, "m" + std::to_string(i)});
    events.submit(many, [] {});
    for (int i = 0; i < 40; ++i) {
      events.submit({{shoal::self, "long name a" + std::to_string(i)}}, [] {});
      events.fire(shoal::self, "another name " + std::to_string(i));
    }
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("22 more"));
  EXPECT_THAT(error, HasSubstr("and 25 more tasks"));
  EXPECT_THAT(error, HasSubstr("and 24 more events that nobody took"));
}

TEST(EventStuck, AStuckWorld_CanBeRepaired) {
  expect_runs([](World& world) {
    Events events(world);
    int ran = 0;
    events.submit({{shoal::self, "a"}}, [&] { ++ran; });
    EXPECT_THROW(world.wait(), shoal::StuckError);
    events.fire(shoal::self, "a");
    events.fire(shoal::self, "b");
    EXPECT_THROW(world.wait(), shoal::StuckError);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(events.retrieve_any({{shoal::any, "b"}}).size(), 1U);
    world.wait();
  });
}

TEST(EventStuck, WhatIsPersistent_KeepsNobodyWaiting) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    events.submit({{shoal::any, "a"}, {shoal::any, "b"}}, [] {}, {.persistent = true});
    events.submit({{shoal::any, "c"}}, [] {}, {.persistent = true, .greedy = true});
    for (int i = 0; i < 3; ++i) events.fire(shoal::all, "a");
    events.fire_persistent(shoal::all, "p");
    world.wait();
  });
}

}  // namespace

// Tasks that throw, tasks that wait for ever, events that no task takes: their reports.

#include <shoal/event.hpp>

#include "support/event_program.hpp"

#include <shoal/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace event_stuck_test {

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::expect_runs;
using shoal::testing::expect_two_ranks_run;
using shoal::testing::run_turns;
using testing::AllOf;
using testing::HasSubstr;

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
  EXPECT_THAT(error, HasSubstr("no task took \"left\" from rank 0 with double, 3 times"));
  EXPECT_THAT(error, HasSubstr("no task took \"left\" from rank 0 with nothing"));
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
  EXPECT_THAT(error, HasSubstr("and 24 more events that no task took"));
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
    if (world.rank() == 0) events.fire(shoal::all, "a");
    for (int i = 0; i < 3; ++i) events.fire(shoal::all, "c");
    events.fire_persistent(shoal::all, "p");
    world.wait();
  });
}

// Whatever the order of the events.
TEST(EventStuck, APersistentTaskThatLacksWhatAnotherOneHolds_IsNamed) {
  for (const char* order : {"aabc", "abac", "caab", "baac", "acab"}) {
    const std::string error = error_of([order](World& world) {
      Events events(world, "flow");
      events.submit({{shoal::self, "a"}, {shoal::self, "b"}}, [] {},
                    {.name = "first", .persistent = true});
      events.submit({{shoal::self, "a"}, {shoal::self, "c"}}, [] {},
                    {.name = "second", .persistent = true});
      for (const char one : std::string(order)) events.fire(shoal::self, std::string(1, one));
      world.wait();
    });
    EXPECT_THAT(error, HasSubstr("events 'flow': second (persistent) has 1 of 2 events and waits "
                                 "for \"a\" from rank 0; another persistent task holds what it "
                                 "lacks"))
        << order;
  }
}

TEST(EventStuck, ManyLaterRunsOfAPersistentTask_AreOneLine) {
  const std::string error = error_of([](World& world) {
    Events events(world, "flow");
    events.submit({{shoal::self, "a"}, {shoal::self, "b"}}, [] {}, {.persistent = true});
    for (int i = 0; i < 1000; ++i) events.fire(shoal::self, "a");
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("events 'flow': flow[0] (persistent) has 999 of 1998 events for 999 "
                               "later runs and waits for \"b\" from rank 0"));
  EXPECT_THAT(error, testing::Not(HasSubstr("more tasks")));
}

}  // namespace event_stuck_test

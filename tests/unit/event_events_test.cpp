// Tasks driven by events, as programs use them: order, names, and what is refused.

#include <shoal/event.hpp>

#include "runtime/simulated_world.hpp"
#include "support/event_program.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <shoal/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace event_events_test {

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::expect_runs;
using shoal::testing::expect_two_ranks_run;
using shoal::testing::refusal_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// --- refusals

TEST(EventRefusal, EventsBehindTheEndOfAList_AreNamed) {
  expect_runs([](World& world) {
    Events events(world, "flow");
    for (int i = 0; i < 9; ++i) events.fire(shoal::self, "e" + std::to_string(i), i);
    EventList list = events.wait({{shoal::self, "e0"}, {shoal::any, "e1"}});
    const EventList& same = list;
    EXPECT_EQ(list.at(1).get<int>(), 1);
    EXPECT_EQ(same.at(0).get<int>(), 0);
    for (const std::string& text : {refusal_of([&] { static_cast<void>(list.at(2)); }),
                                    refusal_of([&] { static_cast<void>(same.at(2)); }),
                                    refusal_of([&] { static_cast<void>(EventList(list).at(2)); })})
      EXPECT_EQ(text,
                "a list of 2 events has no event 2 (the first is 0): it has \"e0\" from rank 0, "
                "\"e1\" from rank 0");
    EXPECT_THAT(refusal_of([] { static_cast<void>(EventList().at(0)); }), HasSubstr("it has none"));
    std::vector<shoal::EventDependency> all;
    for (int i = 0; i < 9; ++i) {
      if (i < 2) events.fire(shoal::self, "e" + std::to_string(i), i);
      all.push_back({shoal::self, "e" + std::to_string(i)});
    }
    EXPECT_THAT(refusal_of([&] { static_cast<void>(events.wait(all).at(9)); }),
                AllOf(HasSubstr("\"e7\" from rank 0, ..."), testing::Not(HasSubstr("e8"))));
  });
}

TEST(EventRefusal, RanksThatThereAreNot_AreNamed) {
  expect_runs([](World& world) {
    Events events(world, "flow");
    EXPECT_THAT(refusal_of([&] { events.fire(Rank(1), "a"); }),
                HasSubstr("events 'flow': fire() of \"a\", on rank 0: rank 1 is out of range: the "
                          "world has ranks 0 to 0"));
    EXPECT_THAT(refusal_of([&] { events.fire(Rank(-1), "a", 1); }), HasSubstr("rank -1"));
    EXPECT_THAT(refusal_of([&] { events.fire(shoal::any, "a"); }),
                HasSubstr("\"a\" cannot be fired to any"));
    EXPECT_THAT(refusal_of([&] {
                  events.submit({{Rank(2), "a"}}, [] {}, {.name = "sum"});
                }),
                HasSubstr("events 'flow': task 'sum' depends on \"a\", on rank 0: rank 2 is"));
    EXPECT_THAT(refusal_of([&] {
                  events.submit({{Rank(-4), "a"}}, [] {});
                }),
                HasSubstr("a task depends on \"a\", on rank 0: rank -4 is"));
    EXPECT_THAT(refusal_of([&] {
                  static_cast<void>(events.retrieve_any({{Rank(9), "a"}}));
                }),
                HasSubstr("retrieve_any() depends on \"a\", on rank 0: rank 9 is"));
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
    EXPECT_EQ(events.retrieve_any({{Rank(0), "p"}, {Rank(0), "p"}}).size(), 2U);
  });
}

// Its number is taken by then: later events, and the tasks that need them, would wait for it.
TEST(EventFire, ThatCannotBeSent_FailsTheWorld) {
  if (shoal::testing::kSanitized) GTEST_SKIP() << "sanitizers need the address space";
  shoal::runtime::Config config = shoal::testing::few_stacks_config(2, 1);
  config.packet_bytes = 512;
  config.window_bytes = 1024;  // senders stand still
  config.sim_faults = "delay:p=1,by=10ms";
  shoal::runtime::SimulatedWorld simulated(config);
  int refused = 0;
  simulated.run([&](World& world) {
    Events events(world, "flood");
    events.submit({{Rank(0), "n"}}, [] {}, {.persistent = true});
    for (int i = 0; i < 60 && world.rank() == 0; ++i) {
      events.submit({}, [&] {
        try {
          events.fire(Rank(1), "n", std::string(100, 'x'));
        } catch (const shoal::CancelledError&) {
        } catch (const shoal::Error&) {
          ++refused;
        }
      });
    }
    world.wait();
    return 0;
  });
  EXPECT_GT(refused, 0);
  for (const auto& rank : simulated.ranks()) {
    ASSERT_NE(rank->error(), nullptr);
    EXPECT_THAT(shoal::describe(rank->error()),
                AllOf(HasSubstr("fire() of events 'flood'"), HasSubstr("no stack")));
  }
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

}  // namespace event_events_test

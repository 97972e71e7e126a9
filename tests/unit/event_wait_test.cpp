// Tasks of Events that stand still: wait(), and locks by name.

#include <shoal/event.hpp>

#include "runtime/simulated_world.hpp"
#include "support/event_program.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <shoal/sleep.hpp>
#include <shoal/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace event_wait_test {

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::expect_runs;
using shoal::testing::expect_two_ranks_run;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(EventWait, ReturnsTheEventsInTheOrderOfTheDependencies) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    const Rank other(1 - world.rank());
    int first = 0;
    int second = 0;
    int before = 0;
    events.submit({}, [&] {
      before = 7;  // what stands on the stack stays there
      const int local = before + world.rank();
      EventList list = events.wait({{other, "b"}, {shoal::self, "a"}});
      ASSERT_EQ(list.size(), 2U);
      first = list[0].get<int>();
      second = list[1].get<int>() + local;
    });
    events.fire(shoal::self, "a", 1);
    events.fire(other, "b", 10 + world.rank());
    world.wait();
    EXPECT_EQ(first, 10 + other);
    EXPECT_EQ(second, 1 + 7 + world.rank());
  });
}

TEST(EventWait, InTheMainFunction_DoesNotHoldUpItsWorker) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    const Rank other(1 - world.rank());
    events.submit({{shoal::self, "go"}}, [&] { events.fire(other, "done", 5); });
    events.fire(shoal::self, "go");
    EXPECT_EQ(events.wait({{other, "done"}})[0].get<int>(), 5);
    world.wait();
  });
}

TEST(EventWait, ForNothing_ReturnsAtOnce) {
  expect_runs([](World& world) {
    Events events(world);
    EXPECT_TRUE(events.wait({}).empty());
    world.wait();
  });
}

TEST(EventWait, StandsInLineWithTasks_ByTheOrderOfSubmission) {
  expect_runs([](World& world) {
    Events events(world);
    std::vector<std::string> got;
    const auto take = [&](const char* who) {
      return
          [&got, who](EventList& list) { got.push_back(who + std::to_string(list[0].get<int>())); };
    };
    events.submit({{shoal::self, "x"}}, take("first "));
    events.submit({}, [&] {
      events.fire(shoal::self, "waits");  // in the same step of its worker as what follows
      got.push_back("wait " + std::to_string(events.wait({{shoal::self, "x"}})[0].get<int>()));
    });
    static_cast<void>(events.wait({{shoal::self, "waits"}}));
    events.submit({{shoal::self, "x"}}, take("last "));
    for (int i = 1; i <= 3; ++i) events.fire(shoal::self, "x", i);
    world.wait();
    EXPECT_THAT(got, testing::UnorderedElementsAre("first 1", "wait 2", "last 3"));
  });
}

TEST(EventWait, OfAPersistentEvent_LeavesItThere) {
  expect_runs([](World& world) {
    Events events(world);
    events.fire_persistent(shoal::self, "p", 4);
    int sum = 0;
    for (int i = 0; i < 3; ++i) sum += events.wait({{shoal::self, "p"}})[0].get<int>();
    EXPECT_EQ(sum, 12);
    world.wait();
  });
}

TEST(EventWait, ThatNothingCanEnd_IsNamedWithWhatIsMissing) {
  const std::string error = error_of([](World& world) {
    Events events(world, "flow");
    events.submit({},
                  [&] {
                    static_cast<void>(events.wait({{shoal::any, "a"}, {Rank(0), "b"}}));
                  },
                  {.name = "reader"});
    events.fire(shoal::self, "b");
    world.wait();
  });
  EXPECT_THAT(error, AllOf(HasSubstr("'reader' waits in wait() of events 'flow'"),
                           HasSubstr("has 1 of 2 events and waits for \"a\" from any rank")));
}

TEST(EventWait, OfATaskInAWorldThatFails_UnwindsItsStack) {
  std::atomic<int> alive{0};
  struct Counted {
    explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
    ~Counted() { --count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<int>& count_;
  };
  EXPECT_THAT(error_of([&](World& world) {
                Events events(world);
                events.submit({}, [&] {
                  const Counted counted(alive);
                  static_cast<void>(events.wait({{shoal::self, "never"}}));
                  ADD_FAILURE() << "went on";
                });
                shoal::yield();
                world.spawn([] { throw std::runtime_error("stop"); });
                world.wait();
              }),
              HasSubstr("stop"));
  EXPECT_EQ(alive, 0);
}

TEST(EventWait, ThatIsRefusedBecauseTheWorldHasFailed_TakesNothingLater) {
  bool told = false;
  const std::string error = error_of([&](World& world) {
    Events events(world);
    events.submit({}, [&] {
      world.spawn([] { throw std::runtime_error("stop"); });
      EXPECT_THROW(while (true) shoal::yield(), shoal::CancelledError);
      events.fire(shoal::self, "before");
      EXPECT_THROW(static_cast<void>(events.wait({{shoal::self, "before"}, {shoal::self, "a"}})),
                   shoal::CancelledError);
      events.fire(shoal::self, "a", 5);
      EXPECT_EQ(events.retrieve_any({{shoal::self, "before"}, {shoal::self, "a"}}).size(), 2U);
      told = true;
    });
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("stop"));
  EXPECT_TRUE(told);
}

TEST(EventWait, WithoutAStackToGoOnWith_TakesNothingLater) {
  if (shoal::testing::kSanitized) GTEST_SKIP() << "sanitizers need the address space";
  shoal::runtime::SimulatedWorld simulated(shoal::testing::few_stacks_config(1, 1));
  constexpr int kTasks = 30;
  int refused = 0;
  simulated.run([&](World& world) {
    Events events(world);
    for (int i = 0; i < kTasks; ++i) {
      events.submit({}, [&] {
        try {
          static_cast<void>(events.wait({{shoal::self, "a"}}));
        } catch (const shoal::Error&) {
          ++refused;
        }
      });
    }
    while (refused == 0) shoal::yield();
    for (int i = 0; i < kTasks; ++i) shoal::yield();
    for (int i = refused; i < kTasks; ++i) events.fire(shoal::self, "a");
    world.wait();
    return 0;
  });
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, kTasks);
  EXPECT_EQ(simulated.ranks()[0]->error(), nullptr)
      << shoal::describe(simulated.ranks()[0]->error());
}

TEST(EventWait, OfAnotherRanksEvents_IsRefused) {
  const auto program = [](World& world) {
    Events events(world);
    const auto addresses = world.allgather(reinterpret_cast<std::uintptr_t>(&events));
    const auto other = static_cast<std::size_t>(1 - world.rank());
    Events& others = *reinterpret_cast<Events*>(addresses[other]);
    EXPECT_THAT(refusal_of([&] { static_cast<void>(others.wait({})); }),
                HasSubstr("belongs to another rank"));
    EXPECT_THAT(refusal_of([&] {
                  static_cast<void>(others.wait({{shoal::any, "a"}}));
                }),
                HasSubstr("belongs to another rank"));
    world.barrier();
    events.fire(shoal::self, "a");
    EXPECT_EQ(events.retrieve_any({{shoal::self, "a"}}).size(), 1U);
    world.wait();
  };
  EXPECT_EQ(run_world(2, 1, program), 0);
}

TEST(EventWait, InAHandler_IsRefused) {
  EXPECT_THAT(error_of([](World& world) {
                Events events(world);
                auto am = world.make_am(
                    [&] {
                      static_cast<void>(events.wait({{shoal::self, "a"}}));
                    },
                    {.name = "bad"});
                am.send(Rank(0));
                EXPECT_THROW(world.wait(), shoal::TaskError);
                events.fire(shoal::self, "a");
                EXPECT_EQ(events.retrieve_any({{shoal::self, "a"}}).size(), 1U);
                world.wait();
              }),
              AllOf(HasSubstr("bad"), HasSubstr("a handler must not wait")));
}

// --- locks

TEST(EventLock, KeepsTasksApart_OnManyWorkers) {
  for (const int workers : {1, 2, 8}) {
    int total = 0;
    EXPECT_EQ(run_world(1, workers,
                        [&](World& world) {
                          Events events(world);
                          for (int i = 0; i < 200; ++i) {
                            events.submit({{shoal::self, "go"}}, [&] {
                              events.lock("total");
                              const int seen = total;
                              shoal::yield();
                              total = seen + 1;
                              events.unlock("total");
                            });
                            events.fire(shoal::self, "go");
                          }
                          world.wait();
                        }),
              0);
    EXPECT_EQ(total, 200) << workers << " workers";
  }
}

TEST(EventLock, ThatATaskHoldsAtItsEnd_IsReleased) {
  expect_runs([](World& world) {
    Events events(world);
    int held = 0;
    for (int i = 0; i < 3; ++i) {
      events.submit({}, [&] {
        events.lock("a");
        events.lock("b");
        ++held;
      });
    }
    world.spawn([&] {  // any task may
      events.lock("a");
      ++held;
    });
    world.wait();
    EXPECT_EQ(held, 4);
    EXPECT_TRUE(events.try_lock("a"));
    EXPECT_TRUE(events.try_lock("b"));
  });
}

TEST(EventLock, IsReleasedWhileItsTaskWaitsForEvents_AndTakenAgain) {
  expect_runs([](World& world) {
    Events events(world);
    std::vector<std::string> log;
    events.submit({}, [&] {
      events.lock("a");
      events.lock("b");
      events.fire(shoal::self, "waits");
      static_cast<void>(events.wait({{shoal::self, "go on"}}));
      EXPECT_THAT(refusal_of([&] { events.lock("a"); }), HasSubstr("holds it already"));
      EXPECT_THAT(refusal_of([&] { events.lock("b"); }), HasSubstr("holds it already"));
      log.emplace_back("again");
    });
    events.submit({{shoal::self, "other"}}, [&] {
      EXPECT_TRUE(events.try_lock("b"));
      events.lock("a");
      log.emplace_back("meanwhile");
      events.fire(shoal::self, "go on");
    });
    static_cast<void>(events.wait({{shoal::self, "waits"}}));
    events.fire(shoal::self, "other");
    world.wait();
    EXPECT_THAT(log, ElementsAre("meanwhile", "again"));
  });
}

/// A guard, as programs use it to not forget to unlock.
class Guard {
 public:
  Guard(Events& events, std::string name) : events_(events), name_(std::move(name)) {
    events_.lock(name_);
  }
  ~Guard() { events_.unlock(name_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Events& events_;
  const std::string name_;
};

TEST(EventLock, OfATaskThatIsCancelledInAWait_IsLostAndMayBeUnlocked) {
  bool unwound = false;
  const std::string error = error_of([&](World& world) {
    Events events(world);
    events.submit({}, [&] {
      try {
        const Guard guard(events, "a");
        static_cast<void>(events.wait({{shoal::self, "never"}}));
      } catch (const shoal::CancelledError&) {
        unwound = true;
        EXPECT_THAT(refusal_of([&] { events.unlock("a"); }), HasSubstr("does not hold it"));
        EXPECT_TRUE(events.try_lock("a")) << "the task still had it";
        events.unlock("a");
        EXPECT_TRUE(events.try_lock("a")) << "it was not unlocked";
        throw;
      }
    });
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("wait() of events"));
  EXPECT_TRUE(unwound);
}

TEST(EventLock, OfAMainFunctionWhoseWaitIsStuck_IsTakenAgain) {
  expect_runs([](World& world) {
    Events events(world);
    {
      const Guard guard(events, "a");
      EXPECT_THROW(static_cast<void>(events.wait({{shoal::self, "never"}})), shoal::StuckError);
      world.spawn([&] { EXPECT_FALSE(events.try_lock("a")); });
      world.wait();
    }
    EXPECT_TRUE(events.try_lock("a"));
  });
}

TEST(EventLock, OfOneNameInTwoNameSpaces_IsTakenAgainByAllInOneOrder) {
  expect_runs([](World& world) {
    Events left(world, "left");
    Events right(world, "right");
    int done = 0;
    const auto wait_with = [&](Events& first, Events& second) {
      return [&] {
        first.lock("x");
        second.lock("x");
        static_cast<void>(left.wait({{shoal::self, "go"}}));
        ++done;
      };
    };
    left.submit({}, wait_with(left, right), {.name = "left first"});
    left.submit({}, wait_with(right, left), {.name = "right first"});
    const auto let_others_run = [] {
      for (int i = 0; i < 10; ++i) shoal::yield();
    };
    let_others_run();
    left.lock("x");
    right.lock("x");
    for (int i = 0; i < 2; ++i) left.fire(shoal::self, "go");
    let_others_run();  // both wait for their first lock now
    left.unlock("x");
    right.unlock("x");
    world.wait();
    EXPECT_EQ(done, 2);
  });
}

TEST(EventLock, Misuse_IsRefused) {
  expect_runs([](World& world) {
    Events events(world);
    events.lock("a");
    EXPECT_THAT(refusal_of([&] { events.lock("a"); }),
                AllOf(HasSubstr("'a'"), HasSubstr("holds it already")));
    EXPECT_FALSE(events.try_lock("a"));
    events.unlock("a");
    EXPECT_THAT(refusal_of([&] { events.unlock("a"); }),
                AllOf(HasSubstr("'a'"), HasSubstr("does not hold it")));
    events.lock("b");
    world.spawn([&] {
      EXPECT_FALSE(events.try_lock("b"));
      EXPECT_THAT(refusal_of([&] { events.unlock("b"); }), HasSubstr("does not hold it"));
    });
    world.wait();
  });
}

TEST(EventLock, CycleOfTasks_IsReportedAsOne) {
  const std::string error = error_of([](World& world) {
    Events events(world);
    const auto grab = [&](const char* one, const char* two) {
      return [&events, one, two] {
        events.lock(one);
        for (int i = 0; i < 10; ++i) shoal::yield();
        events.lock(two);
      };
    };
    events.submit({}, grab("a", "b"), {.name = "left"});
    events.submit({}, grab("b", "a"), {.name = "right"});
    world.wait();
  });
  EXPECT_THAT(error,
              AllOf(HasSubstr("lock cycle"), HasSubstr("'left' waits in lock() of mutex 'b'"),
                    HasSubstr("'right' waits in lock() of mutex 'a'")));
}

TEST(EventWait, Any_ReturnsTheFirstThatComes) {
  expect_two_ranks_run([](World& world) {
    Events events(world);
    const Rank other(1 - world.rank());
    std::vector<std::string> got;
    events.submit({}, [&] {
      for (int i = 0; i < 3; ++i) {
        EventList list = events.wait_any({{other, "b"}, {shoal::self, "a"}, {shoal::any, "c"}});
        ASSERT_EQ(list.size(), 1U);
        got.push_back(list[0].name() + std::to_string(list[0].get<int>()));
      }
    });
    events.fire(other, "b", 1);
    events.fire(other, "c", 2);
    events.fire(shoal::self, "a", 3);
    world.wait();
    EXPECT_THAT(got, testing::UnorderedElementsAre("a3", "b1", "c2"));
  });
}

TEST(EventWait, Any_OfEventsThatAreThere_TakesOneAndLeavesTheOthers) {
  expect_runs([](World& world) {
    Events events(world);
    events.fire(shoal::self, "b", 2);
    events.fire(shoal::self, "a", 1);
    EXPECT_EQ(events.wait_any({{shoal::self, "a"}, {shoal::self, "b"}})[0].get<int>(), 1);
    EXPECT_EQ(events.retrieve_any({{shoal::self, "a"}}).size(), 0U);
    EXPECT_EQ(events.wait({{shoal::self, "b"}})[0].get<int>(), 2);
    events.fire_persistent(shoal::self, "p", 5);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(events.wait_any({{shoal::any, "p"}, {shoal::self, "p"}})[0].get<int>(), 5);
    }
  });
}

TEST(EventWait, Any_ThatNothingEnds_IsStuckWithAllNames) {
  EXPECT_THAT(error_of([](World& world) {
                Events events(world, "e");
                events.submit({}, [&] {
                  static_cast<void>(events.wait_any({{shoal::self, "a"}, {shoal::self, "b"}}));
                });
                world.wait();
              }),
              AllOf(HasSubstr("wait_any()"), HasSubstr("\"a\""), HasSubstr("\"b\"")));
  EXPECT_THAT(error_of([](World& world) {
                Events events(world, "e");
                static_cast<void>(events.wait_any({}));
              }),
              HasSubstr("events 'e': wait_any() without events would wait for ever"));
}

}  // namespace event_wait_test

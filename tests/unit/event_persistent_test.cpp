// Persistent tasks of which several instances are in progress at once.

#include <shoal/event.hpp>

#include "support/many_orders.hpp"
#include "support/run_world.hpp"

#include <shoal/world.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

namespace event_persistent_test {

using shoal::EventDependency;
using shoal::EventList;
using shoal::Events;
using shoal::World;
using shoal::testing::in_many_orders;
using shoal::testing::run_world;

/// On one rank: with 1 and 2 workers, and in many orders of the simulator.
void expect_runs_everywhere(const std::function<void(World&)>& program) {
  for (const int workers : {1, 2}) EXPECT_EQ(run_world(1, workers, program), 0) << workers;
  in_many_orders(program);
}

TEST(EventPersistent, AnInstanceThatStandsStill_IsEndedByAnotherOne) {
  expect_runs_everywhere([](World& world) {
    Events events(world);
    std::atomic<int> waited_for{0};
    events.submit({{shoal::self, "go"}},
                  [&](EventList& list) {
                    if (list[0].get<int>() == 1) {
                      events.fire(shoal::self, "stands");
                      waited_for = events.wait({{shoal::self, "x"}})[0].get<int>();
                    } else {
                      events.fire(shoal::self, "x", 7);
                    }
                  },
                  {.name = "both", .persistent = true});
    events.fire(shoal::self, "go", 1);
    static_cast<void>(events.wait({{shoal::self, "stands"}}));
    events.fire(shoal::self, "go", 2);
    world.wait();
    EXPECT_EQ(waited_for, 7);
  });
}

TEST(EventPersistent, ManyInstances_StandStillAtOnce) {
  expect_runs_everywhere([](World& world) {
    constexpr int kInstances = 50;
    Events events(world);
    std::atomic<int> standing{0};
    std::atomic<int> sum{0};
    events.submit({{shoal::self, "go"}},
                  [&](EventList& list) {
                    ++standing;
                    events.fire(shoal::self, "stands");
                    const EventList released = events.wait({{shoal::self, "release"}});
                    --standing;
                    // The assignment is open; variables on the stack belong to one task.
                    sum += list[0].get<int>() + 1000 * released[0].get<int>();
                  },
                  {.name = "waits", .persistent = true});
    for (int i = 0; i < kInstances; ++i) events.fire(shoal::self, "go", i);
    const std::vector<EventDependency> all_stand(kInstances, {shoal::self, "stands"});
    static_cast<void>(events.wait(all_stand));
    EXPECT_EQ(standing, kInstances);
    for (int i = 0; i < kInstances; ++i) events.fire(shoal::self, "release", i);
    world.wait();
    EXPECT_EQ(standing, 0);
    EXPECT_EQ(sum, 1001 * kInstances * (kInstances - 1) / 2);
  });
}

}  // namespace event_persistent_test

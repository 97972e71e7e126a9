// Events on threads: their order from any thread, and all tasks at once on few names.

#include <shoal/shoal.hpp>

#include "support/event_plan.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace event_threads_test {

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::EventPlan;
using shoal::testing::EventPlanRun;
using shoal::testing::run_world;
using shoal::testing::sized;

TEST(EventThreads, EventsToOneAndToAll_ArriveInTheOrderFired) {
  for (std::uint64_t seed = 0; seed < sized(90, 18); ++seed) {
    for (const int ranks : {1, 2, 4}) {
      const int workers = std::vector<int>{1, 2, 8}[seed / 3 % 3];
      const EventPlan plan(seed, ranks, 100);
      const auto from = static_cast<EventPlanRun::From>(seed % 3);
      ASSERT_EQ(
          run_world(ranks, workers, [&](World& world) { EventPlanRun(world, plan, from).run(); }),
          0)
          << "seed " << seed;
    }
  }
}

TEST(EventThreads, ManyTasksThatFireAtOnce_LoseNothing) {
  for (const int ranks : {1, 2, 4}) {
    for (const int workers : {1, 2, 8}) {
      constexpr int kTasks = sized(2000, 300);
      const int code = run_world(ranks, workers, [&](World& world) {
        Events events(world);
        std::atomic<std::int64_t> sum{0};
        std::atomic<int> greedy{0};
        const auto add = [&](EventList& list) { sum += list[0].get<int>() + list[1].get<int>(); };
        events.submit({{shoal::any, "a"}, {shoal::any, "b"}}, add, {.persistent = true});
        events.submit({{shoal::any, "c"}},
                      [&](EventList& list) { greedy += static_cast<int>(list.size()); },
                      {.persistent = true, .greedy = true});
        for (int i = 0; i < kTasks; ++i) {
          world.spawn([&, i] {
            const Rank target((world.rank() + i) % world.size());
            events.fire(target, i % 2 == 0 ? "a" : "b", i);
            events.fire(target, i % 2 == 0 ? "b" : "a", i);
            if (i % 50 == 0) events.fire(shoal::all, "c");
          });
        }
        world.wait();
        const std::int64_t total = world.allreduce(sum.load(), std::plus<>());
        const std::int64_t expected = std::int64_t{kTasks} * (kTasks - 1) * world.size();
        if (total != expected) throw std::runtime_error("the sum differs");
        if (greedy != kTasks / 50 * world.size()) throw std::runtime_error("events were lost");
      });
      ASSERT_EQ(code, 0) << ranks << " ranks, " << workers << " workers";
    }
  }
}

// Half of the tasks are removed while events come: each event is taken once, or left.
TEST(EventThreads, TasksThatAreRemovedMeanwhile_LoseNoEvent) {
  constexpr int kRounds = sized(300, 60);
  const int code = run_world(1, 4, [&](World& world) {
    Events events(world);
    std::atomic<int> ran{0};
    std::atomic<int> removed{0};
    for (int i = 0; i < kRounds; ++i) {
      const std::string name = "t" + std::to_string(i % 5);
      world.spawn([&, name] {
        events.submit({{shoal::self, "e"}, {shoal::self, "e"}}, [&] { ++ran; }, {.name = name});
      });
      world.spawn([&] { events.fire(shoal::self, "e"); });
      world.spawn([&] { events.fire(shoal::self, "e"); });
      if (i % 2 == 0) world.spawn([&, name] { removed += events.remove(name) ? 1 : 0; });
    }
    try {
      world.wait();
    } catch (const shoal::StuckError&) {  // events are left over for each task that was removed
    }
    std::vector<shoal::EventDependency> left(std::size_t{2} * kRounds, {shoal::self, "e"});
    const auto left_count = static_cast<int>(events.retrieve_any(left).size());
    if (ran + removed != kRounds) throw std::runtime_error("a task is missing");
    if (left_count != 2 * removed) throw std::runtime_error("an event is missing");
    world.wait();
  });
  ASSERT_EQ(code, 0);
}

TEST(EventThreads, ThreadsOfTheProgram_SubmitAndFire) {
  constexpr int kThreads = 3;
  constexpr int kEvents = sized(2000, 300);
  const int code = run_world(2, 2, [&](World& world) {
    Events events(world);
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, hold = world.hold()] {
        const std::string name = "thread " + std::to_string(t);
        for (int i = 0; i < kEvents; ++i) {
          events.submit({{shoal::all, name}}, [&, i](EventList& list) {
            for (const shoal::Event& event : list) {
              if (event.get<int>() != i) throw std::runtime_error("an event out of order");
            }
            ++ran;
          });
          events.fire(shoal::all, name, i);
        }
      });
    }
    world.wait();
    for (std::thread& thread : threads) thread.join();
    if (ran != kThreads * kEvents) throw std::runtime_error("a task is missing");
  });
  ASSERT_EQ(code, 0);
}

}  // namespace event_threads_test

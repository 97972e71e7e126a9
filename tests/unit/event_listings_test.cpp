// The listings of the edat paper as C++ programs, on threads.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace event_listings_test {

using shoal::Event;
using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;

/// On every shape of world.
void on_all_shapes(const std::function<void(World&)>& program, int ranks_min = 1) {
  for (const int ranks : {1, 2, 4}) {
    if (ranks < ranks_min) continue;
    for (const int workers : {1, 2, 8}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(workers) + " workers");
      ASSERT_EQ(run_world(ranks, workers, program), 0);
    }
  }
}

// Listings 1 to 4: tasks of two ranks, one event with nothing, two with numbers.
TEST(Listings, OneToFour_ATaskAddsTheNumbersOfTwoEvents) {
  std::atomic<int> sum{0};
  const auto program = [&](World& world) {
    Events events(world);
    if (world.rank() == 0) {
      events.submit({}, [&] {
        events.fire(Rank(1), "event1");
        int d = 33;
        events.fire(Rank(1), "event2", d);
        d = 0;  // the event has its copy
      });
    } else if (world.rank() == 1) {
      events.submit({{Rank(0), "event1"}}, [&](EventList& list) {
        EXPECT_EQ(list.size(), 1U);
        EXPECT_FALSE(list[0].has_value());
        events.fire(shoal::self, "event3", 100);
      });
      events.submit({{Rank(0), "event2"}, {Rank(1), "event3"}}, [&](EventList& list) {
        EXPECT_EQ(list[0].name(), "event2");
        EXPECT_EQ(list[1].source(), 1);
        sum += list[0].get<int>() + list[1].get<int>();
      });
    }
    world.wait();
  };
  on_all_shapes(
      [&](World& world) {
        program(world);
        if (world.rank() == 1) {
          EXPECT_EQ(sum.exchange(0), 133);
        }
      },
      2);
}

// Listing 5: a reduction.
TEST(Listings, Five_AReductionGetsOneEventOfEveryRankInTheirOrder) {
  on_all_shapes([](World& world) {
    Events events(world);
    int total = 0;
    if (world.rank() == 0) {
      events.submit({{shoal::all, "event"}}, [&](EventList& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
          EXPECT_EQ(list[i].source(), static_cast<int>(i));
          total += list[i].get<int>();
        }
      });
    }
    events.fire(Rank(0), "event", 10 + world.rank());
    world.wait();
    const int size = world.size();
    EXPECT_EQ(total, world.rank() == 0 ? 10 * size + size * (size - 1) / 2 : 0);
  });
}

// Listing 6: a barrier without waiting.
TEST(Listings, Six_ABarrierRunsItsTaskWhenAllRanksHaveFired) {
  std::atomic<int> fired{0};
  on_all_shapes([&](World& world) {
    Events events(world);
    int seen = 0;
    events.submit({{shoal::all, "event"}}, [&] { seen = fired.load(); });
    ++fired;
    events.fire(shoal::all, "event");
    world.wait();
    EXPECT_EQ(seen, world.size());
    world.barrier();
    fired = 0;
    world.barrier();
  });
}

// Listings 7 and 8: a persistent task and a persistent event.
TEST(Listings, SevenAndEight_APersistentTaskRunsForEachEventWithTheSamePersistentOne) {
  on_all_shapes([](World& world) {
    constexpr int kEvents = 50;
    Events events(world);
    std::atomic<int> sum{0};
    if (world.rank() == 0) {
      events.submit({{shoal::any, "factor"}, {shoal::any, "number"}},
                    [&](EventList& list) { sum += list[0].get<int>() * list[1].get<int>(); },
                    {.name = "multiply", .persistent = true});
    }
    if (world.rank() == world.size() - 1) {
      events.fire_persistent(Rank(0), "factor", 3);
      for (int i = 1; i <= kEvents; ++i) events.fire(Rank(0), "number", i);
    }
    world.wait();
    EXPECT_EQ(sum, world.rank() == 0 ? 3 * kEvents * (kEvents + 1) / 2 : 0);
    EXPECT_EQ(events.is_submitted("multiply"), world.rank() == 0);
    EXPECT_EQ(events.remove("multiply"), world.rank() == 0);
  });
}

// Listing 10: one instance at a time has the shared data.
TEST(Listings, Ten_AnAddressThatGoesRoundProtectsWhatItPointsTo) {
  on_all_shapes(
      [](World& world) {
        constexpr int kValues = 100;
        Events events(world);
        std::vector<int> shared;
        std::atomic<int> inside{0};
        if (world.rank() == 0) {
          events.submit({{shoal::self, "data"}, {Rank(1), "values"}},
                        [&](EventList& list) {
                          EXPECT_EQ(++inside, 1);
                          auto* const data = list[0].address<std::vector<int>>();
                          data->push_back(list[1].get<int>());
                          --inside;
                          events.fire_address(shoal::self, "data", data);
                        },
                        {.persistent = true});
          events.fire_address(shoal::self, "data", &shared);
        } else if (world.rank() == 1) {
          for (int i = 0; i < kValues; ++i) events.fire(Rank(0), "values", i);
        }
        world.wait();
        if (world.rank() != 0) return;
        ASSERT_EQ(shared.size(), static_cast<std::size_t>(kValues));
        for (int i = 0; i < kValues; ++i) EXPECT_EQ(shared[static_cast<std::size_t>(i)], i);
      },
      2);
}

}  // namespace event_listings_test

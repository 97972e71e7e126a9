// Events in simulated worlds: their order over many seeds and all orders of the simulator, and the
// same report on all ranks when something is missing.

#include <shoal/event.hpp>

#include "runtime/simulated_world.hpp"
#include "support/event_plan.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace event_sim_test {

using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::sim::OrderKind;
using shoal::testing::EventPlan;
using shoal::testing::EventPlanRun;
using shoal::testing::sim_config;
using shoal::testing::sized;
using testing::HasSubstr;

constexpr OrderKind kOrders[] = {OrderKind::time,      OrderKind::uniform,   OrderKind::priorities,
                                 OrderKind::slow_rank, OrderKind::slow_link, OrderKind::late};

/// Error of the main function of each rank, "" without one.
std::vector<std::string> errors_of(const Config& config,
                                   const shoal::runtime::MainFunction& main_function) {
  SimulatedWorld world(config);
  world.run(main_function);
  std::vector<std::string> errors;
  for (const auto& rank : world.ranks()) {
    errors.push_back(rank->error() == nullptr ? "" : shoal::describe(rank->error()));
  }
  return errors;
}

Config config_of(std::uint64_t seed, OrderKind order, int ranks) {
  Config config = sim_config(ranks, 1 + static_cast<int>(seed / 7 % 2), seed);
  config.sim_order = order;
  config.ranks_per_process = seed / 3 % 2 == 0 ? 1 : ranks;
  if (seed % 4 == 0) {  // small windows: senders stand still
    config.packet_bytes = 512;
    config.window_bytes = 1024;
  }
  if (seed % 3 == 0) config.sim_faults = "delay:p=0.2,by=100us;delay:p=0.02,by=10ms";
  return config;
}

TEST(EventSimulation, EventsToOneAndToAll_ArriveInTheOrderFired) {
  constexpr std::uint64_t kSeeds = sized(240, 24);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 8);
    const EventPlan plan(seed, ranks, 25);
    const auto from = static_cast<EventPlanRun::From>(seed % 3);
    for (const OrderKind order : kOrders) {
      const auto errors = errors_of(config_of(seed, order, ranks), [&](World& world) {
        EventPlanRun(world, plan, from).run();
        return 0;
      });
      ASSERT_EQ(errors, std::vector<std::string>(errors.size(), ""))
          << "seed " << seed << ", order " << static_cast<int>(order);
    }
  }
}

TEST(EventSimulation, MissingEvents_AreReportedAlikeOnAllRanksInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    for (const OrderKind order : kOrders) {
      const auto errors = errors_of(config_of(seed, order, 3), [&](World& world) {
        Events events(world);
        events.submit({{shoal::all, "step"}}, [] {}, {.name = "barrier"});
        if (world.rank() != 1) events.fire(shoal::all, "step");
        if (world.rank() == 1) events.fire(Rank(2), "stop");
        world.wait();
        return 0;
      });
      for (const std::string& error : errors) {
        ASSERT_EQ(error, errors[0]);
        for (const char* rank : {"rank 0", "rank 1", "rank 2"}) {
          ASSERT_THAT(error, HasSubstr(std::string(rank) + ": events 'events': barrier has 2 of 3 "
                                                           "events and waits for \"step\" from "
                                                           "rank 1"));
        }
        ASSERT_THAT(error, HasSubstr("rank 2: events 'events': no task took \"stop\" from rank 1"));
      }
    }
  }
}

// A token of persistent tasks goes round; the world ends although all of them stay.
TEST(EventSimulation, PersistentTasks_EndInEveryOrder) {
  constexpr int kHops = 40;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const OrderKind order : kOrders) {
      int hops = 0;
      const auto errors = errors_of(config_of(seed, order, 4), [&](World& world) {
        Events events(world);
        events.submit({{shoal::any, "token"}},
                      [&](shoal::EventList& list) {
                        const int hop = list[0].get<int>();
                        hops = hop;
                        if (hop == kHops) return;
                        events.fire(Rank((world.rank() + 1) % world.size()), "token", hop + 1);
                      },
                      {.persistent = true});
        if (world.rank() == 0) events.fire(Rank(1), "token", 1);
        world.wait();
        return 0;
      });
      ASSERT_EQ(errors, std::vector<std::string>(4, "")) << "seed " << seed;
      ASSERT_EQ(hops, kHops);
    }
  }
}

/// Messages that each of 64 ranks sends when one of them fires an event to all, or none does.
std::vector<std::uint64_t> sent_by_each(Rank source, bool fires) {
  constexpr int kRanks = 64;
  std::vector<std::uint64_t> sent(kRanks);
  const auto errors = errors_of(sim_config(kRanks, 1, 1), [&](World& world) {
    Events events(world);
    int got = 0;
    events.submit({{source, "news"}}, [&got] { ++got; }, {.persistent = true});
    if (fires && world.rank() == source) events.fire(shoal::all, "news");
    world.wait();
    EXPECT_EQ(got, fires ? 1 : 0);
    sent[static_cast<std::size_t>(world.rank())] = world.statistics().messages_sent;
    return 0;
  });
  EXPECT_EQ(errors, std::vector<std::string>(kRanks, ""));
  return sent;
}

TEST(EventSimulation, AnEventToAll_GoesAlongATree) {
  constexpr std::uint64_t kFanOut = 4;
  for (const int source : {0, 5, 63}) {
    const std::vector<std::uint64_t> without = sent_by_each(Rank(source), false);
    const std::vector<std::uint64_t> with = sent_by_each(Rank(source), true);
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < with.size(); ++rank) {
      EXPECT_LE(with[rank] - without[rank], kFanOut) << "rank " << rank << ", source " << source;
      sum += with[rank] - without[rank];
    }
    EXPECT_EQ(sum, with.size() - 1) << "source " << source;
  }
}

}  // namespace event_sim_test

// Random plans of tasks, waits and events through Events in simulated worlds, against the naive
// matcher: whatever the order of running, each consumer gets the same events.

#include <shoal/event.hpp>

#include "support/event_consumer_plan.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace event_world_test {

using shoal::EventDependency;
using shoal::EventList;
using shoal::EventPeer;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::ConsumerPlan;
using shoal::testing::run_turns;
using shoal::testing::sized;
using Step = ConsumerPlan::Step;

EventPeer peer_of(const ConsumerPlan::Need& need) {
  return need.peer == ConsumerPlan::kAll ? shoal::all : EventPeer(Rank(need.peer));
}

/// One rank's share of a run of a plan.
class PlanRun {
 public:
  PlanRun(World& world, const ConsumerPlan& plan)
      : world_(world), plan_(plan), events_(world), got_(plan.consumer_count(world.rank())) {}

  ConsumerPlan::Got run(bool in_a_task) {
    if (in_a_task) {
      world_.spawn([this] { take_steps(); });
    } else {
      take_steps();
    }
    bool is_stuck = false;
    try {
      world_.wait();
    } catch (const shoal::StuckError&) {
      is_stuck = true;
    }
    EXPECT_EQ(is_stuck, plan_.ends_stuck());
    for (auto& runs : got_) std::ranges::sort(runs);  // those of a persistent task may overlap
    return got_;
  }

 private:
  void take_steps() {
    std::size_t consumer = 0;
    for (const Step& step : plan_.steps(world_.rank())) {
      if (step.kind == Step::Kind::fire) {
        events_.fire(peer_of(step.needs[0]), step.needs[0].name, step.id);
      } else {
        consume(step, consumer++);
      }
    }
  }

  void consume(const Step& step, std::size_t consumer) {
    std::vector<EventDependency> dependencies;
    dependencies.reserve(step.needs.size());
    for (const auto& need : step.needs) dependencies.push_back({peer_of(need), need.name});
    if (step.kind == Step::Kind::wait) {
      note(consumer, events_.wait(dependencies));
    } else {
      events_.submit(dependencies, [this, consumer](EventList& list) { note(consumer, list); },
                     {.persistent = step.kind == Step::Kind::persistent});
    }
  }

  void note(std::size_t consumer, const EventList& list) {
    std::vector<int>& ids = got_[consumer].emplace_back();
    for (const shoal::Event& event : list) ids.push_back(event.get<int>());
  }

  World& world_;
  const ConsumerPlan& plan_;
  Events events_;
  ConsumerPlan::Got got_;
};

// Orders, processes and delays by run_turns(): 36 seeds have them all.
TEST(EventWorldProperty, RandomPlans_GiveEachConsumerWhatTheNaiveMatcherGivesIt) {
  for (std::uint64_t seed = 0; seed < 432; seed += sized(1, 7)) {
    // From six ranks on, events to all take more than one hop.
    const int ranks = std::array{2, 4, 10}[seed / 36 % 3];
    const ConsumerPlan plan(seed, ranks, 40 * ranks);
    const shoal::net::LinkOptions small{.packet_bytes = 512, .window_bytes = 1024};
    const auto result = run_turns({.seed = seed,
                                   .ranks = ranks,
                                   .workers = 1 + static_cast<int>(seed / 108 % 2),
                                   .link = seed % 5 == 0 ? small : shoal::net::LinkOptions{}},
                                  [&](World& world) {
                                    EXPECT_EQ(PlanRun(world, plan).run(seed / 4 % 2 == 0),
                                              plan.expected(world.rank()));
                                    return 0;
                                  });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace event_world_test

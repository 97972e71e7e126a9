// Objects of the models that end while tasks may still use them, and that are used after their run.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include "runtime/end_report.hpp"
#include "support/failed_runs.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace runtime_early_end_test {

using shoal::Events;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::expect_named;
using shoal::testing::expect_well;
using shoal::testing::Program;
using shoal::testing::refusal_of;
using shoal::testing::run_with;
using shoal::testing::run_world;
using testing::HasSubstr;

template <class Function>
void fill(TaskGraph<int>& graph, int indegree, Function function) {
  graph.set_indegree([indegree](int) { return indegree; })
      .set_mapping([](int) { return 0; })
      .set_task(std::move(function));
}

TEST(EarlyEnd, OfAGraphWithTasks_IsNamed) {
  expect_named(
      [](World& world) {
        std::vector<int> data(1);
        TaskGraph<int> graph(world, "chain");
        fill(graph, 1, [&](int k) {  // without an end
          ++data[0];
          graph.fulfill(k + 1);
        });
        graph.fulfill(0);
        world.barrier();
      },
      {"task graph 'chain' ended before its work was done", "call wait() of the world"});
}

TEST(EarlyEnd, OfAGraphThatWaits_NamesTheTasks) {
  expect_named(
      [](World& world) {
        TaskGraph<int> graph(world, "half");
        fill(graph, 2, [](int) {});
        graph.fulfill(7);
      },
      {"task graph 'half' ended before its work was done (1 left waiting)",
       "half[7] has fulfilled 1 of 2 dependencies"});
}

TEST(EarlyEnd, OfAGraphInItsSecondRound_IsNamed) {
  expect_named(
      [](World& world) {
        TaskGraph<int> graph(world, "rounds");
        fill(graph, 2, [](int) {});
        graph.fulfill(1, 2);
        world.wait();
        graph.fulfill(2);
      },
      {"task graph 'rounds' ended", "rounds[2] has fulfilled 1 of 2"});
}

TEST(EarlyEnd, OfAGraphWhenAnExceptionPasses_IsNamed) {
  expect_named(
      [](World& world) {
        try {
          TaskGraph<int> graph(world, "thrown");
          fill(graph, 2, [](int) {});
          graph.fulfill(1);
          throw 1;  // NOLINT(hicpp-exception-baseclass): any will do
        } catch (int) {
        }
      },
      {"task graph 'thrown' ended before its work was done"});
}

TEST(EarlyEnd, OfAGraphOnATeam_NamesTheTeam) {
  expect_named(
      [](World& world) {
        shoal::Team team(world, {Rank(0), Rank(1)}, "pair");
        TaskGraph<int> graph(team, "inner");
        fill(graph, 2, [](int) {});
        graph.fulfill(1);
      },
      {"task graph 'inner' ended", "call wait() of team 'pair'"});
}

TEST(EarlyEnd, InATask_FailsTheTeam) {
  expect_named(
      [](World& world) {
        world
            .async([&] {
              shoal::Team team(world, {Rank(0), Rank(1)}, "pair");
              TaskGraph<int> graph(team, "inner");
              fill(graph, 2, [](int) {});
              graph.fulfill(1);
            })
            .get();
        world.wait();
      },
      {"task graph 'inner' ended"});
}

TEST(EarlyEnd, OfEventsThatATaskAwaits_NamesIt) {
  expect_named(
      [](World& world) {
        Events events(world, "mail");
        events.submit({{shoal::any, "never"}}, [] {}, {.name = "reader"});
      },
      {"events 'mail' ended before its work was done", "reader", "\"never\" from any rank"});
}

TEST(EarlyEnd, OfEventsThatNoTaskTook_NamesThem) {
  expect_named(
      [](World& world) {
        Events events(world, "mail");
        events.fire(shoal::self, "letter", 1);
      },
      {"events 'mail' ended", "no task took \"letter\""});
}

TEST(EarlyEnd, OfEventsOnTheirWay_IsNamed) {
  expect_named(
      [](World& world) {
        std::vector<std::atomic<int>> data(2);
        Events events(world, "ring");
        events.submit({{shoal::any, "x"}},
                      [&](shoal::EventList& list) {  // without an end
                        const int hop = list[0].get<int>();
                        ++data[static_cast<std::size_t>(hop)];
                        const Rank next((world.rank().value() + 1) % world.size());
                        events.fire(next, "x", 1 - hop);
                      },
                      {.name = "p", .persistent = true});
        events.fire(shoal::self, "x", 1);
        world.barrier();
      },
      {"shoal: error: rank "});  // by the rank that is first, or a message that comes too late
}

TEST(EarlyEnd, OfAGraphWithTasksOnTheirWay_IsNamed) {
  expect_named(
      [](World& world) {
        std::vector<std::atomic<int>> data(2);
        TaskGraph<int> graph(world, "ring");
        graph.set_indegree([](int) { return 1; })
            .set_mapping([](int) { return 0; })
            .set_rank([&](int k) { return k % world.size(); })
            .set_task([&](int k) {  // without an end
              ++data[static_cast<std::size_t>(k % 2)];
              graph.fulfill(k + 1);
            });
        if (world.rank() == 0) {
          for (int k = 0; k < 2; ++k) graph.fulfill(k);
        }
        world.barrier();
      },
      {"shoal: error: rank ", "task graph 'ring'"});
}

TEST(EarlyEnd, OfAGraphWithInputsOnTheirWay_IsNamed) {
  expect_named(
      [](World& world) {
        std::vector<int> data(2);
        TaskGraph<int> graph(world, "ring");
        graph.set_mapping([](int) { return 0; })
            .set_rank([&](int k) { return k % world.size(); })
            .set_task([&](int k, std::vector<int> values) {  // without an end
              ++data[static_cast<std::size_t>(k % 2)];
              values[0] = k;
              graph.send(k + 1, 0, std::move(values));
            });
        if (world.rank() == 0) graph.send(0, 0, std::vector<int>{1});
        world.barrier();
      },
      {"shoal: error: rank ", "task graph 'ring'"});
}

TEST(EarlyEnd, OfAFlowWithValuesOnTheirWay_IsNamed) {
  expect_named(
      [](World& world) {
        try {
          shoal::Flow flow(world, "ring");
          std::vector<shoal::Data<std::vector<double>>> data;
          for (int i = 0; i < 4; ++i) {
            data.push_back(
                flow.data(std::vector<double>(100, i), {.owner = Rank(i % world.size())}));
          }
          for (std::size_t i = 0; i < 200; ++i) {
            flow.insert(
                [i](std::vector<double>& y, const std::vector<double>& x) {
                  if (i == 100) shoal::sleep_for(std::chrono::hours(1));
                  y[0] += x[1];
                },
                read_write(data[(i + 1) % 4]), read(data[i % 4]));
          }
          throw 1;  // NOLINT(hicpp-exception-baseclass): any will do
        } catch (int) {
        }
      },
      {"shoal: error: rank ", "flow 'ring'"});
}

TEST(EarlyEnd, OfAMemoryWithPutsOnTheirWay_UsesNothingThatIsGone) {
  for (int i = 0; i < shoal::testing::sized(20, 5); ++i) {
    const auto said = shoal::testing::said_by([] {
      return run_world(2, 2, [](World& world) {
        shoal::GlobalMemory memory(
            world, {.name = "field", .checks = shoal::GlobalMemoryOptions::Checks::on});
        const auto cells = memory.collective_allocate<int>(100);
        world.barrier();
        if (world.rank() == 1) {
          for (int k = 0; k < 100; ++k) memory.put(cells.on(Rank(0)) + k, k);
        }
      });
    });
    if (said.code != 0) EXPECT_THAT(said.text, HasSubstr("memory 'field'"));
  }
}

TEST(EarlyEnd, OfEventsWithATimer_IsNamed) {
  expect_named(
      [](World& world) {
        Events events(world, "clock");
        events.fire_after(std::chrono::milliseconds(5), shoal::self, "tick");
      },
      {"events 'clock' ended"});
}

TEST(EarlyEnd, OfAFlowWhenAnExceptionPasses_IsNamed) {
  expect_named(
      [](World& world) {
        shoal::Promise<void> never(world);
        shoal::Future<void> gate = never.future();
        try {
          shoal::Flow flow(world, "sums");
          const auto x = flow.data<double>(1.0);
          flow.insert([&gate](double& /*value*/) { gate.get(); }, read_write(x));
          for (int i = 0; i < 10; ++i)
            flow.insert([](double& value) { value += 1; }, read_write(x));
          throw 1;  // NOLINT(hicpp-exception-baseclass): any will do
        } catch (int) {
        }
      },
      {"flow 'sums' ended before its work was done"});
}

TEST(EarlyEnd, AfterWait_IsNoError) {
  expect_well([](World& world) {
    std::atomic<int> ran{0};
    TaskGraph<int> graph(world, "g");
    Events events(world);
    fill(graph, 1, [&](int) { ++ran; });
    for (int round = 0; round < 3; ++round) {
      for (int k = 0; k < 10; ++k) graph.fulfill(k + 10 * round);
      events.submit({{shoal::any, "x"}}, [&] { ++ran; });
      events.fire(Rank((world.rank().value() + 1) % world.size()), "x");
      world.wait();
    }
    EXPECT_EQ(ran, 33);
  });
}

TEST(EarlyEnd, OfWhatWasNotUsed_OrOnlyWaitedFor_IsNoError) {
  expect_well([](World& world) {
    const TaskGraph<int> graph(world, "g");
    const Events unused(world);
    Events events(world);
    events.fire(shoal::self, "x", 1);
    EXPECT_EQ(events.wait({{shoal::self, "x"}})[0].get<int>(), 1);
    const shoal::Hold hold = world.hold();
  });
}

TEST(EarlyEnd, AfterAStuckError_IsNotToldTwice) {
  expect_well([](World& world) {
    TaskGraph<int> graph(world, "half");
    fill(graph, 2, [](int) {});
    graph.fulfill(7);
    EXPECT_THROW(world.wait(), shoal::StuckError);
  });
}

// --- after run()

template <class Object>
std::string late_use(const std::function<std::unique_ptr<Object>(World&)>& make,
                     const std::function<void(Object&)>& use, bool simulated) {
  std::unique_ptr<Object> kept;
  const Program program = [&](World& world) { kept = make(world); };
  const int code =
      simulated ? run_with({"--sim", "--ranks", "1"}, program) : run_world(1, 2, program);
  EXPECT_EQ(code, 0);
  return refusal_of([&] { use(*kept); });
}

TEST(AfterRun, WhatTheProgramKept_RefusesCalls) {
  for (const bool simulated : {false, true}) {
    const std::string events =
        late_use<Events>([](World& world) { return std::make_unique<Events>(world, "late"); },
                         [](Events& late) {
                           late.submit({{shoal::self, "x"}}, [] {});
                         },
                         simulated);
    EXPECT_THAT(events, HasSubstr("events 'late' is used after its run() has returned"));
    const std::string fired =
        late_use<Events>([](World& world) { return std::make_unique<Events>(world, "late"); },
                         [](Events& late) { late.fire(shoal::self, "x"); }, simulated);
    EXPECT_THAT(fired, HasSubstr("events 'late' is used after its run() has returned"));
    const std::string graph = late_use<TaskGraph<int>>(
        [](World& world) {
          auto made = std::make_unique<TaskGraph<int>>(world, "late");
          fill(*made, 1, [](int) {});
          made->set_rank([](int) { return 0; });
          made->fulfill(1);
          world.wait();
          return made;
        },
        [](TaskGraph<int>& late) { late.fulfill(2); }, simulated);
    EXPECT_THAT(graph, HasSubstr("task graph 'late' is used after its run() has returned"));
    std::optional<shoal::Data<double>> datum;
    const std::string flow = late_use<shoal::Flow>(
        [&](World& world) {
          auto made = std::make_unique<shoal::Flow>(world, "late");
          datum = made->data<double>(1.0);
          return made;
        },
        [&](shoal::Flow& late) { late.insert([](double& x) { x += 1; }, read_write(*datum)); },
        simulated);
    EXPECT_THAT(flow, HasSubstr("flow 'late' is used after its run() has returned"));
    using Message = shoal::ActiveMessage<int>;
    const std::string message = late_use<Message>(
        [](World& world) { return std::make_unique<Message>(world.make_am([](int) {})); },
        [](Message& late) { late.send(Rank(0), 1); }, simulated);
    EXPECT_THAT(message, HasSubstr("is sent after its run() has returned"));
  }
}

TEST(AfterRun, AWorld_RefusesCalls) {
  World* kept = nullptr;
  ASSERT_EQ(run_world(1, 1, [&](World& world) { kept = &world; }), 0);
  const std::vector<std::function<void(World&)>> calls{
      [](World& world) { world.spawn([] {}); },
      [](World& world) { world.wait(); },
      [](World& world) { static_cast<void>(world.rank()); },
      [](World& world) { static_cast<void>(world.make_am([](int) {})); },
      [](World& world) { const TaskGraph<int> graph(world, "late"); },
      [](World& world) { const Events events(world); },
      [](World& world) { const shoal::Flow flow(world); },
  };
  for (const auto& call : calls) {
    EXPECT_THAT(refusal_of([&] { call(*kept); }),
                HasSubstr("a World is used after its run() has returned"));
  }
  EXPECT_THAT(refusal_of([&] { kept->barrier(); }), HasSubstr("after its run() has returned"));
  EXPECT_TRUE(kept->args().empty());
}

TEST(AfterRun, OfAProgramThatKeepsNothing_NothingIsKept) {
  const std::size_t before = shoal::runtime::retained_run_count();
  const auto program = [](World& world) {
    TaskGraph<int> graph(world, "g");
    const Events events(world);
    shoal::Flow flow(world);
    const auto message = world.make_am([](int) {});
    fill(graph, 1, [](int) {});
    graph.fulfill(1);
    shoal::Team team(world, {Rank(0), Rank(1)});
    world.wait();
  };
  EXPECT_EQ(run_world(2, 1, program), 0);
  EXPECT_EQ(run_with({"--sim", "--ranks", "2"}, program), 0);
  EXPECT_EQ(shoal::runtime::retained_run_count(), before);
}

}  // namespace runtime_early_end_test

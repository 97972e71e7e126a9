// Static graphs.

#include <shoal/shoal.hpp>
#include <shoal/static_graph.hpp>

#include "support/many_orders.hpp"
#include "support/on_workers.hpp"
#include "support/refusal.hpp"
#include "support/virtual_time.hpp"
#include "support/wait_world.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace loops_graph_test {

using shoal::StaticGraph;
using shoal::World;
using shoal::testing::in_many_orders;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using testing::HasSubstr;

class Graphs : public shoal::testing::OnWorkers {};
INSTANTIATE_TEST_SUITE_P(Workers, Graphs, shoal::testing::kWorkerCounts,
                         testing::PrintToStringParamName());

void check_diamond(int rounds) {
  StaticGraph graph("diamond");
  std::atomic<int> a{0};
  std::atomic<int> b{0};
  std::atomic<int> c{0};
  std::atomic<int> d{0};
  auto& first = graph.add([&] { ++a; });
  auto& left = graph.add([&] {
    shoal::yield();
    EXPECT_EQ(a.load(), ++b);
  });
  auto& right = graph.add([&] { EXPECT_EQ(a.load(), ++c); });
  auto& last = graph.add([&] {
    ++d;
    EXPECT_EQ(b.load(), d.load());
    EXPECT_EQ(c.load(), d.load());
  });
  first.before(left, right);
  last.before();
  left.before(last);
  right.before(last);
  for (int round = 1; round <= rounds; ++round) {
    graph.run();
    ASSERT_EQ(d.load(), round);
  }
  EXPECT_EQ(graph.size(), 4U);
}

TEST_P(Graphs, RunManyTimes) {
  run([](World&) { check_diamond(200); });
}

void check_loop() {
  StaticGraph graph("loop");
  int steps = 0;
  int ends = 0;
  auto& begin = graph.add([&] { steps = 0; }, "begin");
  auto& step = graph.add([&] { ++steps; }, "step");
  auto& half = graph.add([] {}, "half");
  auto& check = graph.add_condition([&] { return steps < 10 ? 0 : 1; }, "converged?");
  auto& end = graph.add([&] { ++ends; }, "end");
  auto& never = graph.add([] { ADD_FAILURE(); }, "never");
  // Each round goes through a part with two tasks. The condition alone leads back.
  auto& enter = graph.add_condition([] { return 0; }, "enter");
  begin.before(enter);
  enter.before(step);
  step.before(half);
  half.before(check);
  check.before(step, end, never);
  for (int round = 1; round <= 3; ++round) {
    graph.run();
    EXPECT_EQ(steps, 10);
    EXPECT_EQ(ends, round);
  }
}

TEST_P(Graphs, ConditionsChoose) {
  run([](World&) { check_loop(); });
}

TEST_P(Graphs, AConditionThatChoosesNone_EndsItsBranch) {
  run([](World&) {
    StaticGraph graph;
    int other = 0;
    auto& nothing = graph.add_condition([] { return 7; });
    nothing.before(graph.add([] { ADD_FAILURE(); }));
    graph.add([&] { ++other; });
    graph.run();
    EXPECT_EQ(other, 1);
    StaticGraph empty;
    empty.run();
  });
}

TEST_P(Graphs, AnException_ComesOut_AndItRunsAgain) {
  run([](World&) {
    StaticGraph graph;
    bool fails = true;
    int second = 0;
    auto& first = graph.add([&] {
      if (fails) throw std::runtime_error("first");
    });
    first.before(graph.add([&] { ++second; }));
    EXPECT_THROW(graph.run(), std::runtime_error);
    EXPECT_EQ(second, 0);
    fails = false;
    graph.run();
    EXPECT_EQ(second, 1);
  });
}

TEST_P(Graphs, InACancelledGroup_TheRestIsSkipped) {
  run([](World&) {
    shoal::TaskGroup group;
    int second = 0;
    std::string text;
    group.spawn([&] {
      StaticGraph graph("steps");
      graph.add([&] { group.cancel(); }).before(graph.add([&] { ++second; }));
      try {
        graph.run();
      } catch (const shoal::CancelledError& error) {
        text = error.what();
        throw;
      }
    });
    group.wait();
    EXPECT_EQ(text, "run() of 'steps': the task group of its caller was cancelled");
    EXPECT_EQ(second, 0);
  });
}

constexpr int kEndless = 300'000;  // rounds, of a loop that something else is to end

// A loop of a condition and `steps` tasks; a Deadline ends it, although there is one worker.
void check_deadline(int steps, std::chrono::nanoseconds after) {
  StaticGraph graph("iteration");
  int rounds = 0;
  auto& begin = graph.add([] {});
  auto& again = graph.add_condition([&] { return ++rounds < kEndless ? 0 : 1; });
  auto& entry = graph.add_condition([] { return 0; });
  begin.before(entry);
  entry.before(again);
  StaticGraph::Node* last = &again;
  for (int i = 0; i < steps; ++i) {
    auto& step = graph.add([] {});
    last->before(step);
    last = &step;
  }
  last->before(again);
  shoal::TaskGroup group("group");
  const shoal::Deadline deadline(group, after);
  bool other = false;
  group.spawn([&] { graph.run(); });
  group.spawn([&] { other = true; });
  group.wait();
  EXPECT_TRUE(group.is_cancelled());
  EXPECT_LT(rounds, kEndless);
  EXPECT_TRUE(other);
}

TEST(EndlessGraphs, ADeadlineEndsALoopOfConditions) {
  for (const int steps : {0, 1}) {
    shoal::testing::in_virtual_time(
        [steps](World&) { check_deadline(steps, std::chrono::microseconds(2)); });
  }
}

TEST(EndlessGraphs, OtherTasksHaveATurn) {
  in_many_orders([](World& world) {
    StaticGraph graph("iteration");
    bool other = false;
    int rounds = 0;
    auto& begin = graph.add([] {});
    auto& again = graph.add_condition([&] { return other || ++rounds == kEndless ? 1 : 0; });
    auto& entry = graph.add_condition([] { return 0; });
    begin.before(entry);
    entry.before(again);
    again.before(again);
    auto end = world.async([&] { graph.run(); });
    world.spawn([&] { other = true; });
    end.get();
    EXPECT_LT(rounds, kEndless);
  });
}

TEST(GraphsInOrders, DiamondsAndLoops) {
  in_many_orders([](World&) {
    check_diamond(3);
    check_loop();
  });
}

TEST(GraphsRefused, WithoutAnOrder) {
  EXPECT_EQ(run_world(1, 2,
                      [](World&) {
                        StaticGraph graph("ring");
                        auto& a = graph.add([] {}, "a");
                        auto& b = graph.add([] {}, "b");
                        a.before(b);
                        b.before(a);
                        EXPECT_THAT(refusal_of([&] { graph.run(); }),
                                    HasSubstr("run() of 'ring': it has no task to begin with"));
                        graph.add([] {}, "c");
                        EXPECT_THAT(refusal_of([&] { graph.run(); }),
                                    HasSubstr("run() of 'ring': 'a' waits for itself"));
                        StaticGraph other("other");
                        auto& alien = other.add([&] {
                          EXPECT_THAT(refusal_of([&] { other.run(); }),
                                      HasSubstr("run() of 'other', which runs already"));
                          EXPECT_THAT(refusal_of([&] { other.add([] {}, "late"); }),
                                      HasSubstr("'late' was added to 'other' while that runs"));
                        });
                        EXPECT_THAT(refusal_of([&] { a.before(alien); }),
                                    HasSubstr("they belong to two graphs, 'ring' and 'other'"));
                        other.run();
                      }),
            0);
  StaticGraph graph;
  graph.add([] {});
  EXPECT_THAT(refusal_of([&] { graph.run(); }),  // on a thread that is no worker
              HasSubstr("run() of a static graph was made or used on a thread "));
}

}  // namespace loops_graph_test

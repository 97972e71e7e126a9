// Reports of loops, pipelines and static graphs that wait for ever: each names the wait, and the
// call in whose tasks it is.

#include <shoal/loops.hpp>
#include <shoal/pipeline.hpp>
#include <shoal/shoal.hpp>
#include <shoal/static_graph.hpp>

#include "support/wait_world.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace loops_reports_test {

using shoal::World;
using shoal::testing::texts_of;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

using Wait = std::function<void()>;

/// Texts of the StuckError when a task makes a call of which a part calls wait().
std::vector<std::string> texts_when_stuck(int workers,
                                          const std::function<void(const Wait&)>& call) {
  return texts_of<shoal::StuckError>(1, workers, [&](World& world) {
    world.spawn([&call] {
      shoal::Latch never(1, "a latch that nobody counts down");
      call([&never] { never.wait(); });
    });
    world.wait();
  });
}

struct Call {
  std::string name;  // in reports
  std::function<void(const Wait&)> call;
};

std::vector<Call> calls() {
  static const std::vector<int> numbers(20, 1);
  return {{"sweep",
           [](const Wait& wait) {
             shoal::parallel_for(0, 20, [&](int) { wait(); }, {.name = "sweep"});
           }},
          {"parallel_invoke", [](const Wait& wait) { shoal::parallel_invoke(wait, wait); }},
          {"feeds",
           [](const Wait& wait) {
             shoal::parallel_for_each(std::vector<int>{1},
                                      [&](int item, shoal::Feeder<int>& feeder) {
                                        for (int i = 0; item < 2 && i < 3; ++i)
                                          feeder.add(item + 1);
                                        wait();
                                      },
                                      {.name = "feeds"});
           }},
          {"adds",
           [](const Wait& wait) {
             const auto map = [&](int number) {
               wait();
               return number;
             };
             static_cast<void>(
                 shoal::parallel_reduce(numbers, 0, map, std::plus<>(), {.name = "adds"}));
           }},
          {"scans",
           [](const Wait& wait) {
             std::vector<int> out(numbers.size());
             const auto add = [&](int a, int b) {
               wait();
               return a + b;
             };
             shoal::parallel_scan(numbers.begin(), numbers.end(), out.begin(), add,
                                  {.name = "scans"});
           }},
          {"sorts",
           [](const Wait& wait) {
             std::vector<int> copy = numbers;
             const auto less = [&](int a, int b) {
               wait();
               return a < b;
             };
             shoal::parallel_sort(copy, less, {.name = "sorts"});
           }},
          {"stages",
           [](const Wait& wait) {
             shoal::pipeline(
                 {.name = "stages"},
                 [next = 0]() mutable { return next < 9 ? std::optional(next++) : std::nullopt; },
                 shoal::serial_in_order([&](int item) { item == 2 ? wait() : void(); }));
           }},
          {"solver", [](const Wait& wait) {
             shoal::StaticGraph graph("solver");
             graph.add(wait, "sweeps");
             graph.run();
           }}};
}

TEST(LoopsReported, EachCall_IsNamedWithTheWaitInIt) {
  for (const int workers : {1, 2}) {
    for (const Call& one : calls()) {
      EXPECT_THAT(texts_when_stuck(workers, one.call),
                  Each(AllOf(HasSubstr("a latch that nobody counts down"), HasSubstr(one.name))))
          << one.name << ", " << workers;
    }
  }
}

// One worker: the task itself runs the iteration that waits.
TEST(LoopsReported, NestedOnes_ByTheInnermost_AndNothingAfterTheirEnd) {
  const auto texts = texts_when_stuck(1, [](const Wait& wait) {
    shoal::parallel_for(
        0, 2, [&](int) { shoal::parallel_for(0, 2, [&](int) { wait(); }, {.name = "inner"}); },
        {.name = "outer"});
  });
  EXPECT_THAT(texts, Each(HasSubstr("in parallel_for 'inner'")));
  const auto after = texts_when_stuck(1, [](const Wait& wait) {
    shoal::parallel_for(0, 3, [](int) {}, {.name = "done"});
    try {
      shoal::parallel_for(0, 3, [](int) { throw 1; }, {.name = "failed"});
    } catch (int) {
    }
    wait();
  });
  EXPECT_THAT(after, Each(AllOf(HasSubstr("a latch that nobody counts down"),
                                testing::Not(HasSubstr("in parallel_for")))));
}

}  // namespace loops_reports_test

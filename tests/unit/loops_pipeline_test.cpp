// Pipelines.

#include <shoal/pipeline.hpp>
#include <shoal/shoal.hpp>

#include "support/many_orders.hpp"
#include "support/on_workers.hpp"
#include "support/wait_world.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace loops_pipeline_test {

using shoal::CancelledError;
using shoal::CheckError;
using shoal::World;
using shoal::testing::in_many_orders;
using shoal::testing::run_world;
using testing::HasSubstr;

class Pipelines : public shoal::testing::OnWorkers {};
INSTANTIATE_TEST_SUITE_P(Workers, Pipelines, shoal::testing::kWorkerCounts,
                         testing::PrintToStringParamName());

auto numbers_to(int count) {
  return [next = 0, count]() mutable {
    return next < count ? std::optional<int>(next++) : std::nullopt;
  };
}

/// Items go through all kinds of stages, no more than `tokens` at once.
void check_stages(int tokens, int count) {
  std::atomic<int> under_way{0};
  std::atomic<int> most{0};
  std::atomic<int> in_any{0};
  std::vector<int> order;
  int squares = 0;
  shoal::pipeline(
      {.tokens = tokens},
      [&, source = numbers_to(count)]() mutable {
        const auto item = source();
        if (item) {
          const int now = ++under_way;
          if (now > most.load()) most = now;
        }
        return item;
      },
      shoal::parallel([](int i) {
        if (i % 3 == 0) shoal::yield();
        return std::make_unique<int>(i);
      }),
      shoal::serial_out_of_order([&](std::unique_ptr<int> item) {
        EXPECT_EQ(++in_any, 1);
        if (*item % 5 == 0) shoal::yield();
        --in_any;
        ++squares;
        return std::to_string(*item);
      }),
      shoal::serial_in_order([&](const std::string& text) {
        order.push_back(std::stoi(text));
        if (order.size() % 4 == 0) shoal::yield();
        --under_way;
      }));
  EXPECT_EQ(squares, count);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_LE(most.load(), tokens);
}

TEST_P(Pipelines, StagesOfAllKinds) {
  run([](World&) {
    for (const int tokens : {1, 2, 8, 50}) check_stages(tokens, 300);
    check_stages(4, 0);
  });
}

TEST_P(Pipelines, InATask_AndNested) {
  run([](World& world) {
    std::atomic<int> sum{0};
    world.spawn([&] {
      shoal::pipeline({}, numbers_to(20), shoal::parallel([&](int) {
                        shoal::pipeline({.tokens = 2}, numbers_to(10),
                                        shoal::parallel([&](int) { ++sum; }));
                      }));
    });
    world.wait();
    EXPECT_EQ(sum.load(), 200);
  });
}

TEST_P(Pipelines, FirstException_ComesOut) {
  run([](World&) {
    for (const bool in_source : {false, true}) {
      int last = 0;
      const auto run_it = [&] {
        shoal::pipeline(
            {},
            [&, source = numbers_to(100'000)]() mutable {
              if (in_source && last++ == 50) throw std::runtime_error("source");
              return source();
            },
            shoal::serial_in_order([&](int i) {
              if (!in_source && i == 70) throw std::runtime_error("stage");
              EXPECT_LT(i, 71);
            }));
      };
      EXPECT_THROW(run_it(), std::runtime_error);
    }
  });
}

TEST_P(Pipelines, OfACancelledGroup_End) {
  run([](World&) {
    std::string text;
    shoal::TaskGroup group;
    group.spawn([&] {
      try {
        shoal::pipeline({.name = "lines"}, numbers_to(100'000), shoal::parallel([&](int i) {
                          if (i == 10) group.cancel();
                        }));
      } catch (const CancelledError& error) {
        text = error.what();
      }
    });
    group.wait();
    EXPECT_EQ(text, "lines: the task group of its caller was cancelled");
  });
}

TEST(PipelinesInOrders, StagesOfAllKinds) {
  in_many_orders([](World&) { check_stages(3, 15); });
}

TEST(PipelinesRefused, WithoutATokenOrAWorker) {
  EXPECT_EQ(run_world(1, 1,
                      [](World&) {
                        try {
                          shoal::pipeline({.tokens = 0}, numbers_to(3),
                                          shoal::parallel([](int) {}));
                          ADD_FAILURE();
                        } catch (const CheckError& error) {
                          EXPECT_THAT(error.what(), HasSubstr("'pipeline' with 0 tokens"));
                        }
                      }),
            0);
  try {
    shoal::pipeline({}, numbers_to(3), shoal::parallel([](int) {}));
    ADD_FAILURE();
  } catch (const CheckError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("pipeline() was made or used on a thread "),
                                             HasSubstr("runtime.async([&] { ... }).get()")));
  }
}

}  // namespace loops_pipeline_test

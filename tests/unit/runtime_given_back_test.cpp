// Objects of a world give their memory back when they end, not when the world ends.

#include <shoal/shoal.hpp>

#include "support/heap_meter.hpp"
#include "support/run_world.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>

namespace runtime_given_back_test {

using namespace std::chrono_literals;

using shoal::Events;
using shoal::World;
using shoal::testing::HeapMeter;
using shoal::testing::run_world;

constexpr std::size_t kCalls = 1000;

/// Bytes that each call leaves behind, beyond those of the first ones. `meet`: called between.
double bytes_of_each(const std::function<void()>& call, const std::function<void()>& meet) {
  for (std::size_t i = 0; i < kCalls; ++i) call();
  meet();
  HeapMeter::reset();
  meet();
  for (std::size_t i = 0; i < kCalls; ++i) call();
  meet();
  const double bytes = static_cast<double>(HeapMeter::kept_bytes()) / kCalls;
  meet();
  return bytes;
}
double bytes_of_each(const std::function<void()>& call) {
  return bytes_of_each(call, [] {});
}

class GivenBack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HeapMeter::counts) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  }
  void run_one(const std::function<void(World&)>& program) {
    EXPECT_EQ(run_world(1, 1, program), 0);
  }
};

TEST_F(GivenBack, CancelledTimers_WhileTheWorkerIsBusy) {
  run_one([](World& world) {
    Events events(world);
    world.spawn([&] {
      const auto set_and_cancel = [&] {
        EXPECT_TRUE(events.cancel(events.fire_after(24h, shoal::self, "never")));
      };
      EXPECT_LT(bytes_of_each(set_and_cancel), 1);
    });
    world.wait();
  });
}

TEST_F(GivenBack, CancelledDescriptors_WhileTheWorkerIsBusy) {
  run_one([](World& world) {
    Events events(world);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    world.spawn([&] {
      const auto watch_and_cancel = [&] {
        EXPECT_TRUE(events.cancel(events.fire_when_readable(ends[0], shoal::self, "never")));
      };
      EXPECT_LT(bytes_of_each(watch_and_cancel), 1);
    });
    world.wait();
    for (const int end : ends) close(end);
  });
}

void make_flow(World& world, const shoal::FlowOptions& options) {
  shoal::Flow flow(world, "sums", options);
  const auto sum = flow.data(0L, {.name = "sum"});
  flow.insert([](long& value) { ++value; }, read_write(sum));
  EXPECT_EQ(flow.get(sum), 1);
}

// All of it was the entries of their message handlers.
TEST_F(GivenBack, FlowsThatHaveEnded) {
  for (const int ranks : {1, 2}) {
    for (const bool pruned : {false, true}) {
      run_world(ranks, 1, [=](World& world) {
        const double bytes =
            bytes_of_each([&] { make_flow(world, {.pruned = pruned}); }, [&] { world.wait(); });
        EXPECT_LT(bytes / ranks, 1) << ranks << " ranks, pruned: " << pruned;
      });
    }
  }
}

}  // namespace runtime_given_back_test

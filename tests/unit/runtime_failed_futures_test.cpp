// Futures of tasks that a failed team drops or cancels: a task outside that waits gets the failure.

#include <shoal/shoal.hpp>

#include "support/object_worlds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace runtime_failed_futures_test {

using shoal::Future;
using shoal::Promise;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 60;

/// Calls `make(team)`, lets the team fail, and waits for the future outside of the team.
void expect_failure(const std::function<Future<int>(Team&)>& make) {
  shoal::testing::in_object_worlds(
      2,
      [&](World& world) {
        Team team(world, {Rank(1), Rank(0)}, "crew");
        if (team.rank() == 1) {
          team.spawn([] { throw std::runtime_error("man overboard"); }, {.name = "sailor"});
        }
        Future<int> future = make(team);
        try {
          static_cast<void>(future.get());
        } catch (const shoal::TaskError& error) {
          EXPECT_THAT(error.what(), HasSubstr("man overboard"));
        }
        EXPECT_THROW(team.wait(), shoal::TaskError);
      },
      kSeeds);
}

TEST(FailedFutures, OfATaskThatIsDropped) {
  expect_failure([](Team& team) { return team.async([] { return 1; }); });
}

TEST(FailedFutures, OfATaskThatWaits) {
  expect_failure([](Team& team) {
    return team.async([] {
      Promise<int> never;
      return never.future().get();
    });
  });
}

TEST(FailedFutures, OfAContinuation) {
  expect_failure([](Team& team) {
    return team
        .async([] {
          for (int i = 0; i < 10; ++i) shoal::yield();
          return 1;
        })
        .then([](int one) { return one + 1; });
  });
}

TEST(FailedFutures, OfACoroutine) {
  expect_failure([](Team& team) {
    return team.async([&team] {
      const auto adds = [](Team& there) -> Future<int> {
        const int one = co_await there.async([] { return 1; });
        co_return one + co_await there.async([] { return 2; });
      };
      return adds(team).get();
    });
  });
}

TEST(FailedFutures, OfAPromiseThatATaskKeeps) {
  expect_failure([](Team& team) {
    Promise<int> promise(team, "catch of the day");
    Future<int> future = promise.future();
    team.spawn([promise = std::move(promise)]() mutable { promise.set_value(3); });
    return future;
  });
}

}  // namespace runtime_failed_futures_test

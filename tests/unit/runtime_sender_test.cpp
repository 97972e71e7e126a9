// Teams as schedulers and futures as senders, with receivers of this test.

#include <shoal/sender.hpp>
#include <shoal/shoal.hpp>

#include "support/failed_runs.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace runtime_sender_test {

using shoal::Team;
using shoal::World;
using shoal::testing::expect_well;
namespace ex = shoal::execution;

/// How an operation has ended: of one completion.
struct Seen {
  explicit Seen(Team& team) : latch(team, 1, "a completion") {}
  shoal::Latch latch;
  std::string text;

  void tell(std::string what) {
    text += what;
    latch.count_down();
  }
};

struct StopEnv {
  std::stop_token token;
  [[nodiscard]] std::stop_token query(ex::get_stop_token_t) const noexcept { return token; }
};

struct Receiver {
  using receiver_concept = ex::receiver_t;
  Seen* seen;
  std::stop_token token{};

  void set_value() && noexcept { seen->tell("done"); }
  void set_value(int&& value) && noexcept { seen->tell(std::to_string(value)); }
  void set_value(std::unique_ptr<int>&& value) && noexcept { seen->tell(std::to_string(*value)); }
  void set_error(std::exception_ptr error) && noexcept {
    EXPECT_TRUE(std::current_exception() == nullptr) << "the sender still handles it";
    seen->tell(shoal::describe(error));
  }
  void set_stopped() && noexcept { seen->tell("stopped"); }
  [[nodiscard]] StopEnv get_env() const noexcept { return {token}; }
};

/// Runs a sender; the text of its completion.
template <class Sender>
std::string completion_of(Team& team, Sender sender, std::stop_token token = {}) {
  Seen seen(team);
  auto operation = std::move(sender).connect(Receiver{&seen, std::move(token)});
  static_assert(noexcept(operation.start()));
  operation.start();
  seen.latch.wait();
  return seen.text;
}

static_assert(std::is_same_v<shoal::ScheduleSender::sender_concept, ex::sender_t>);
static_assert(std::is_same_v<shoal::TeamScheduler::scheduler_concept, ex::scheduler_t>);
static_assert(std::is_copy_constructible_v<shoal::TeamScheduler>);

TEST(Senders, AScheduler_CompletesInATask) {
  expect_well([](World& world) {
    const shoal::TeamScheduler scheduler(world);
    EXPECT_EQ(completion_of(world, scheduler.schedule()), "done");
    EXPECT_EQ(
        scheduler.schedule().get_env().query(ex::get_completion_scheduler_t<ex::set_value_t>()),
        scheduler);
  });
}

TEST(Senders, OfFutures_HaveTheirValueOrError) {
  expect_well([](World& world) {
    EXPECT_EQ(completion_of(world, shoal::as_sender(world.async([] { return 7; }))), "7");
    EXPECT_EQ(completion_of(world, shoal::as_sender(world.async([] {}))), "done");
    EXPECT_EQ(completion_of(world, shoal::as_sender(world.async([] {
                              shoal::sleep_for(std::chrono::microseconds(50));
                              return std::make_unique<int>(8);
                            }))),
              "8");
    EXPECT_EQ(completion_of(world, shoal::as_sender(world.async(
                                       []() -> int { throw std::runtime_error("bad apple"); }))),
              "bad apple");
  });
}

TEST(Senders, AStopToken_StopsWhatHasNotBegun) {
  expect_well([](World& world) {
    std::stop_source source;
    source.request_stop();
    const auto token = source.get_token();
    EXPECT_EQ(completion_of(world, shoal::TeamScheduler(world).schedule(), token), "stopped");
    EXPECT_EQ(completion_of(world, shoal::as_sender(world.async([] { return 1; })), token),
              "stopped");
  });
}

TEST(Senders, ACancelledTeam_StopsThem) {
  expect_well([](World& world) {
    Seen scheduled(world);
    Seen future(world);
    {
      Team team(world, {shoal::Rank(0), shoal::Rank(1)}, "solver");
      shoal::Promise<int> promise(team);
      auto of_future = shoal::as_sender(promise.future()).connect(Receiver{&future});
      auto of_schedule = shoal::TeamScheduler(team).schedule().connect(Receiver{&scheduled});
      team.async([&] { of_future.start(); }).get();
      world.barrier();
      if (team.rank() == 0) team.cancel("enough");
      while (!team.is_cancelled()) shoal::yield();
      of_schedule.start();
      EXPECT_THROW(team.wait(), shoal::TaskError);
      scheduled.latch.wait();
      future.latch.wait();
    }
    EXPECT_EQ(scheduled.text, "stopped");
    EXPECT_EQ(future.text, "stopped");
  });
}

}  // namespace runtime_sender_test

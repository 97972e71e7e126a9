#include <shoal/detail/env/env.hpp>

#include <gtest/gtest.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/turn_env.hpp"

namespace env_env_test {

using shoal::env::Env;
using shoal::env::make_thread_env;
using shoal::env::Parker;
using shoal::env::Steppable;
using shoal::env::StepResult;
using shoal::testing::make_turn_env;

/// Steps that a test writes as a function.
class Steps final : public Steppable {
 public:
  explicit Steps(std::function<StepResult()> step) : step_(std::move(step)) {}
  StepResult step() override {
    ++step_count_;
    return step_();
  }
  void run() override {
    thread_ = std::this_thread::get_id();
    while (step() != StepResult::stopped) {
    }
  }
  [[nodiscard]] std::string name() const override { return "steps"; }
  [[nodiscard]] int step_count() const { return step_count_; }
  [[nodiscard]] std::thread::id thread() const { return thread_; }

 private:
  std::function<StepResult()> step_;
  int step_count_ = 0;
  std::thread::id thread_;
};

// --- threads

TEST(ThreadEnv, AnUnparkBeforeThePark_IsNotLost) {
  const auto env = make_thread_env();
  const auto parker = env->make_parker();
  for (int i = 0; i < 1000; ++i) {
    parker->unpark();
    parker->park(0);
  }
}

TEST(ThreadEnv, ThreadsItMakes_AreCalledByTheName) {
  const auto name_of_this = [] {
    std::string name(16, '\0');
    pthread_getname_np(pthread_self(), name.data(), name.size());
    return name.substr(0, name.find('\0'));
  };
  const std::string own = name_of_this();
  std::string first;
  std::string second;
  Steps one([&] {
    first = name_of_this();
    return StepResult::stopped;
  });
  Steps two([&] {
    second = name_of_this();
    return StepResult::stopped;
  });
  make_thread_env()->drive({&one, &two});
  EXPECT_EQ(first, own);  // the process is called by it
  EXPECT_EQ(second, "steps");
}

TEST(ThreadEnv, SeveralUnparks_EndOnePark) {
  const auto env = make_thread_env();
  const auto parker = env->make_parker();
  parker->unpark();
  parker->unpark();
  parker->park(0);
  const std::uint64_t before_ns = env->now_ns();
  parker->park(1'000'000);  // nothing is left to end it early
  EXPECT_GE(env->now_ns() - before_ns, 1'000'000U);
}

TEST(ThreadEnv, AParkWithTheLongestTimeouts_LastsUntilTheUnpark) {
  const auto env = make_thread_env();
  const auto parker = env->make_parker();
  for (const std::uint64_t timeout_ns : {~std::uint64_t{0}, ~std::uint64_t{0} >> 1U}) {
    std::atomic<bool> unparked{false};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // to see a park() that returns
      unparked = true;
      parker->unpark();
    });
    parker->park(timeout_ns);
    EXPECT_TRUE(unparked) << timeout_ns;
    other.join();
  }
}

TEST(ThreadEnv, AParkWithATimeout_Returns) {
  const auto env = make_thread_env();
  const auto parker = env->make_parker();
  const std::uint64_t before_ns = env->now_ns();
  for (int i = 0; i < 10; ++i) parker->park(100'000);
  EXPECT_GE(env->now_ns() - before_ns, 1'000'000U);
  parker->unpark();
  parker->park(0);
}

TEST(ThreadEnv, AParkedThread_IsWokenByAnother) {
  const auto env = make_thread_env();
  const auto there = env->make_parker();
  const auto here = env->make_parker();
  int ball = 0;  // plain memory: a wake-up orders what was done before it
  constexpr int kRounds = 1000;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      there->park(0);
      ++ball;
      here->unpark();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ++ball;
    there->unpark();
    here->park(0);
    EXPECT_EQ(ball, 2 * (i + 1));
  }
  other.join();
}

TEST(ThreadEnv, AParkerMayGo_AsSoonAsItsOwnerWasWoken) {
  const auto env = make_thread_env();
  for (int i = 0; i < 1000; ++i) {
    auto parker = env->make_parker();
    std::thread waker([raw = parker.get()] { raw->unpark(); });
    parker->park(0);
    parker.reset();
    waker.join();
  }
}

TEST(ThreadEnv, DrivesEachOnItsOwnThread_AndTheFirstOnTheCallers) {
  const auto env = make_thread_env();
  std::atomic<int> started{0};
  const auto meet = [&started] {
    ++started;
    while (started < 5) std::this_thread::yield();  // passes only if all run at the same time
    return StepResult::stopped;
  };
  std::vector<Steps> steps(5, Steps(meet));
  std::vector<Steppable*> all;
  for (Steps& one : steps) all.push_back(&one);
  env->drive(all);
  std::set<std::thread::id> threads;
  for (const Steps& one : steps) threads.insert(one.thread());
  EXPECT_EQ(threads.size(), 5U);
  EXPECT_EQ(steps.front().thread(), std::this_thread::get_id());
}

TEST(ThreadEnv, WithNothingToDrive_Returns) { make_thread_env()->drive({}); }

TEST(ThreadEnv, Time_NeverRunsBackwards) {
  const auto env = make_thread_env();
  std::uint64_t last_ns = env->now_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t now_ns = env->now_ns();
    EXPECT_GE(now_ns, last_ns);
    last_ns = now_ns;
  }
}

TEST(ThreadEnv, Seeds_Differ) {
  const auto env = make_thread_env();
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 10; ++i) seeds.insert(env->random_seed());
  EXPECT_EQ(seeds.size(), 10U);
}

// --- turns

/// The order in which three steppables of 20 steps each were driven.
std::string order_of(std::uint64_t seed) {
  const auto env = make_turn_env(seed);
  std::string order;
  std::vector<Steps> steps;
  std::vector<int> left(3, 20);
  for (std::size_t i = 0; i < 3; ++i) {
    steps.emplace_back([&order, &left, i] {
      order += static_cast<char>('a' + i);
      return --left[i] == 0 ? StepResult::stopped : StepResult::worked;
    });
  }
  env->drive({&steps[0], &steps[1], &steps[2]});
  return order;
}

TEST(TurnEnv, DrivesUntilEachHasStopped_AndThenNoMore) {
  const std::string order = order_of(1);
  EXPECT_EQ(order.size(), 60U);
  for (const char one : {'a', 'b', 'c'}) EXPECT_EQ(std::count(order.begin(), order.end(), one), 20);
}

TEST(TurnEnv, TheSeed_DecidesTheOrder) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(order_of(seed), order_of(seed));
    orders.insert(order_of(seed));
  }
  EXPECT_EQ(orders.size(), 50U);
}

TEST(TurnEnv, Time_AdvancesByAMicrosecondPerStep) {
  const auto env = make_turn_env(1);
  std::vector<std::uint64_t> times;
  Steps steps([&] {
    times.push_back(env->now_ns());
    return times.size() == 5 ? StepResult::stopped : StepResult::worked;
  });
  env->drive({&steps});
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], 1000U);
}

TEST(TurnEnv, WhenAllAreIdleForLong_ThrowsNoProgress) {
  const auto env = make_turn_env(1);
  Steps idle([] { return StepResult::idle; });
  Steps idle_too([] { return StepResult::idle; });
  EXPECT_THROW(env->drive({&idle, &idle_too}), shoal::env::NoProgress);
  EXPECT_GT(idle.step_count(), 5000);  // timers of milliseconds had their chance
}

TEST(TurnEnv, WhileSomeoneWorks_LetsTheOthersIdle) {
  const auto env = make_turn_env(1);
  int left = 50'000;
  Steps busy([&left] { return --left == 0 ? StepResult::stopped : StepResult::worked; });
  Steps idle([&left] { return left <= 0 ? StepResult::stopped : StepResult::idle; });
  env->drive({&busy, &idle});
  EXPECT_EQ(left, 0);
}

TEST(TurnEnv, ParkingReturnsAtOnce) {
  const auto env = make_turn_env(1);
  const auto parker = env->make_parker();
  parker->park(0);
  parker->unpark();
}

TEST(TurnEnv, SeedsOfOneSeed_AreTheSame) {
  const auto first = make_turn_env(7);
  const auto second = make_turn_env(7);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first->random_seed(), second->random_seed());
}

}  // namespace env_env_test

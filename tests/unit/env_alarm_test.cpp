
#include "env/alarm.hpp"
#include "support/signals.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <vector>

namespace env_alarm_test {

using shoal::env::Alarm;
using shoal::env::AlarmOnSignal;
using shoal::env::Thread;
using shoal::testing::handler_of;

constexpr std::uint64_t kForever = ~std::uint64_t{0};

void own_handler(int) {}

TEST(Alarm, RungBefore_WaitReturnsAtOnceAndOnce) {
  Alarm alarm;
  alarm.ring();
  alarm.ring();
  EXPECT_TRUE(alarm.wait(kForever).by_thread);
  const Alarm::Rung second = alarm.wait(1);
  EXPECT_FALSE(second.by_thread);
  EXPECT_FALSE(second.by_signal);
}

TEST(Alarm, RungByAnotherThread_EndsTheWait) {
  Alarm alarm;
  const Thread thread("ringer", [&] { alarm.ring(); });
  EXPECT_TRUE(alarm.wait(kForever).by_thread);
}

TEST(Alarm, Signal_IsToldFromAThread) {
  Alarm alarm;
  const AlarmOnSignal on_signal(SIGUSR1, alarm);
  ASSERT_TRUE(on_signal.is_set());
  raise(SIGUSR1);
  const Alarm::Rung rung = alarm.wait(kForever);
  EXPECT_TRUE(rung.by_signal);
  EXPECT_FALSE(rung.by_thread);
}

TEST(Alarm, SeveralForOneSignal_AllRing) {
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<std::unique_ptr<AlarmOnSignal>> signals;
  for (int i = 0; i < 16; ++i) {
    alarms.push_back(std::make_unique<Alarm>());
    signals.push_back(std::make_unique<AlarmOnSignal>(SIGUSR1, *alarms.back()));
    EXPECT_TRUE(signals.back()->is_set());
  }
  raise(SIGUSR1);
  for (const auto& alarm : alarms) EXPECT_TRUE(alarm->wait(kForever).by_signal);
  signals.erase(signals.begin(), signals.begin() + 15);
  EXPECT_NE(handler_of(SIGUSR1), SIG_DFL);
  raise(SIGUSR1);
  EXPECT_TRUE(alarms.back()->wait(kForever).by_signal);
  EXPECT_FALSE(alarms.front()->wait(1).by_signal);
  signals.clear();
  EXPECT_EQ(handler_of(SIGUSR1), SIG_DFL);
}

TEST(Alarm, SignalThatTheProgramHandlesOrIgnores_IsLeftAlone) {
  for (auto* const chosen : {&own_handler, SIG_IGN}) {
    signal(SIGUSR1, chosen);
    {
      Alarm alarm;
      const AlarmOnSignal on_signal(SIGUSR1, alarm);
      EXPECT_FALSE(on_signal.is_set());
      EXPECT_EQ(handler_of(SIGUSR1), chosen);
    }
    EXPECT_EQ(handler_of(SIGUSR1), chosen);
  }
  signal(SIGUSR1, SIG_DFL);
}

TEST(Alarm, HandlerThatTheProgramSetsMeanwhile_Stays) {
  Alarm alarm;
  {
    const AlarmOnSignal on_signal(SIGUSR1, alarm);
    signal(SIGUSR1, own_handler);
  }
  EXPECT_EQ(handler_of(SIGUSR1), &own_handler);
  signal(SIGUSR1, SIG_DFL);
}

TEST(Alarm, SignalThatNobodyCanCatch_IsNotSet) {
  Alarm alarm;
  for (const int number : {SIGKILL, SIGSTOP}) {
    const AlarmOnSignal on_signal(number, alarm);
    EXPECT_FALSE(on_signal.is_set());
  }
}

// Alarms come and go while signals arrive on another thread. The outermost one keeps the handler.
TEST(Alarm, SignalsWhileAlarmsEnd_ReachNobodyElse) {
  Alarm outer;
  const AlarmOnSignal on_signal(SIGUSR1, outer);
  std::atomic<bool> stop{false};
  const Thread sender("sender", [&] {
    while (!stop.load()) raise(SIGUSR1);
  });
  for (int i = 0; i < 1000; ++i) {
    Alarm alarm;
    const AlarmOnSignal inner(SIGUSR1, alarm);
    EXPECT_TRUE(inner.is_set());
  }
  stop = true;
}

}  // namespace env_alarm_test

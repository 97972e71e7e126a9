// Plans of faults: what is read, what is refused, and how often each strikes.

#include "sim/faults.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace sim_faults_test {

using shoal::ConfigError;
using shoal::sim::describe;
using shoal::sim::Fault;
using shoal::sim::FaultKind;
using shoal::sim::Faults;
using shoal::sim::parse_fault_plan;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(FaultPlan, SaysWhatGoesWrong) {
  const std::vector<Fault> plan = parse_fault_plan(
      "delay:p=0.25,by=50us;drop:n=7,from=1,to=2;clog:from=0,to=3,at=1ms,for=2ms;"
      "pause:rank=2,at=1us,for=1s;die:rank=1,at=0s");
  std::vector<std::string> texts;
  for (const Fault& fault : plan) texts.push_back(describe(fault));
  EXPECT_THAT(texts,
              testing::ElementsAre("delay:p=0.25,by=50000ns", "drop:n=7,from=1,to=2",
                                   "clog:from=0,to=3,at=1000000ns,for=2000000ns",
                                   "pause:rank=2,at=1000ns,for=1000000000ns", "die:rank=1,at=0ns"));
}

TEST(FaultPlan, ThatIsEmpty_HasNoFaults) { EXPECT_TRUE(parse_fault_plan("").empty()); }

TEST(FaultPlan, OfAFile_HasOneFaultPerLine) {
  const std::string path = testing::TempDir() + "shoal_faults.txt";
  std::ofstream(path) << "# two of them\n\n drop: p=0.5  # every other one\npause:rank=1,at=1us,"
                         "for=2us\n";
  EXPECT_EQ(parse_fault_plan("@" + path).size(), 2U);
  EXPECT_THAT([] { parse_fault_plan("@/nonexistent"); },
              ThrowsMessage<ConfigError>(HasSubstr("/nonexistent")));
}

TEST(FaultPlan, ThatIsWrong_IsRefusedWithWhatIsAllowed) {
  const auto refused = [](const std::string& plan, const std::string& why) {
    EXPECT_THAT([&] { parse_fault_plan(plan); }, ThrowsMessage<ConfigError>(HasSubstr(why)))
        << plan;
  };
  refused("explode:p=1", "'explode' is unknown; allowed: delay, reorder, duplicate, drop, corrupt");
  refused("drop", "'' does not belong there; allowed: drop with p and perhaps from to");
  refused("drop:from=1", "p is missing");
  refused("drop:p=1.5", "p=1.5; allowed: a probability from 0 to 1");
  refused("drop:p=-1", "p=-1");
  refused("drop:p=0.1,n=3", "'p' comes twice");
  refused("drop:n=1.5", "a whole number");
  refused("drop:p=0.1,by=1us", "'by=1us' does not belong there");
  refused("delay:p=1", "by is missing");
  refused("delay:p=1,by=3", "a time with its unit");
  refused("pause:rank=x,at=1us,for=1us", "rank=x");
  refused("drop:p=1;;drop:p=1", "'' is unknown");
}

TEST(FaultPlan, ForARankThatIsNotThere_IsRefused) {
  for (const char* plan : {"die:rank=4,at=1us", "drop:p=1,to=4", "drop:p=1,from=9"}) {
    EXPECT_THAT([&] { Faults(parse_fault_plan(plan), 1, 4); },
                ThrowsMessage<ConfigError>(HasSubstr("the world has ranks 0 to 3")));
  }
}

TEST(Faults, StrikeAsOftenAsTheirProbabilitySays) {
  Faults faults(parse_fault_plan("drop:p=0.25,from=1"), 7, 4);
  int dropped = 0;
  for (int i = 0; i < 4000; ++i) {
    dropped += faults.draw(1, 2, i % 2 == 0).drop ? 1 : 0;
    EXPECT_FALSE(faults.draw(2, 1, false).any());
  }
  EXPECT_NEAR(dropped, 1000, 150);
}

TEST(Faults, WithANumber_StrikeOnce) {
  Faults faults(parse_fault_plan("corrupt:n=2,to=0"), 1, 2);
  std::vector<bool> struck;
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(faults.draw(0, 1, false));
    struck.push_back(faults.draw(1, 0, false).corrupt);
  }
  EXPECT_EQ(struck, (std::vector<bool>{false, false, true, false}));
}

TEST(Faults, ThatAreAboutOrder_LeavePayloadsAlone) {
  Faults faults(parse_fault_plan("reorder:p=1;duplicate:p=1"), 1, 2);
  EXPECT_FALSE(faults.draw(0, 1, true).any());
  EXPECT_TRUE(faults.draw(0, 1, false).duplicate);
}

TEST(Faults, Clog_HoldsBackForItsTime) {
  const Faults faults(parse_fault_plan("clog:from=0,to=1,at=10ns,for=5ns"), 1, 2);
  EXPECT_EQ(faults.clogged_until(0, 1, 9), 9U);
  EXPECT_EQ(faults.clogged_until(0, 1, 10), 15U);
  EXPECT_EQ(faults.clogged_until(0, 1, 14), 15U);
  EXPECT_EQ(faults.clogged_until(0, 1, 15), 15U);
  EXPECT_EQ(faults.clogged_until(1, 0, 12), 12U);
  const Faults two(
      parse_fault_plan("clog:from=0,to=1,at=10ns,for=5ns;clog:from=0,to=1,at=0s,for=11ns"), 1, 2);
  EXPECT_EQ(two.clogged_until(0, 1, 5), 15U);
}

}  // namespace sim_faults_test

// Costs of the simulated network, and their spelling.

#include "sim/net_model.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sim_net_model_test {

using shoal::sim::LogGP;
using shoal::sim::parse_net_model;
using testing::AllOf;
using testing::HasSubstr;

TEST(NetModel, Zero_CostsNothing) {
  const LogGP model = parse_net_model("zero");
  EXPECT_EQ(model.busy_ns(1'000'000), 0U);
  EXPECT_EQ(model.travel_ns(), 0U);
}

TEST(NetModel, Fixed_IsLatencyAndBandwidth) {
  const LogGP model = parse_net_model("fixed:2us,1G");
  EXPECT_EQ(model.travel_ns(), 2000U);
  EXPECT_EQ(model.busy_ns(1ULL << 30), 1'000'000'000U);
}

TEST(NetModel, LogGP_KeepsTheInterfaceBusyForTheLongerOfGapAndBytes) {
  const LogGP model = parse_net_model("loggp:1us,300ns,200ns,100ps,8K");
  EXPECT_EQ(model.travel_ns(), 1300U);
  EXPECT_EQ(model.busy_ns(8), 500U);
  EXPECT_EQ(model.busy_ns(10'000), 1300U);
  EXPECT_EQ(model.eager_bytes, 8192U);
}

TEST(NetModel, BadText_IsRefusedWithWhatIsAllowed) {
  for (const char* text :
       {"", "none", "zero:1us", "fixed", "fixed:1us", "fixed:1,10G", "fixed:1us,10X", "fixed:1us,0",
        "fixed:-1us,1G", "fixed:1us,,1G", "loggp:1us,1us,1us,1ns", "fixed:nanus,1G"}) {
    try {
      parse_net_model(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const shoal::ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(text), HasSubstr("fixed:LATENCY,BANDWIDTH")));
    }
  }
}

}  // namespace sim_net_model_test

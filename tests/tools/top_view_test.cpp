// Lines and JSON of shoal-top.

#include "top/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

namespace top_view_test {

using namespace shoal::top;  // NOLINT(google-build-using-namespace): what is tested
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kWide = std::numeric_limits<std::size_t>::max();

Row row_of(int rank, double busy, std::uint64_t ready) {
  Row row;
  row.job = "7";
  row.program = "solver";
  row.world_size = 3;
  row.rank = rank;
  Sample sample;
  sample.rank.rank = rank;
  sample.rank.pid = 100 + rank;
  sample.rank.host = Text<64>("node1");
  sample.rank.busy = busy;
  sample.rank.ready = ready;
  sample.rank.tasks_per_s = 12'345;
  sample.rank.in_flight_bytes = 50;
  sample.rank.window_bytes = 100;
  sample.rank.waiting_senders = rank;
  sample.workers = {{WorkerState::task, Text<31>("gemm")}, {WorkerState::asleep, {}}};
  row.sample = sample;
  return row;
}

std::vector<std::string> starts_of(const std::vector<std::string>& lines) {
  std::vector<std::string> starts;
  for (std::size_t i = 2; i < lines.size(); ++i) starts.push_back(lines[i].substr(0, 6));
  return starts;
}

TEST(TopView, NothingRuns_SaysSo) {
  Overview overview;
  EXPECT_THAT(lines_of(overview, Order::rank, kWide),
              ElementsAre("no program of yours that uses shoal runs on this host"));
  overview.process = 4711;
  overview.other_versions = 2;
  EXPECT_THAT(lines_of(overview, Order::rank, kWide),
              ElementsAre("process 4711 is no running program of yours that uses shoal",
                          "not shown: 2 with another version of shoal"));
  const auto json = nlohmann::json::parse(json_of(overview));
  EXPECT_TRUE(json.at("ranks").empty());
  EXPECT_EQ(json.at("other_versions"), 2);
}

TEST(TopView, Ranks_HaveALineEachInTheOrderAskedFor) {
  Overview overview;
  overview.rows = {row_of(0, 0.2, 5), row_of(1, 0.9, 1), row_of(2, 0.5, 9)};
  const auto lines = lines_of(overview, Order::rank, kWide);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "solver  (job 7, 3 ranks)");
  EXPECT_THAT(lines[1], StartsWith("  RANK      PID HOST"));
  for (const char* part : {"T.", "##--------  20%", "12.3k", "#####-----  50%", " gemm"}) {
    EXPECT_THAT(lines[2], HasSubstr(part));
  }
  EXPECT_THAT(lines[4], HasSubstr("gemm [2 wait to send]"));
  EXPECT_THAT(starts_of(lines), ElementsAre("     0", "     1", "     2"));
  EXPECT_THAT(starts_of(lines_of(overview, Order::busy, kWide)),
              ElementsAre("     1", "     2", "     0"));
  EXPECT_THAT(starts_of(lines_of(overview, Order::ready, kWide)),
              ElementsAre("     2", "     0", "     1"));
  for (const std::string& line : lines_of(overview, Order::rank, 20)) EXPECT_LE(line.size(), 20U);
}

TEST(TopView, OldAndMissingFigures_AreTold) {
  Overview overview;
  overview.rows = {row_of(0, 0, 0), row_of(1, 0, 0)};
  overview.rows[0].age_ns = 5'200'000'000;
  overview.rows[1].sample.reset();
  const auto lines = lines_of(overview, Order::rank, kWide);
  EXPECT_THAT(lines[2], HasSubstr("[no news for 5 s]"));
  EXPECT_THAT(lines[3], HasSubstr("1  has not reported yet"));
  const auto json = nlohmann::json::parse(json_of(overview));
  EXPECT_TRUE(json.at("ranks").at(0).at("known").get<bool>());
  EXPECT_FALSE(json.at("ranks").at(1).at("known").get<bool>());
  EXPECT_EQ(json.at("ranks").at(0).at("workers").at(0).at("task"), "gemm");
  EXPECT_EQ(json.at("ranks").at(0).at("workers").at(1).at("state"), "asleep");
}

TEST(TopView, BarsAndNumbers_AreShort) {
  EXPECT_EQ(bar(0, 4), "----");
  EXPECT_EQ(bar(0.5, 4), "##--");
  EXPECT_EQ(bar(7, 4), "####");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(1000), "1.0k");
  EXPECT_EQ(short_number(123'456), "123k");
  EXPECT_EQ(short_number(2.5e9), "2.5G");
}

}  // namespace top_view_test

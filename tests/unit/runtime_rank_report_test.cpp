// The text of a report: what is said once, what is left out, how it stays short.

#include "runtime/rank_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace runtime_rank_report_test {

using shoal::runtime::merge_parts;
using shoal::runtime::RankPart;
using shoal::runtime::show_ranks;
using shoal::runtime::show_time;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RankPart part_of(int rank, const std::string& title, const std::vector<std::string>& lines = {}) {
  RankPart part;
  part.rank = rank;
  part.title = title;
  part.age = " for 1.0 s";
  part.lines = lines;
  part.created = 2;
  part.finished = 1;
  part.queued = 10;
  part.processed = 9;
  return part;
}

TEST(RankReport, Ranks_AreShownAsRuns) {
  EXPECT_EQ(show_ranks({}), "");
  EXPECT_EQ(show_ranks({5}), "5");
  EXPECT_EQ(show_ranks({5, 6}), "5, 6");
  EXPECT_EQ(show_ranks({0, 1, 2, 4, 6, 7, 8, 9}), "0 to 2, 4, 6 to 9");
}

TEST(RankReport, Times_HaveOneDigitBehindThePoint) {
  EXPECT_EQ(show_time(0), "0.0 us");
  EXPECT_EQ(show_time(1'500), "1.5 us");
  EXPECT_EQ(show_time(12'345'678), "12.3 ms");
  EXPECT_EQ(show_time(30'100'000'000), "30.1 s");
}

TEST(RankReport, PartsInAnyOrder_StandInRankOrder) {
  EXPECT_EQ(merge_parts({part_of(2, "c", {"z"}), part_of(0, "a", {"x", "y"}), part_of(1, "b")}, {}),
            "  tasks: 6 created, 3 finished; messages: 30 sent, 27 handled\n"
            "  rank 0: a for 1.0 s\n"
            "    x\n"
            "    y\n"
            "  rank 2: c for 1.0 s\n"
            "    z\n"
            "  rank 1: b; nothing runs, waits or is queued there");
}

TEST(RankReport, AThousandRanksWithNothingToSay_ShareALine) {
  std::vector<RankPart> parts;
  for (int rank = 0; rank < 1024; ++rank) {
    parts.push_back(part_of(
        rank, "main function: in wait()",
        rank == 700 ? std::vector<std::string>{"the culprit"} : std::vector<std::string>{}));
  }
  const std::string text = merge_parts(parts, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("the culprit"), HasSubstr("ranks 0 to 699, 701 to 1023: ")));
}

TEST(RankReport, AThousandRanksWithMuchToSay_AreCutShort) {
  std::vector<RankPart> parts;
  for (int rank = 0; rank < 1024; ++rank) {
    parts.push_back(part_of(rank, "main function: running", {"line"}));
    parts.back().left_out = 7;
  }
  const std::string text = merge_parts(parts, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 64 * 3 + 1) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("and 7 more lines"),
                          HasSubstr("more of the same from ranks 64 to 1023")));
}

TEST(RankReport, RanksThatHaveNotCalledWhatOthersWaitIn_AreNamed) {
  using shoal::team::TeamCalls;
  const auto calls = [](std::uint64_t begun, TeamCalls::Wait wait) {
    TeamCalls one;
    one.team = 5;
    one.name = "team 'x'";
    one.begun = begun;
    one.wait = wait;
    one.members = {0, 1, 2, 3};
    return one;
  };
  const auto text_of = [](const std::vector<TeamCalls>& all, const std::vector<int>& missing) {
    std::vector<RankPart> parts;
    for (const TeamCalls& one : all) {
      parts.push_back(part_of(static_cast<int>(parts.size()), "a"));
      parts.back().teams = {one};
    }
    return merge_parts(parts, missing);
  };
  TeamCalls waits = calls(3, TeamCalls::Wait::none);
  waits.open = {{2, "barrier()"}, {3, "reduce()"}};
  TeamCalls waits_too = calls(2, TeamCalls::Wait::none);
  waits_too.open = {{2, "barrier()"}};
  const TeamCalls runs = calls(1, TeamCalls::Wait::none);
  EXPECT_THAT(text_of({waits, runs, waits_too}, {3}),
              HasSubstr("\n  barrier() of team 'x': called by ranks 0, 2, not by rank 1\n"));
  EXPECT_THAT(text_of({waits, runs, waits_too}, {3}), Not(HasSubstr("reduce()")));
  EXPECT_THAT(text_of({waits_too, waits, waits}, {}),  // rank 3 has not made the team
              HasSubstr("barrier() of team 'x': called by ranks 0 to 2, not by rank 3\n"));
  EXPECT_THAT(text_of({waits, waits, waits, waits_too}, {}),
              HasSubstr("reduce() of team 'x': called by ranks 0 to 2, not by rank 3\n"));
  EXPECT_THAT(text_of({waits, waits, waits, waits}, {}), Not(HasSubstr("called by")));

  const TeamCalls in_wait = calls(1, TeamCalls::Wait::in_wait);
  const TeamCalls at_end = calls(1, TeamCalls::Wait::at_end);
  const TeamCalls left = calls(1, TeamCalls::Wait::left);
  EXPECT_THAT(text_of({in_wait, runs, at_end}, {}),
              HasSubstr("wait() of team 'x': called by ranks 0, 2, not by ranks 1, 3\n"));
  EXPECT_THAT(text_of({at_end, runs, left}, {}),
              HasSubstr("the end of team 'x': reached by rank 0, not by rank 1\n"));
  TeamCalls goes_on = at_end;
  goes_on.epoch = 1;
  EXPECT_THAT(text_of({goes_on, runs}, {}), Not(HasSubstr("reached by")));
}

TEST(RankReport, RanksWithoutAnswer_AreNamed) {
  EXPECT_THAT(merge_parts({part_of(0, "a")}, {1, 2, 3}),
              HasSubstr("ranks 1 to 3 do not answer: their workers have not returned"));
  EXPECT_THAT(merge_parts({part_of(0, "a")}, {3}),
              HasSubstr("rank 3 does not answer: its workers"));
  EXPECT_THAT(merge_parts({part_of(0, "a")}, {}), Not(HasSubstr("answer")));
}

}  // namespace runtime_rank_report_test

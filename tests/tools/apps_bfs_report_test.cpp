// Reports of bfs: to the reader, in JSON, and by its exit code.

#include "bfs/report.hpp"

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace apps_bfs_report_test {

using bfs::Options;
using bfs::Results;
using bfs::RootResult;
using shoal::World;
using shoal::testing::run_world;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RootResult search_of(bfs::Vertex root, double seconds, const bfs::Reach& reach) {
  return {.root = root, .seconds = seconds, .reach = reach, .faults = ""};
}

/// 4, 1 and 2 traversed edges per second.
Results three_searches() {
  Results results;
  results.graph = "a graph";
  results.vertex_count = 100;
  results.edge_count = 300;
  results.searches = {
      search_of(5, 2, {.vertices = 6, .edges = 8, .depth = 3, .checksum = 1}),
      search_of(7, 4, {.vertices = 3, .edges = 4, .depth = 1, .checksum = 2}),
      search_of(9, 3, {.vertices = 5, .edges = 6, .depth = 2, .checksum = 4}),
  };
  return results;
}

Options options_of_test() {
  Options options;
  options.variant = "async";
  options.roots = 3;
  return options;
}

nlohmann::json json_of(const Results& results) {
  nlohmann::json json;
  const Options options = options_of_test();
  EXPECT_EQ(run_world(1, 1, [&](World& world) { json = bfs::to_json(world, options, results); }),
            0);
  return json;
}

std::string text_of(const Results& results, const Options& options = options_of_test()) {
  testing::internal::CaptureStdout();
  const int code = run_world(1, 1, [&](World& world) { bfs::print(world, options, results); });
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  return text;
}

TEST(BfsResults, WithoutFaults_AreGood) {
  const Results results = three_searches();
  EXPECT_TRUE(results.good());
  EXPECT_EQ(results.checksum(), 7U);
  EXPECT_THAT(text_of(results),
              AllOf(HasSubstr("all 3 are good"), Not(HasSubstr("WRONG")), HasSubstr("levels")));
}

TEST(BfsResults, WithAFault_AreNotGoodAndSayWhich) {
  for (const std::size_t wrong : {0U, 1U, 2U}) {
    Results results = three_searches();
    results.searches[wrong].faults = "2 vertices on a cycle";
    EXPECT_FALSE(results.good());
    const std::string root = std::to_string(results.searches[wrong].root);
    EXPECT_THAT(text_of(results),
                AllOf(testing::ContainsRegex("WRONG TREE +of root " + root + ": 2 vertices on a"),
                      Not(HasSubstr("are good"))));
    const nlohmann::json json = json_of(results);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(json["searches"][i]["faults"], i == wrong ? "2 vertices on a cycle" : "");
    }
  }
}

TEST(BfsResults, ThatWereNotChecked_AreNotCalledGood) {
  Options options = options_of_test();
  options.verify = false;
  EXPECT_THAT(text_of(three_searches(), options), Not(HasSubstr("are good")));
}

TEST(BfsResults, FromFewerRootsThanAskedFor_SaySo) {
  Options options = options_of_test();
  options.roots = 64;
  EXPECT_THAT(text_of(three_searches(), options), HasSubstr("3 instead of 64"));
}

TEST(BfsJson, OfASearch_HasItsNumbers) {
  const nlohmann::json json = json_of(three_searches());
  ASSERT_EQ(json["searches"].size(), 3U);
  const nlohmann::json& first = json["searches"][0];
  EXPECT_EQ(first["root"], 5);
  EXPECT_EQ(first["vertices"], 6);
  EXPECT_EQ(first["levels"], 4);
  EXPECT_EQ(first["edges"], 8);
  EXPECT_EQ(first["seconds"], 2.0);
  EXPECT_EQ(first["teps"], 4.0);
  EXPECT_EQ(json["searches"][1]["teps"], 1.0);
  EXPECT_EQ(json["searches"][2]["teps"], 2.0);
  EXPECT_EQ(json["checksum"], "0000000000000007");
}

void expect_statistics(const nlohmann::json& found, const nlohmann::json& expected) {
  EXPECT_EQ(found.size(), 7U);
  for (const auto& [name, value] : expected.items()) {
    EXPECT_DOUBLE_EQ(found.at(name).get<double>(), value.get<double>()) << name;
  }
}

// TEPS: the inverses are 1/4, 1 and 1/2, see apps_bfs_statistics_test.cpp.
TEST(BfsJson, Statistics_AreThoseComputedByHand) {
  const nlohmann::json json = json_of(three_searches());
  expect_statistics(json["seconds"], {{"min", 2},
                                      {"first_quartile", 2.5},
                                      {"median", 3},
                                      {"third_quartile", 3.5},
                                      {"max", 4},
                                      {"mean", 3},
                                      {"deviation", 1}});
  expect_statistics(json["nedge"], {{"min", 4},
                                    {"first_quartile", 5},
                                    {"median", 6},
                                    {"third_quartile", 7},
                                    {"max", 8},
                                    {"mean", 6},
                                    {"deviation", 2}});
  expect_statistics(json["teps"], {{"min", 1},
                                   {"first_quartile", 1.5},
                                   {"median", 2},
                                   {"third_quartile", 3},
                                   {"max", 4},
                                   {"mean", 12.0 / 7},
                                   {"deviation", std::sqrt(42.0) / 12 / 2 * (144.0 / 49)}});
}

}  // namespace apps_bfs_report_test

// The pipeline of insitu: its data, who reduces what, and when a run is called good.

#include "insitu/pipeline.hpp"

#include "insitu/field.hpp"
#include "insitu/options.hpp"
#include "insitu/summary.hpp"

#include "support/run_world.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace apps_insitu_pipeline_test {

using insitu::Diagnostics;
using insitu::Item;
using insitu::Options;
using insitu::Pipeline;
using insitu::Result;
using insitu::Roles;
using insitu::Summary;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;

// --- data

TEST(InsituField, Diagnostics_OfPartsMergeToThoseOfAll) {
  const std::vector<double> all{0.5, -1, 4, 0.25, 2};
  const Diagnostics expected{-1, 4, 5.75, 21.3125, 5};
  EXPECT_EQ(insitu::analyse(all), expected);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    const std::span<const double> values(all);
    EXPECT_EQ(merge(insitu::analyse(values.first(cut)), insitu::analyse(values.subspan(cut))),
              expected);
  }
}

TEST(InsituField, Order_HasEachItemOnceAndTimestepsInOrder) {
  std::set<std::vector<int>> orders;
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<Item> items = insitu::item_order(1, rank, 3, 5);
    ASSERT_EQ(items.size(), 15U);
    std::vector<int> order;
    for (int timestep = 0; timestep < 3; ++timestep) {
      std::set<int> fields;
      for (int i = 0; i < 5; ++i) {
        const Item& item = items[static_cast<std::size_t>(timestep * 5 + i)];
        EXPECT_EQ(item.timestep, timestep);
        fields.insert(item.field);
        order.push_back(item.field);
      }
      EXPECT_EQ(fields, (std::set<int>{0, 1, 2, 3, 4}));
    }
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 4U) << "ranks send in the same order";
}

// --- the pipeline

/// The results that each rank has reduced.
std::vector<std::vector<Result>> results_on(int ranks, const Options& options) {
  std::vector<std::vector<Result>> results(static_cast<std::size_t>(ranks));
  EXPECT_EQ(run_world(ranks, 2,
                      [&](World& world) {
                        Pipeline pipeline(world, options);
                        pipeline.run();
                        const auto items = static_cast<int>(pipeline.results().size());
                        EXPECT_EQ(pipeline.part_count(), items * Roles(ranks).compute_count());
                        results[static_cast<std::size_t>(world.rank().value())] =
                            pipeline.results();
                      }),
            0);
  return results;
}

TEST(InsituPipeline, EachAnalyticsRank_IsTheRootOfItsShare) {
  Options options;
  options.timesteps = 5;
  options.fields = 7;
  options.size = 3;
  options.pause_us = 10;
  for (const int ranks : {1, 2, 3, 4, 7, 10}) {
    const Roles roles(ranks);
    const auto results = results_on(ranks, options);
    std::set<std::pair<int, int>> items;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<Result>& own = results[static_cast<std::size_t>(rank)];
      if (!roles.analyses(Rank(rank))) {
        EXPECT_TRUE(own.empty()) << "rank " << rank << " of " << ranks;
        continue;
      }
      const int count = static_cast<int>(own.size());
      EXPECT_GE(count, 35 / roles.analytics_count()) << "rank " << rank << " of " << ranks;
      EXPECT_LE(count, 35 / roles.analytics_count() + 1) << "rank " << rank << " of " << ranks;
      for (const Result& result : own) {
        EXPECT_EQ(result.diagnostics.count, 3 * roles.compute_count());
        items.emplace(result.item.timestep, result.item.field);
      }
    }
    EXPECT_EQ(items.size(), 35U) << ranks << " ranks";
  }
}

// --- the verdict

TEST(InsituSummary, WithAllResultsRight_IsGood) {
  const Summary summary{.seconds = 0.5, .items = 12, .results = 6, .expected_results = 6};
  EXPECT_TRUE(summary.good());
  EXPECT_EQ(summary.verdict(), "good");
  EXPECT_EQ(summary.items_per_second(), 24);
}

TEST(InsituSummary, WithAWrongResult_IsNot) {
  const Summary summary{.results = 6, .expected_results = 6, .wrong = 2};
  EXPECT_FALSE(summary.good());
  EXPECT_EQ(summary.verdict(), "2 are wrong");
}

TEST(InsituSummary, WithoutAResult_IsNot) {
  const Summary summary{.results = 5, .expected_results = 6};
  EXPECT_FALSE(summary.good());
  EXPECT_EQ(summary.verdict(), "there are 5 instead of 6");
}

}  // namespace apps_insitu_pipeline_test

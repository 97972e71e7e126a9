// Advice of the contention model: times of phases by hand, and a search over all choices.

#include <shoal/contention/advice.hpp>

#include "support/contention_tables.hpp"

#include <shoal/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace contention_advice_test {

using shoal::ConfigError;
using namespace shoal::contention;  // NOLINT(google-build-using-namespace): what is tested

/// 4 cores of 10 MB/s, 30 MB/s of memory, a network of 10 MB/s that keeps half of it at least.
Model small_machine() {
  const Parameters local{2, 30, 3, 28, 28, 2, 1, 10, 10, 0.5};
  Parameters remote = local;
  remote.network_mb_s = 8;
  return {"small", 4, 2, 1, local, remote};
}

TEST(ContentionAdvice, Phase_WhoseTransferEndsFirst_GoesOnWithTheBestNumberOfCores) {
  const Model model = small_machine();
  const std::vector<Bandwidths> at = predict(model, {0, 0});
  double alone_mb_s = 0;
  for (const Bandwidths& one : at) alone_mb_s = std::max(alone_mb_s, one.computation_alone_mb_s);
  const Choice choice = evaluate(model, {100, 10}, {0, 0}, 2);
  const double transfer_s = 10 / at[1].communication_mb_s;
  EXPECT_DOUBLE_EQ(choice.communication_end_s, transfer_s);
  EXPECT_DOUBLE_EQ(choice.end_s,
                   transfer_s + (100 - transfer_s * at[1].computation_mb_s) / alone_mb_s);
  EXPECT_EQ(choice.bandwidths, at[1]);
}

TEST(ContentionAdvice, Phase_WhoseComputationEndsFirst_LeavesTheNetworkAlone) {
  const Model model = small_machine();
  const Bandwidths at = predict(model, {0, 0})[3];
  const Choice choice = evaluate(model, {10, 100}, {0, 0}, 4);
  const double computation_s = 10 / at.computation_mb_s;
  EXPECT_DOUBLE_EQ(choice.end_s,
                   computation_s + (100 - computation_s * at.communication_mb_s) / 10);
  EXPECT_EQ(choice.communication_end_s, choice.end_s);
}

TEST(ContentionAdvice, NoCores_ComputesAfterTheTransfer) {
  const Choice choice = evaluate(small_machine(), {28, 40}, {0, 1}, 0);
  EXPECT_DOUBLE_EQ(choice.communication_end_s, 5);  // 8 MB/s to the remote node
  EXPECT_DOUBLE_EQ(choice.end_s, 6);
}

TEST(ContentionAdvice, EmptyParts_TakeNoTime) {
  EXPECT_EQ(evaluate(small_machine(), {0, 0}, {0, 0}, 3).end_s, 0);
  EXPECT_DOUBLE_EQ(evaluate(small_machine(), {0, 100}, {0, 0}, 3).end_s, 10);
  EXPECT_DOUBLE_EQ(evaluate(small_machine(), {28, 0}, {0, 0}, 3).end_s, 1);
}

TEST(ContentionAdvice, Advice_IsWithinAThousandthOfTheBestChoice) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(1, 6);
  for (const Model& model : published_models()) {
    for (int i = 0; i < 50; ++i) {
      const Phase phase{std::pow(10, exponent(random)), std::pow(10, exponent(random))};
      double best_s = INFINITY;
      for (int node = 0; node < model.nodes * model.nodes; ++node) {
        for (int cores = 0; cores <= model.cores; ++cores) {
          const Placement placement{node / model.nodes, node % model.nodes};
          best_s = std::min(best_s, evaluate(model, phase, placement, cores).end_s);
        }
      }
      const Choice advice = advise(model, phase);
      EXPECT_GE(advice.end_s, best_s);
      EXPECT_LE(advice.end_s, 1.01 * best_s) << model.machine;
      EXPECT_EQ(advice, evaluate(model, phase, advice.placement, advice.cores));
    }
  }
}

TEST(ContentionAdvice, Fixed_IsKept) {
  const Model model = published_model("henrisubnuma");
  const Choice advice = advise(model, {1e4, 1e3}, {5, 3, 2});
  EXPECT_EQ(advice.cores, 5);
  EXPECT_EQ(advice.placement, (Placement{3, 2}));
}

// "When communications and computations use each their own NUMA node for their data, memory
// contention is very low" (section 6.3.3).
TEST(ContentionAdvice, SubNumaClusters_GetSeparateNodes) {
  const Choice advice = advise(published_model("henrisubnuma"), {50000, 8000});
  EXPECT_NE(advice.placement.computation_node, advice.placement.communication_node);
  EXPECT_LT(advice.placement.computation_node, 2);
}

TEST(ContentionAdvice, MostCores_KeepTheShareOfTheNetwork) {
  for (const Model& model : published_models()) {
    for (const Placement& placement : {Placement{0, 0}, Placement{model.nodes - 1, 0}}) {
      int before = model.cores;
      for (const double share : {0.0, 0.5, 0.9, 1.0}) {
        const int cores = most_cores(model, placement, share);
        EXPECT_LE(cores, before);
        before = cores;
        if (cores == 0) continue;
        const double kept =
            predict(model, placement)[static_cast<std::size_t>(cores) - 1].communication_mb_s;
        EXPECT_GE(kept, share * model.local.network_mb_s) << model.machine;
      }
    }
    EXPECT_EQ(most_cores(model, {0, 0}, 0), model.cores);
  }
}

TEST(ContentionAdvice, BadQuestions_AreRefused) {
  const Model model = small_machine();
  EXPECT_THROW(static_cast<void>(evaluate(model, {-1, 1}, {0, 0}, 1)), ConfigError);
  EXPECT_THROW(static_cast<void>(evaluate(model, {1, INFINITY}, {0, 0}, 1)), ConfigError);
  EXPECT_THROW(static_cast<void>(evaluate(model, {1, 1}, {0, 0}, 5)), ConfigError);
  EXPECT_THROW(static_cast<void>(evaluate(model, {1, 1}, {0, 2}, 1)), ConfigError);
  EXPECT_THROW(static_cast<void>(advise(model, {1, 1}, {.cores = -1})), ConfigError);
  EXPECT_THROW(static_cast<void>(advise(model, {1, 1}, {.computation_node = 2})), ConfigError);
  EXPECT_THROW(static_cast<void>(most_cores(model, {0, 0}, 1.5)), ConfigError);
  EXPECT_THROW(static_cast<void>(most_cores(model, {0, 0}, NAN)), ConfigError);
}

}  // namespace contention_advice_test

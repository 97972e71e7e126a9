// The contention model against the tables, figures and sentences of the thesis.

#include <shoal/contention/model.hpp>

#include "support/contention_tables.hpp"

#include <shoal/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace contention_model_test {

using shoal::ConfigError;
using namespace shoal::contention;  // NOLINT(google-build-using-namespace): what is tested

// The tables are rounded to 0.1 MB/s, and a loss to 0.05 MB/s per core.
constexpr double kRounding = 0.2;

/// Both parameter sets of each platform, with its name.
std::vector<std::pair<std::string, Parameters>> all_published() {
  std::vector<std::pair<std::string, Parameters>> all;
  for (const Model& model : published_models()) {
    all.emplace_back(model.machine + ", local", model.local);
    all.emplace_back(model.machine + ", remote", model.remote);
  }
  return all;
}

int cores_of(const std::string& title) {
  return published_model(title.substr(0, title.find(','))).cores;
}

TEST(ContentionModel, PublishedTables_AgreeWithTheirOwnLosses) {
  for (const auto& [title, of] : all_published()) {
    EXPECT_NO_THROW(check(of)) << title;
    if (of.cores_seq <= of.cores_par) continue;
    const int cores = of.cores_seq - of.cores_par;
    EXPECT_NEAR(of.loss_left_mb_s * cores, of.total_par_mb_s - of.total_bend_mb_s,
                kRounding * cores)
        << title;
  }
}

TEST(ContentionModel, Total_IsContinuousAtBothBends) {
  for (const auto& [title, of] : all_published()) {
    EXPECT_EQ(total_mb_s(of, 1), of.total_par_mb_s) << title;
    EXPECT_EQ(total_mb_s(of, of.cores_par), of.total_par_mb_s) << title;
    EXPECT_NEAR(total_mb_s(of, of.cores_seq), of.total_bend_mb_s, kRounding * of.cores_seq)
        << title;
    EXPECT_NEAR(total_mb_s(of, of.cores_seq + 3), of.total_bend_mb_s - 3 * of.loss_right_mb_s, 1e-6)
        << title;
  }
}

TEST(ContentionModel, Predictions_ShareTheTotalAsEquations63And64Say) {
  for (const auto& [title, of] : all_published()) {
    const std::vector<Bandwidths> curve = predict(of, cores_of(title));
    for (int n = 1; n <= cores_of(title); ++n) {
      const Bandwidths& one = curve[static_cast<std::size_t>(n) - 1];
      const double total = total_mb_s(of, n);
      const double required = n * of.core_mb_s + of.network_share_min * of.network_mb_s;
      const std::string where = title + ", " + std::to_string(n) + " cores";
      EXPECT_GE(one.communication_mb_s, of.network_share_min * of.network_mb_s - 1e-6) << where;
      EXPECT_LE(one.communication_mb_s, of.network_mb_s + 1e-6) << where;
      EXPECT_LE(one.computation_alone_mb_s, of.total_seq_mb_s) << where;
      if (required < total) {
        EXPECT_EQ(one.computation_mb_s, n * of.core_mb_s) << where;
      } else {
        EXPECT_NEAR(one.computation_mb_s + one.communication_mb_s, total, 1e-6) << where;
      }
    }
  }
}

TEST(ContentionModel, Communication_NeverGainsByMoreCoresAndEndsAtTheWorstShare) {
  for (const auto& [title, of] : all_published()) {
    const int cores = cores_of(title);
    const std::vector<Bandwidths> curve = predict(of, cores);
    for (std::size_t i = 1; i < curve.size(); ++i) {
      EXPECT_LE(curve[i].communication_mb_s, curve[i - 1].communication_mb_s + 1e-6)
          << title << ", " << i + 1 << " cores";
    }
    const double required = cores * of.core_mb_s + of.network_share_min * of.network_mb_s;
    if (cores < of.cores_seq || required < total_mb_s(of, cores)) continue;
    EXPECT_NEAR(curve.back().communication_mb_s, of.network_share_min * of.network_mb_s, 1e-6)
        << title;
  }
}

// "the model predicts a decrease starting with 14 computing cores" (section 6.3.2, henri).
TEST(ContentionModel, Henri_DecreasesFrom14CoresAsTheThesisSays) {
  const std::vector<Bandwidths> curve = predict(published_model("henri"), {0, 0});
  EXPECT_EQ(curve[12].communication_mb_s, 11481.1);
  EXPECT_LT(curve[13].communication_mb_s, 11481.1);
}

// "with 7 computing cores, memory bandwidth for computations decreases from 21.1 GB/s to 18.5 GB/s
// [...] Network bandwidth stays always constant at 6.2 GB/s" (section 6.3.2, occigen, both remote).
TEST(ContentionModel, Occigen_LosesComputationOnlyAsTheThesisSays) {
  const std::vector<Bandwidths> curve = predict(published_model("occigen"), {1, 1});
  EXPECT_NEAR(curve[6].computation_alone_mb_s, 21100, 50);
  EXPECT_NEAR(curve[6].computation_mb_s, 18500, 50);
  for (const Bandwidths& one : curve) EXPECT_NEAR(one.communication_mb_s, 6219.5, 1e-6);
}

// 12.1 GB/s and 22.4 GB/s, "even if there is almost no contention on this platform" (diablo).
TEST(ContentionModel, Diablo_NetworkDependsOnThePlaceOfItsData) {
  const Model diablo = published_model("diablo");
  EXPECT_NEAR(predict(diablo, {0, 0}).front().communication_mb_s, 12100, 50);
  EXPECT_NEAR(predict(diablo, {0, 1}).front().communication_mb_s, 22400, 50);
}

TEST(ContentionModel, Placements_CombineTheModelsAsEquations67And68Say) {
  const Model model = published_model("henrisubnuma");
  const std::vector<Bandwidths> local = predict(model.local, model.cores);
  const std::vector<Bandwidths> remote = predict(model.remote, model.cores);
  Parameters far_network = model.local;
  far_network.network_mb_s = model.remote.network_mb_s;
  const std::vector<Bandwidths> far = predict(far_network, model.cores);
  for (int computation = 0; computation < model.nodes; ++computation) {
    for (int communication = 0; communication < model.nodes; ++communication) {
      const std::vector<Bandwidths> curve = predict(model, {computation, communication});
      const bool same = computation == communication;
      for (std::size_t i = 0; i < curve.size(); ++i) {
        const Bandwidths& base = computation >= 2 ? remote[i] : local[i];
        EXPECT_EQ(curve[i].computation_mb_s,
                  same ? base.computation_mb_s : base.computation_alone_mb_s);
        const Bandwidths& network = computation >= 2 && same ? remote[i]
                                    : communication >= 2     ? far[i]
                                                             : local[i];
        EXPECT_EQ(curve[i].communication_mb_s, network.communication_mb_s);
      }
    }
  }
}

// The placements on the diagonal are "the most disturbed by memory contention" (henrisubnuma).
TEST(ContentionModel, SameNode_IsTheWorstPlacement) {
  for (const Model& model : published_models()) {
    for (int node = 0; node < model.nodes; ++node) {
      const Bandwidths same = predict(model, {node, node}).back();
      for (int other = 0; other < model.nodes; ++other) {
        // Without contention (billy, diablo) the measured T_seq^max lies 0.4 % below the total.
        EXPECT_LE(same.computation_mb_s,
                  1.005 * predict(model, {node, other}).back().computation_mb_s)
            << model.machine;
      }
    }
  }
}

TEST(ContentionModel, NoCoreFits_StartsFromCommunicationAlone) {
  // One core and the minimum of communication exceed the total: equation 6.5 has no i.
  const Parameters tight{1, 100, 4, 90, 90, 10.0 / 3, 0, 80, 100, 0.4};
  const std::vector<Bandwidths> curve = predict(tight, 4);
  EXPECT_NEAR(curve[0].communication_mb_s, 85, 1e-9);  // 1 - (1 - 0.4) / 4 of 100
  EXPECT_NEAR(curve[0].computation_mb_s, 15, 1e-9);
  EXPECT_NEAR(curve[3].communication_mb_s, 40, 1e-9);
}

TEST(ContentionModel, Error_IsTheMeanAbsolutePercentage) {
  EXPECT_DOUBLE_EQ(mean_error_percent({100, 200}, {90, 210}), 7.5);
  EXPECT_THROW(static_cast<void>(mean_error_percent({}, {})), ConfigError);
  EXPECT_THROW(static_cast<void>(mean_error_percent({1, 2}, {1})), ConfigError);
  EXPECT_THROW(static_cast<void>(mean_error_percent({0}, {1})), ConfigError);
}

TEST(ContentionModel, Json_ComesBackEqual) {
  for (const Model& model : published_models()) {
    EXPECT_EQ(model_from_json(to_json(model)), model) << model.machine;
  }
}

/// Error of model_from_json() for a text.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(model_from_json(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ContentionModel, BadJson_IsRefusedByKey) {
  const std::string good = to_json(published_model("henri"));
  EXPECT_EQ(refusal("{"), "contention model: the text is not valid JSON");
  EXPECT_EQ(refusal("[]"), "contention model: '' must be an object");
  EXPECT_EQ(refusal(changed(good, "\"nodes\"", "\"knots\"")),
            "contention model: the key 'nodes' is missing");
  EXPECT_EQ(refusal(changed(good, "{", "{\"color\": 1,")),
            "contention model: there is no key 'color'");
  EXPECT_EQ(refusal(changed(good, "\"core_mb_s\": 4455.4", "\"core_mb_s\": \"fast\"")),
            "contention model: 'local.core_mb_s' must be a number");
  EXPECT_EQ(refusal(changed(good, "\"cores\": 18", "\"cores\": 1.5")),
            "contention model: 'cores' must be a whole number");
  EXPECT_EQ(refusal(changed(good, "\"core_mb_s\": 4455.4", "\"core_mb_s\": 0")),
            "contention model: core_mb_s is 0 MB/s: it must be positive");
}

TEST(ContentionModel, BadParameters_AreNamed) {
  const Parameters good = published_model("henri").local;
  const auto refuse = [&](auto change) {
    Parameters bad = good;
    change(bad);
    try {
      static_cast<void>(predict(bad, 4));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refuse([](Parameters& p) { p.cores_par = 0; }),
            "contention model: cores_par is 0: it must be at least 1");
  EXPECT_EQ(refuse([](Parameters& p) { p.network_share_min = 1.5; }),
            "contention model: network_share_min is 1.5: it must be above 0 and at most 1");
  EXPECT_EQ(refuse([](Parameters& p) { p.loss_left_mb_s = NAN; }),
            "contention model: a loss per core is not finite");
  EXPECT_THROW(static_cast<void>(predict(good, 0)), ConfigError);
  EXPECT_THROW(static_cast<void>(predict(published_model("henri"), {0, 2})), ConfigError);
}

}  // namespace contention_model_test

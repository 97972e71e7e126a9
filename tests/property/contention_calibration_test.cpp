// Calibration recovers the parameters of synthetic machines, and says when a machine is none that
// the model describes.

#include <shoal/contention/calibration.hpp>

#include "support/contention_tables.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace contention_calibration_test {

using namespace shoal::contention;  // NOLINT(google-build-using-namespace): what is tested
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A machine as the model describes it, measured with a relative error of up to `noise`.
Measurement measure(const Parameters& of, int cores, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> scatter(1 - noise, 1 + noise);
  Measurement result;
  for (const Bandwidths& one : predict(of, cores)) {
    result.computation_alone_mb_s.push_back(one.computation_alone_mb_s * scatter(random));
    result.computation_mb_s.push_back(one.computation_mb_s * scatter(random));
    result.communication_mb_s.push_back(one.communication_mb_s * scatter(random));
    result.communication_alone_mb_s.push_back(of.network_mb_s * scatter(random));
  }
  return result;
}

/// Mean errors of what was found, on the machine without noise, in percent of its total: what is
/// left to communication is a small difference of large bandwidths, so an error relative to itself
/// would multiply the noise.
struct Errors {
  double computation = 0;
  double communication = 0;
};
Errors errors_of(const Parameters& found, const Parameters& truth, int cores) {
  const std::vector<Bandwidths> expected = predict(truth, cores);
  const std::vector<Bandwidths> actual = predict(found, cores);
  Errors sum;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    sum.computation += std::abs(expected[i].computation_mb_s - actual[i].computation_mb_s);
    sum.communication += std::abs(expected[i].communication_mb_s - actual[i].communication_mb_s);
  }
  const double percent = 100 / (truth.total_par_mb_s * cores);
  return {sum.computation * percent, sum.communication * percent};
}

/// A machine with a bend well within its cores, so that every parameter shows in its curves.
Parameters random_machine(std::mt19937_64& random, int cores) {
  const auto between = [&random](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Parameters made;
  made.core_mb_s = between(2000, 7000);
  made.cores_seq = std::uniform_int_distribution<int>(cores / 2, cores - 3)(random);
  made.total_seq_mb_s = made.core_mb_s * made.cores_seq;
  made.network_mb_s = made.core_mb_s * between(1.5, 3.5);
  made.network_share_min = between(0.3, 0.9);
  made.cores_par = made.cores_seq - 2;
  made.total_par_mb_s =
      made.core_mb_s * made.cores_par + made.network_share_min * made.network_mb_s + 1;
  made.loss_left_mb_s = between(100, 900);
  made.total_bend_mb_s = made.total_par_mb_s - 2 * made.loss_left_mb_s;
  // Computation alone must fit: the thesis's machines reach T_seq below the total of both.
  made.total_seq_mb_s = std::min(made.total_seq_mb_s, made.total_bend_mb_s);
  made.loss_right_mb_s = between(50, 600);
  return made;
}

TEST(ContentionCalibration, WithoutNoise_BandwidthsComeBackExactly) {
  for (const Model& model : published_models()) {
    for (const Parameters& truth : {model.local, model.remote}) {
      const Parameters found = calibrate(measure(truth, model.cores, 0, 1)).parameters;
      EXPECT_EQ(found.core_mb_s, truth.core_mb_s) << model.machine;
      EXPECT_EQ(found.network_mb_s, truth.network_mb_s) << model.machine;
      const Errors errors = errors_of(found, truth, model.cores);
      EXPECT_LT(errors.computation, 1) << model.machine;
      EXPECT_LT(errors.communication, 1) << model.machine;
    }
  }
}

TEST(ContentionCalibration, RandomMachines_AreRecoveredWithinTheNoise) {
  constexpr int kMachines = 2000;
  constexpr int kCores = 24;
  for (const double noise : {0.0, 0.01, 0.03}) {
    double worst = 0;
    for (std::uint64_t seed = 0; seed < kMachines; ++seed) {
      std::mt19937_64 random(seed);
      const Parameters truth = random_machine(random, kCores);
      const Calibration result = calibrate(measure(truth, kCores, noise, seed), noise / 2);
      const Errors errors = errors_of(result.parameters, truth, kCores);
      worst = std::max({worst, errors.computation, errors.communication});
      EXPECT_NEAR(result.parameters.core_mb_s, truth.core_mb_s, noise * truth.core_mb_s + 1e-6);
      EXPECT_NEAR(result.parameters.network_mb_s, truth.network_mb_s,
                  noise * truth.network_mb_s + 1e-6);
      EXPECT_NEAR(result.parameters.total_par_mb_s, truth.total_par_mb_s,
                  (noise + 0.001) * truth.total_par_mb_s)
          << "seed " << seed;
      EXPECT_NEAR(result.parameters.network_share_min, truth.network_share_min, 2.5 * noise + 1e-6)
          << "seed " << seed;
    }
    RecordProperty("worst_error_percent_at_noise_" + std::to_string(noise), std::to_string(worst));
    EXPECT_LT(worst, 100 * noise + 1) << "noise " << noise;
  }
}

TEST(ContentionCalibration, PublishedMachines_RaiseNoWarning) {
  for (const Model& model : published_models()) {
    EXPECT_THAT(calibrate(measure(model.local, model.cores, 0, 1)).warnings, IsEmpty())
        << model.machine;
  }
}

TEST(ContentionCalibration, OtherMachines_AreReported) {
  const Parameters henri = published_model("henri").local;
  Measurement unstable = measure(henri, 18, 0, 1);
  unstable.communication_alone_mb_s = {12000, 24000};
  EXPECT_THAT(calibrate(unstable).warnings, Contains(HasSubstr("varies from 12000 to 24000 MB/s")));

  Measurement sublinear = measure(henri, 18, 0, 1);
  for (std::size_t i = 1; i < 12; ++i) sublinear.computation_alone_mb_s[i] *= 0.7;
  EXPECT_THAT(calibrate(sublinear).warnings, Contains(HasSubstr("scales perfectly")));

  // The network keeps its bandwidth up to all cores, then gets nothing: the model has no such
  // shape.
  Measurement cliff = measure(henri, 18, 0, 1);
  for (std::size_t i = 0; i < 18; ++i) cliff.communication_mb_s[i] = i % 2 == 0 ? 11481 : 500;
  EXPECT_THAT(calibrate(cliff).warnings, Contains(HasSubstr("misses the communication")));
}

TEST(ContentionCalibration, BadMeasurements_AreRefused) {
  const Measurement good = measure(published_model("henri").local, 18, 0, 1);
  EXPECT_THROW(static_cast<void>(calibrate({})), shoal::ConfigError);
  EXPECT_THROW(static_cast<void>(calibrate(good, 1)), shoal::ConfigError);
  Measurement shorter = good;
  shorter.communication_mb_s.pop_back();
  EXPECT_THROW(static_cast<void>(calibrate(shorter)), shoal::ConfigError);
  Measurement negative = good;
  negative.computation_mb_s[3] = -1;
  EXPECT_THROW(static_cast<void>(calibrate(negative)), shoal::ConfigError);
}

}  // namespace contention_calibration_test

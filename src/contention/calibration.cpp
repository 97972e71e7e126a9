#include <shoal/contention/calibration.hpp>

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace shoal::contention {

namespace {

// Beyond these the thesis's own predictions get unreliable (section 6.3.3: billy, pyxis).
constexpr double kUnstableNetwork = 0.10;   // spread of communication alone, of its median
constexpr double kImperfectScaling = 0.15;  // of computation alone below the knee
constexpr double kPoorFitPercent = 10;      // error on the measurement itself

using Values = std::vector<double>;

void check_values(const char* name, const Values& values, std::size_t count) {
  if (values.empty() || (count > 0 && values.size() != count)) {
    throw ConfigError(fmt::format("contention calibration: {} has {} values: it needs {}", name,
                                  values.size(),
                                  count > 0 ? fmt::to_string(count) : "one or more"));
  }
  for (const double value : values) {
    if (std::isfinite(value) && value > 0) continue;
    throw ConfigError(fmt::format(
        "contention calibration: {} contains {} MB/s: a bandwidth must be positive", name, value));
  }
}

/// Indices of the first and of the last value that come within `noise` of the largest.
struct Plateau {
  Plateau(const Values& values, double noise) {
    const double enough = *std::max_element(values.begin(), values.end()) * (1 - noise);
    const auto reaches = [enough](double value) { return value >= enough; };
    first = static_cast<std::size_t>(std::find_if(values.begin(), values.end(), reaches) -
                                     values.begin());
    last = values.size() - 1 -
           static_cast<std::size_t>(std::find_if(values.rbegin(), values.rend(), reaches) -
                                    values.rbegin());
  }
  std::size_t first;
  std::size_t last;
};

double median(Values values) {
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Values totals(const Measurement& of) {
  Values sums(of.computation_mb_s.size());
  std::transform(of.computation_mb_s.begin(), of.computation_mb_s.end(),
                 of.communication_mb_s.begin(), sums.begin(), std::plus<>());
  return sums;
}

/// Loss per core from one number of cores to another; 0 where there is nothing in between.
double loss_per_core(double from_mb_s, double to_mb_s, std::size_t cores) {
  return cores == 0 ? 0 : (from_mb_s - to_mb_s) / static_cast<double>(cores);
}

Parameters find_parameters(const Measurement& of, double noise) {
  const Values total = totals(of);
  const std::size_t par = Plateau(total, noise).last;
  const std::size_t seq = Plateau(of.computation_alone_mb_s, noise).first;
  const std::size_t last = total.size() - 1;
  Parameters found;
  found.cores_par = static_cast<int>(par) + 1;
  found.total_par_mb_s = *std::max_element(total.begin(), total.end());
  found.cores_seq = static_cast<int>(seq) + 1;
  found.total_seq_mb_s =
      *std::max_element(of.computation_alone_mb_s.begin(), of.computation_alone_mb_s.end());
  found.total_bend_mb_s = total[seq];
  found.loss_left_mb_s = loss_per_core(found.total_par_mb_s, total[seq], seq > par ? seq - par : 0);
  found.loss_right_mb_s = loss_per_core(total[seq], total[last], last - seq);
  found.core_mb_s = of.computation_alone_mb_s.front();
  found.network_mb_s = median(of.communication_alone_mb_s);
  const double least =
      *std::min_element(of.communication_mb_s.begin(), of.communication_mb_s.end());
  found.network_share_min = std::min(1.0, least / found.network_mb_s);
  return found;
}

void warn_of_network(const Measurement& of, std::vector<std::string>& warnings) {
  const auto [least, most] =
      std::minmax_element(of.communication_alone_mb_s.begin(), of.communication_alone_mb_s.end());
  const double middle = median(of.communication_alone_mb_s);
  if (*most - *least <= kUnstableNetwork * middle) return;
  warnings.push_back(fmt::format(
      "communication alone varies from {:.0f} to {:.0f} MB/s: the model assumes one bandwidth, so "
      "predictions of communication may be far off",
      *least, *most));
}

void warn_of_scaling(const Measurement& of, const Parameters& found,
                     std::vector<std::string>& warnings) {
  for (int n = 2; n <= found.cores_seq; ++n) {
    const double expected = std::min(n * found.core_mb_s, found.total_seq_mb_s);
    const double measured = of.computation_alone_mb_s[static_cast<std::size_t>(n) - 1];
    if (measured >= (1 - kImperfectScaling) * expected) continue;
    warnings.push_back(fmt::format(
        "computation alone with {} cores reaches {:.0f} of {:.0f} MB/s: the model assumes that it "
        "scales perfectly up to {} cores",
        n, measured, expected, found.cores_seq));
    return;
  }
}

void warn_of_fit(const Measurement& of, const Parameters& found,
                 std::vector<std::string>& warnings) {
  Values computation;
  Values communication;
  for (const Bandwidths& one : predict(found, static_cast<int>(of.computation_mb_s.size()))) {
    computation.push_back(one.computation_mb_s);
    communication.push_back(one.communication_mb_s);
  }
  const auto warn = [&](const char* name, const Values& measured, const Values& predicted) {
    const double error = mean_error_percent(measured, predicted);
    if (error <= kPoorFitPercent) return;
    warnings.push_back(
        fmt::format("the model misses the {} that it was calibrated with by {:.0f} % in the mean: "
                    "this machine shares its memory in another way",
                    name, error));
  };
  warn("computation", of.computation_mb_s, computation);
  warn("communication", of.communication_mb_s, communication);
}

}  // namespace

Calibration calibrate(const Measurement& measurement, double noise) {
  check_values("computation alone", measurement.computation_alone_mb_s, 0);
  const std::size_t cores = measurement.computation_alone_mb_s.size();
  check_values("computation beside communication", measurement.computation_mb_s, cores);
  check_values("communication beside computation", measurement.communication_mb_s, cores);
  check_values("communication alone", measurement.communication_alone_mb_s, 0);
  if (!(noise >= 0 && noise < 1)) {
    throw ConfigError(
        fmt::format("contention calibration: noise is {}: it must be at least 0, below 1", noise));
  }
  Calibration result{find_parameters(measurement, noise), {}};
  warn_of_network(measurement, result.warnings);
  warn_of_scaling(measurement, result.parameters, result.warnings);
  warn_of_fit(measurement, result.parameters, result.warnings);
  return result;
}

}  // namespace shoal::contention

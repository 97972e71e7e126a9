#include "bfs/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace bfs {
namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - std::floor(position));
}

/// Sum of the squared distances from the mean.
double squares(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Statistics order_statistics(std::vector<double> values) {
  std::ranges::sort(values);
  return {.min = values.front(),
          .first_quartile = quantile(values, 0.25),
          .median = quantile(values, 0.5),
          .third_quartile = quantile(values, 0.75),
          .max = values.back()};
}

}  // namespace

Statistics statistics_of(std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = mean_of(values);
  const double sum = squares(values, mean);
  Statistics result = order_statistics(std::move(values));
  result.mean = mean;
  result.deviation = count > 1 ? std::sqrt(sum / (count - 1)) : 0;
  return result;
}

Statistics statistics_of_rates(std::vector<double> rates) {
  const auto count = static_cast<double>(rates.size());
  std::vector<double> inverses;
  inverses.reserve(rates.size());
  for (const double rate : rates) inverses.push_back(1 / rate);
  const double mean_inverse = mean_of(inverses);
  const double sum = squares(inverses, mean_inverse);
  Statistics result = order_statistics(std::move(rates));
  result.mean = 1 / mean_inverse;
  result.deviation = count > 1 ? std::sqrt(sum) / (count - 1) / (mean_inverse * mean_inverse) : 0;
  return result;
}

}  // namespace bfs

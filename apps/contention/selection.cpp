#include "contention/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/input_error.hpp"

namespace contention {
namespace {

using apps::InputError;
using shoal::contention::Bandwidths;
using shoal::contention::Measurement;
using Quantity = std::optional<double> Sample::*;

/// Point beside communication, or with 0 cores of communication alone.
Point point_of(const Selection& selection, const Placement& placement, int cores) {
  Point point;
  point.kernel = cores > 0 ? *selection.kernel : Kernel::none;
  point.cores = cores;
  point.computation_node = cores > 0 ? placement.computation_node : 0;
  point.channel = *selection.channel;
  point.traffic = Traffic::receive;
  point.message_bytes = *selection.message_bytes;
  point.communication_node = placement.communication_node;
  point.thread_node = *selection.thread_node;
  return point;
}

Point alone_point(const Selection& selection, const Placement& placement, int cores) {
  Point point;
  point.kernel = *selection.kernel;
  point.cores = cores;
  point.computation_node = placement.computation_node;
  return point;
}

std::string describe(const Point& point) {
  std::string text;
  if (point.cores > 0) {
    text = fmt::format("{} on {} {}, data on NUMA node {}", word(point.kernel), point.cores,
                       point.cores == 1 ? "core" : "cores", point.computation_node);
  }
  if (point.channel == Channel::none) return text + ", without communication";
  return fmt::format("{}{}messages of {} bytes ({}) to NUMA node {}", text,
                     text.empty() ? "" : ", beside ", point.message_bytes, word(point.channel),
                     point.communication_node);
}

/// Values of all repetitions. Errors: InputError when there is none.
std::vector<double> values_of(const Measurements& measurements, const Point& point,
                              Quantity quantity) {
  std::vector<double> values;
  for (const Sample& sample : measurements.samples) {
    if (sample.point == point && sample.*quantity) values.push_back(*(sample.*quantity));
  }
  if (values.empty()) {
    throw InputError(fmt::format("the measurement of {} is missing: run measure again to add it",
                                 describe(point)));
  }
  return values;
}

double median_of(const Measurements& measurements, const Point& point, Quantity quantity) {
  return quantile(values_of(measurements, point, quantity), 0.5);
}

bool fits(const Selection& selection, const Point& point) {
  return point.kernel == selection.kernel.value_or(Kernel::fill) &&
         point.traffic == Traffic::receive &&
         (!selection.channel || point.channel == *selection.channel) &&
         (!selection.message_bytes || point.message_bytes == *selection.message_bytes) &&
         (!selection.thread_node || point.thread_node == *selection.thread_node);
}

/// Rank of a channel: the first that was measured is taken.
int order_of(Channel channel) {
  return channel == Channel::mpi ? 0 : (channel == Channel::large ? 1 : 2);
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

Selection resolve(const Measurements& measurements, const Selection& selection) {
  const Point* best = nullptr;
  for (const Sample& sample : measurements.samples) {
    const Point& point = sample.point;
    if (!fits(selection, point)) continue;
    const bool better =
        best == nullptr || order_of(point.channel) < order_of(best->channel) ||
        (point.channel == best->channel && point.message_bytes > best->message_bytes);
    if (better) best = &point;
  }
  if (best == nullptr) {
    throw InputError(
        fmt::format("no measurement of {} beside received messages fits: --kernel, --channel and "
                    "--message-bytes choose others",
                    word(selection.kernel.value_or(Kernel::fill))));
  }
  return {best->kernel, best->channel, best->message_bytes, best->thread_node};
}

Measurement curves_of(const Measurements& measurements, const Selection& selection,
                      const Placement& placement) {
  Measurement result;
  result.communication_alone_mb_s =
      values_of(measurements, point_of(selection, placement, 0), &Sample::communication_mb_s);
  for (int cores = 1; cores <= measurements.machine.cores; ++cores) {
    const Point both = point_of(selection, placement, cores);
    result.computation_alone_mb_s.push_back(median_of(
        measurements, alone_point(selection, placement, cores), &Sample::computation_mb_s));
    result.computation_mb_s.push_back(median_of(measurements, both, &Sample::computation_mb_s));
    result.communication_mb_s.push_back(median_of(measurements, both, &Sample::communication_mb_s));
  }
  return result;
}

std::vector<Placement> placements_of(const Measurements& measurements, const Selection& selection) {
  std::vector<Placement> all;
  for (int computation = 0; computation < measurements.machine.nodes; ++computation) {
    for (int communication = 0; communication < measurements.machine.nodes; ++communication) {
      const bool is_there = std::ranges::any_of(measurements.samples, [&](const Sample& sample) {
        return fits(selection, sample.point) && sample.point.computation_node == computation &&
               sample.point.communication_node == communication;
      });
      if (is_there) all.push_back({computation, communication});
    }
  }
  return all;
}

std::vector<Placement> samples_of(int nodes, int nodes_per_socket) {
  std::vector<Placement> all{{0, 0}};
  if (nodes > nodes_per_socket) all.push_back({nodes_per_socket, nodes_per_socket});
  return all;
}

Calibrated calibrate(const Measurements& measurements, const Selection& selection, double noise) {
  const Machine& machine = measurements.machine;
  Calibrated result;
  result.model.machine = machine.name;
  result.model.cores = machine.cores;
  result.model.nodes = machine.nodes;
  result.model.nodes_per_socket = machine.nodes_per_socket;
  const std::vector<Placement> samples = samples_of(machine.nodes, machine.nodes_per_socket);
  for (const Placement& placement : samples) {
    const auto found =
        shoal::contention::calibrate(curves_of(measurements, selection, placement), noise);
    const bool is_local = placement.computation_node < machine.nodes_per_socket;
    (is_local ? result.model.local : result.model.remote) = found.parameters;
    for (const std::string& warning : found.warnings) {
      result.warnings.push_back(
          fmt::format("{} accesses: {}", is_local ? "local" : "remote", warning));
    }
  }
  // predict() refuses remote nodes on such a machine, so that these are never used.
  if (samples.size() == 1) result.model.remote = result.model.local;
  return result;
}

std::vector<PlacementError> errors_of(const Model& model, const Measurements& measurements,
                                      const Selection& selection) {
  const Machine& machine = measurements.machine;
  if (model.cores != machine.cores || model.nodes != machine.nodes ||
      model.nodes_per_socket != machine.nodes_per_socket) {
    throw InputError(fmt::format(
        "the model has {} cores and {} NUMA nodes, {} in a socket, the measurements {}, {} and {}: "
        "they are of different machines",
        model.cores, model.nodes, model.nodes_per_socket, machine.cores, machine.nodes,
        machine.nodes_per_socket));
  }
  const std::vector<Placement> samples = samples_of(model.nodes, model.nodes_per_socket);
  std::vector<PlacementError> all;
  for (const Placement& placement : placements_of(measurements, selection)) {
    const Measurement measured = curves_of(measurements, selection, placement);
    std::vector<double> computation;
    std::vector<double> communication;
    for (const Bandwidths& one : predict(model, placement)) {
      computation.push_back(one.computation_mb_s);
      communication.push_back(one.communication_mb_s);
    }
    using shoal::contention::mean_error_percent;
    all.push_back({placement, std::ranges::find(samples, placement) != samples.end(),
                   mean_error_percent(measured.communication_mb_s, communication),
                   mean_error_percent(measured.computation_mb_s, computation)});
  }
  return all;
}

ErrorSummary summarize(const std::vector<PlacementError>& errors) {
  const auto mean_where = [&errors](double PlacementError::*value, std::optional<bool> sample) {
    std::vector<double> values;
    for (const PlacementError& error : errors) {
      if (!sample || error.is_sample == *sample) values.push_back(error.*value);
    }
    return mean(values);
  };
  ErrorSummary summary;
  summary.communication_on_samples = mean_where(&PlacementError::communication_percent, true);
  summary.communication_elsewhere = mean_where(&PlacementError::communication_percent, false);
  summary.communication =
      mean_where(&PlacementError::communication_percent, std::nullopt).value_or(0);
  summary.computation_on_samples = mean_where(&PlacementError::computation_percent, true);
  summary.computation_elsewhere = mean_where(&PlacementError::computation_percent, false);
  summary.computation = mean_where(&PlacementError::computation_percent, std::nullopt).value_or(0);
  summary.average = (summary.communication + summary.computation) / 2;
  return summary;
}

double quantile(std::vector<double> values, double fraction) {
  std::ranges::sort(values);
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace contention

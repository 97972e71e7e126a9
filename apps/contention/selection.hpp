#pragma once
// Curves of one kernel and kind of message out of all measurements, and the model that they give.

#include <shoal/contention/calibration.hpp>
#include <shoal/contention/model.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contention/measurements.hpp"

namespace contention {

using shoal::contention::Model;
using shoal::contention::Placement;

/// Measurements that belong to one model. An empty value is chosen by resolve().
struct Selection {
  std::optional<Kernel> kernel = {};
  std::optional<Channel> channel = {};
  std::optional<std::uint64_t> message_bytes = {};
  std::optional<int> thread_node = {};
};

/// The selection with all values: the kernel `fill`, the first of mpi, large and small that was
/// measured beside the kernel, its largest messages, and the first thread node there.
/// **Errors**: InputError when no measurement fits.
[[nodiscard]] Selection resolve(const Measurements& measurements, const Selection& selection);

/// Medians of the repetitions at one placement.
/// **Errors**: InputError that names the first missing measurement.
[[nodiscard]] shoal::contention::Measurement curves_of(const Measurements& measurements,
                                                       const Selection& selection,
                                                       const Placement& placement);

/// Placements with measurements beside communication, nodes of computation ascending.
[[nodiscard]] std::vector<Placement> placements_of(const Measurements& measurements,
                                                   const Selection& selection);

/// The two placements that the model is calibrated with; one on a machine with one socket.
[[nodiscard]] std::vector<Placement> samples_of(int nodes, int nodes_per_socket);

/// A model, and sentences for its user.
struct Calibrated {
  Model model;
  std::vector<std::string> warnings;  // assumptions of the model that do not hold
};

/// **Errors**: InputError when a measurement of one of samples_of() is missing.
[[nodiscard]] Calibrated calibrate(const Measurements& measurements, const Selection& selection,
                                   double noise);

/// Mean absolute percentage errors of one placement (section 6.3.2 of the thesis).
struct PlacementError {
  Placement placement;
  bool is_sample = false;  // the model was calibrated with it
  double communication_percent = 0;
  double computation_percent = 0;
};

/// Errors of the model at all measured placements. **Errors**: InputError when the model has other
/// cores or nodes than the machine, or a measurement is missing.
[[nodiscard]] std::vector<PlacementError> errors_of(const Model& model,
                                                    const Measurements& measurements,
                                                    const Selection& selection);

/// Means over placements, as in table 6.1 of the thesis. Without placements of a kind: empty.
struct ErrorSummary {
  std::optional<double> communication_on_samples;
  std::optional<double> communication_elsewhere;
  double communication = 0;
  std::optional<double> computation_on_samples;
  std::optional<double> computation_elsewhere;
  double computation = 0;
  double average = 0;
};
[[nodiscard]] ErrorSummary summarize(const std::vector<PlacementError>& errors);

/// Value below which the share `fraction` (0 to 1) of the values lies, interpolated.
[[nodiscard]] double quantile(std::vector<double> values, double fraction);

}  // namespace contention

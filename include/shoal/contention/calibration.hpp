#pragma once
// Parameters of the contention model from measurements of two placements.

#include <shoal/contention/model.hpp>

#include <string>
#include <vector>

namespace shoal::contention {

/// Measured bandwidths of one placement, in MB/s. Index i: i + 1 computing cores.
struct Measurement {
  /// Without communication.
  std::vector<double> computation_alone_mb_s;
  std::vector<double> computation_mb_s;    // beside communication
  std::vector<double> communication_mb_s;  // beside computation
  /// Repeated measurements of communication without computation, at least one.
  std::vector<double> communication_alone_mb_s;
};

/// Parameters and their reservations.
struct Calibration {
  /// Parameters of the placement.
  Parameters parameters;
  /// Sentences about assumptions of the model that the machine does not meet; predictions may then
  /// be far off. Empty on a machine that the model describes.
  std::vector<std::string> warnings;
};

/// Finds the parameters as section 6.3.1 describes: largest totals, bends and losses between them.
///
/// Measurements scatter on a plateau. Among the numbers of cores within `noise` (a fraction) of the
/// largest total, cores_par is the last, since equation 6.1 lets the total fall behind it, and
/// cores_seq the first that reaches the largest lone bandwidth. With noise 0 both are the maximum,
/// as in the thesis. **Errors**: ConfigError when sizes differ, nothing was measured or a value is
/// not positive.
[[nodiscard]] Calibration calibrate(const Measurement& measurement, double noise = 0);

}  // namespace shoal::contention

#pragma once
// Number of computing cores and placement of data that finish work and a transfer soonest.

#include <shoal/contention/model.hpp>

#include <optional>

namespace shoal::contention {

/// Bytes of one phase, in MB (10^6 bytes): memory traffic of computation, and data received from
/// the network meanwhile.
struct Phase {
  /// Memory traffic of computation.
  double computation_mb = 0;
  /// Data received from the network.
  double communication_mb = 0;
};

/// A way to run a phase.
struct Choice {
  int cores = 0;  // that compute while data arrives; 0: computation starts after the transfer
  /// NUMA nodes of the data.
  Placement placement;
  Bandwidths bandwidths;           // while both run; with 0 cores, of communication alone
  double communication_end_s = 0;  // from the start of the phase
  double end_s = 0;                // of both

  bool operator==(const Choice&) const = default;
};

/// Time of a phase with `cores` cores beside the transfer. Work left when the transfer ends runs on
/// the number of cores that is fastest alone, since a limit holds beside transfers only.
/// **Errors**: ConfigError from check() and predict(), for a number of cores outside 0 to
/// model.cores, and for a phase with a negative or infinite number of bytes.
[[nodiscard]] Choice evaluate(const Model& model, const Phase& phase, const Placement& placement,
                              int cores);

/// Restrictions of a search: an empty one is searched.
struct Fixed {
  /// Number of computing cores.
  std::optional<int> cores = {};
  /// NUMA node of the data of computation.
  std::optional<int> computation_node = {};
  /// NUMA node of the received data.
  std::optional<int> communication_node = {};
};

/// The choice with the earliest end. Among choices that differ by less than 0.1 % the first is
/// taken: data on nodes with small numbers, then few cores. **Errors**: as evaluate().
[[nodiscard]] Choice advise(const Model& model, const Phase& phase, const Fixed& fixed = {});

/// The choice for a phase in which computation and communication would take equally long alone:
/// for a runtime system, which does not know what a program will do. `fixed.computation_node` is 0
/// if it is not given: data of tasks lie beside the cores that run them. **Errors**: as evaluate().
[[nodiscard]] Choice advise_evenly(const Model& model, Fixed fixed = {});

/// The largest number of computing cores that leave communication `share` (0 to 1) of its bandwidth
/// without computation; 0 when one core is too many. **Errors**: ConfigError from predict(), and
/// for a share outside [0, 1].
[[nodiscard]] int most_cores(const Model& model, const Placement& placement, double share);

}  // namespace shoal::contention

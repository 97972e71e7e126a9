#pragma once
// Memory bandwidth shared by computation and communication: the contention model of Swartvagher's
// thesis ("On the Interactions between HPC Task-based Runtime Systems and Communication
// Libraries", chapter 6, equations 6.1 to 6.8, algorithms 3 to 6).
//
// All bandwidths are in MB/s, 10^6 bytes per second, as in the thesis. All functions are pure: any
// thread may call them, and they never block.

#include <shoal/detail/base/language.hpp>

#include <string>
#include <vector>

namespace shoal::contention {

/// Behaviour of one memory placement (section 6.2.1); names of the thesis in parentheses.
struct Parameters {
  int cores_par = 1;             // computing cores at the largest total (N_par^max)
  double total_par_mb_s = 0;     // largest total beside communication (T_par^max)
  int cores_seq = 1;             // computing cores at the largest lone bandwidth (N_seq^max)
  double total_seq_mb_s = 0;     // largest bandwidth of computation alone (T_seq^max)
  double total_bend_mb_s = 0;    // total beside communication with cores_seq cores (T_par^max2)
  double loss_left_mb_s = 0;     // per core from cores_par to cores_seq (delta_l)
  double loss_right_mb_s = 0;    // per core beyond cores_seq (delta_r)
  double core_mb_s = 0;          // one computing core alone (B_comp^seq)
  double network_mb_s = 0;       // communication alone (B_comm^seq)
  double network_share_min = 1;  // of network_mb_s, in the worst case (alpha)

  bool operator==(const Parameters&) const = default;
};

/// Bandwidths with a number of computing cores.
struct Bandwidths {
  double computation_alone_mb_s = 0;  // equation 6.6
  double computation_mb_s = 0;        // beside communication, all cores together, equation 6.3
  double communication_mb_s = 0;      // beside computation, equation 6.4

  bool operator==(const Bandwidths&) const = default;
};

/// NUMA nodes of the data, numbered from the socket on which the cores compute.
struct Placement {
  /// NUMA node of the data of computation.
  int computation_node = 0;
  /// NUMA node of the received data.
  int communication_node = 0;

  bool operator==(const Placement&) const = default;
};

/// A machine: parameters of two placements, from which all others are predicted.
struct Model {
  std::string machine;       // for titles
  int cores = 1;             // that compute, of one socket
  int nodes = 1;             // NUMA nodes
  int nodes_per_socket = 1;  // the first ones are local to the cores (#m)
  Parameters local;          // both data on the first node of the socket
  Parameters remote;         // both data on the first node of the other socket

  bool operator==(const Model&) const = default;
};

/// Capacity of the memory system with `cores` computing cores (equation 6.1, algorithm 3).
[[nodiscard]] double total_mb_s(const Parameters& parameters, int cores);

/// Returns the bandwidths with 1 to `cores` computing cores, at index cores - 1 (equations 6.2 to
/// 6.6, algorithm 4). The thesis leaves the interpolation 6.5 open when not even one core fits
/// beside the minimum of communication; then this starts from communication alone.
/// **Errors**: ConfigError from check().
[[nodiscard]] std::vector<Bandwidths> predict(const Parameters& parameters, int cores);

/// Returns the bandwidths with 1 to `model.cores` computing cores for a placement of the data, at
/// index cores - 1 (equations 6.7 and 6.8, algorithms 5 and 6).
/// **Errors**: ConfigError from check(), and for a node that the machine does not have.
[[nodiscard]] std::vector<Bandwidths> predict(const Model& model, const Placement& placement);

/// Mean absolute percentage error of predictions (section 6.3.2), in percent.
/// **Errors**: ConfigError when the sizes differ, nothing was measured or a measured value is not
/// positive.
[[nodiscard]] double mean_error_percent(const std::vector<double>& measured,
                                        const std::vector<double>& predicted);

/// Checks the parameters of a placement. **Errors**: ConfigError that names the parameter without a
/// meaning: not finite, a number of cores below 1, a bandwidth that is not positive, a share
/// outside (0, 1].
void check(const Parameters& parameters);
/// Checks a model. **Errors**: ConfigError, as for the parameters of its placements.
void check(const Model& model);

/// Returns the model as a JSON text.
[[nodiscard]] std::string to_json(const Model& model);
/// Returns the model of a text that to_json() returned. **Errors**: ConfigError that names the key
/// that is missing, unknown or of the wrong type; those of check().
[[nodiscard]] Model model_from_json(const std::string& text);

}  // namespace shoal::contention

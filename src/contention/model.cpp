#include <shoal/contention/model.hpp>

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace shoal::contention {

namespace {

void check_at_least(const char* name, double value, double least) {
  if (std::isfinite(value) && value >= least) return;
  throw ConfigError(
      fmt::format("contention model: {} is {}: it must be at least {}", name, value, least));
}

void check_positive(const char* name, double value) {
  if (std::isfinite(value) && value > 0) return;
  throw ConfigError(
      fmt::format("contention model: {} is {} MB/s: it must be positive", name, value));
}

void check_node(const char* name, int node, int nodes) {
  if (node >= 0 && node < nodes) return;
  throw ConfigError(
      fmt::format("contention model: {} is NUMA node {}: the machine has nodes 0 to {}", name, node,
                  nodes - 1));
}

/// The largest number of cores so far that fits beside the minimum of communication, and the share
/// of the network's bandwidth that was left to communication then (beta in algorithm 4).
struct LastFit {
  int cores = 0;
  double share = 1;
};

/// alpha(n), equation 6.5.
double network_share(const Parameters& of, int cores, const LastFit& last) {
  if (of.cores_seq - of.cores_par <= 1 || cores >= of.cores_seq) return of.network_share_min;
  const double step = (last.share - of.network_share_min) / (of.cores_seq - last.cores);
  return last.share - step * (cores - last.cores);
}

}  // namespace

void check(const Parameters& parameters) {
  check_at_least("cores_par", parameters.cores_par, 1);
  check_at_least("cores_seq", parameters.cores_seq, 1);
  check_positive("total_par_mb_s", parameters.total_par_mb_s);
  check_positive("total_seq_mb_s", parameters.total_seq_mb_s);
  check_positive("total_bend_mb_s", parameters.total_bend_mb_s);
  check_positive("core_mb_s", parameters.core_mb_s);
  check_positive("network_mb_s", parameters.network_mb_s);
  const double share = parameters.network_share_min;
  if (!(share > 0 && share <= 1)) {
    throw ConfigError(fmt::format(
        "contention model: network_share_min is {}: it must be above 0 and at most 1", share));
  }
  for (const double loss : {parameters.loss_left_mb_s, parameters.loss_right_mb_s}) {
    if (!std::isfinite(loss)) throw ConfigError("contention model: a loss per core is not finite");
  }
}

void check(const Model& model) {
  check_at_least("cores", model.cores, 1);
  check_at_least("nodes_per_socket", model.nodes_per_socket, 1);
  check_at_least("nodes", model.nodes, model.nodes_per_socket);
  check(model.local);
  check(model.remote);
}

double total_mb_s(const Parameters& parameters, int cores) {
  if (cores <= parameters.cores_par) return parameters.total_par_mb_s;
  if (cores <= parameters.cores_seq) {
    return parameters.total_par_mb_s - parameters.loss_left_mb_s * (cores - parameters.cores_par);
  }
  return parameters.total_bend_mb_s - parameters.loss_right_mb_s * (cores - parameters.cores_seq);
}

std::vector<Bandwidths> predict(const Parameters& parameters, int cores) {
  check(parameters);
  check_at_least("cores", cores, 1);
  std::vector<Bandwidths> all;
  all.reserve(static_cast<std::size_t>(cores));
  LastFit last;
  for (int n = 1; n <= cores; ++n) {
    const double total = total_mb_s(parameters, n);
    const double wanted = n * parameters.core_mb_s;
    Bandwidths one;
    one.computation_alone_mb_s = std::min({wanted, total, parameters.total_seq_mb_s});
    if (wanted + parameters.network_share_min * parameters.network_mb_s < total) {
      one.computation_mb_s = wanted;
      one.communication_mb_s = std::min(total - wanted, parameters.network_mb_s);
      last = {n, one.communication_mb_s / parameters.network_mb_s};
    } else {
      one.communication_mb_s = network_share(parameters, n, last) * parameters.network_mb_s;
      one.computation_mb_s = total - one.communication_mb_s;
    }
    all.push_back(one);
  }
  return all;
}

std::vector<Bandwidths> predict(const Model& model, const Placement& placement) {
  check(model);
  check_node("the data of computation", placement.computation_node, model.nodes);
  check_node("the data of communication", placement.communication_node, model.nodes);
  const bool same_node = placement.computation_node == placement.communication_node;
  const bool computes_remotely = placement.computation_node >= model.nodes_per_socket;
  const bool communicates_remotely = placement.communication_node >= model.nodes_per_socket;

  // Equation 6.7: away from the computation's node, the remote network bandwidth and local shares.
  Parameters of_communication = model.local;
  if (computes_remotely && same_node) {
    of_communication = model.remote;
  } else if (communicates_remotely) {
    of_communication.network_mb_s = model.remote.network_mb_s;
  }
  std::vector<Bandwidths> result =
      predict(computes_remotely ? model.remote : model.local, model.cores);
  const std::vector<Bandwidths> communication = predict(of_communication, model.cores);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].communication_mb_s = communication[i].communication_mb_s;
    if (!same_node) result[i].computation_mb_s = result[i].computation_alone_mb_s;  // equation 6.8
  }
  return result;
}

double mean_error_percent(const std::vector<double>& measured,
                          const std::vector<double>& predicted) {
  if (measured.empty() || measured.size() != predicted.size()) {
    throw ConfigError(fmt::format(
        "contention model: {} measured and {} predicted bandwidths: both must be there, as many",
        measured.size(), predicted.size()));
  }
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    check_positive("a measured bandwidth", measured[i]);
    sum += std::abs((measured[i] - predicted[i]) / measured[i]);
  }
  return 100 * sum / static_cast<double>(measured.size());
}

}  // namespace shoal::contention

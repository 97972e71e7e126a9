#include <shoal/contention/advice.hpp>

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace shoal::contention {

namespace {

// Predictions are off by percents: a gain below this is none.
constexpr double kNoticeable = 1e-3;

/// Curves of one placement.
struct Curves {
  Curves(const Model& model, const Placement& at) : placement(at), both(predict(model, at)) {
    const bool far = at.communication_node >= model.nodes_per_socket;
    network_mb_s = far ? model.remote.network_mb_s : model.local.network_mb_s;
    for (const Bandwidths& one : both) {
      alone_mb_s = std::max(alone_mb_s, one.computation_alone_mb_s);
    }
  }

  Placement placement;
  std::vector<Bandwidths> both;
  double network_mb_s = 0;  // communication alone
  double alone_mb_s = 0;    // computation alone, on as many cores as are best
};

void check(const Phase& phase) {
  for (const double size_mb : {phase.computation_mb, phase.communication_mb}) {
    if (std::isfinite(size_mb) && size_mb >= 0) continue;
    throw ConfigError(fmt::format(
        "contention advice: a phase of {} MB: it must be a number that is not negative", size_mb));
  }
}

void check_cores(int cores, int last) {
  if (cores >= 0 && cores <= last) return;
  throw ConfigError(fmt::format("contention advice: {} cores: the model has 0 to {}", cores, last));
}

Choice evaluate(const Curves& curves, const Phase& phase, int cores) {
  Choice result{cores, curves.placement, {}, 0, 0};
  if (cores == 0) {
    result.bandwidths.communication_mb_s = curves.network_mb_s;
    result.communication_end_s = phase.communication_mb / curves.network_mb_s;
    result.end_s = result.communication_end_s + phase.computation_mb / curves.alone_mb_s;
    return result;
  }
  result.bandwidths = curves.both[static_cast<std::size_t>(cores) - 1];
  // A model far from its measurements may predict less than nothing.
  const double computation_mb_s = std::max(0.0, result.bandwidths.computation_mb_s);
  const double computation_s =
      phase.computation_mb == 0 ? 0 : phase.computation_mb / computation_mb_s;
  const double communication_s = phase.communication_mb / result.bandwidths.communication_mb_s;
  if (computation_s <= communication_s) {
    const double left_mb =
        phase.communication_mb - computation_s * result.bandwidths.communication_mb_s;
    result.communication_end_s = computation_s + left_mb / curves.network_mb_s;
    result.end_s = result.communication_end_s;
  } else {
    const double left_mb = phase.computation_mb - communication_s * computation_mb_s;
    result.communication_end_s = communication_s;
    result.end_s = communication_s + left_mb / curves.alone_mb_s;
  }
  return result;
}

/// The nodes to search.
std::vector<int> nodes_of(const Model& model, const std::optional<int>& fixed) {
  if (fixed) return {*fixed};
  std::vector<int> all(static_cast<std::size_t>(model.nodes));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Choice evaluate(const Model& model, const Phase& phase, const Placement& placement, int cores) {
  check(phase);
  const Curves curves(model, placement);
  check_cores(cores, model.cores);
  return evaluate(curves, phase, cores);
}

Choice advise(const Model& model, const Phase& phase, const Fixed& fixed) {
  check(phase);
  check(model);
  if (fixed.cores) check_cores(*fixed.cores, model.cores);
  std::optional<Choice> best;
  for (const int computation : nodes_of(model, fixed.computation_node)) {
    for (const int communication : nodes_of(model, fixed.communication_node)) {
      const Curves curves(model, {computation, communication});
      const int first = fixed.cores.value_or(0);
      for (int cores = first; cores <= fixed.cores.value_or(model.cores); ++cores) {
        const Choice choice = evaluate(curves, phase, cores);
        if (!best || choice.end_s < (1 - kNoticeable) * best->end_s) best = choice;
      }
    }
  }
  return *best;
}

Choice advise_evenly(const Model& model, Fixed fixed) {
  check(model);
  if (!fixed.computation_node) fixed.computation_node = 0;
  const Curves curves(model, {*fixed.computation_node, fixed.communication_node.value_or(0)});
  return advise(model, {curves.alone_mb_s, curves.network_mb_s}, fixed);
}

int most_cores(const Model& model, const Placement& placement, double share) {
  if (!(share >= 0 && share <= 1)) {
    throw ConfigError(
        fmt::format("contention advice: a share of {}: it must be from 0 to 1", share));
  }
  const Curves curves(model, placement);
  int most = 0;
  for (std::size_t i = 0; i < curves.both.size(); ++i) {
    if (curves.both[i].communication_mb_s < share * curves.network_mb_s) break;
    most = static_cast<int>(i) + 1;
  }
  return most;
}

}  // namespace shoal::contention

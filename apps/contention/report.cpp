#include "contention/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace contention {
namespace {

using shoal::contention::Bandwidths;
using shoal::contention::Choice;
using shoal::contention::Fixed;
using shoal::contention::Parameters;
using shoal::contention::Phase;

/// Calls visit(placement) for all that `fixed` allows.
template <class Visit>
void for_each_placement(const Model& model, const Fixed& fixed, Visit visit) {
  const int computation_first = fixed.computation_node.value_or(0);
  const int computation_last = fixed.computation_node.value_or(model.nodes - 1);
  const int communication_first = fixed.communication_node.value_or(0);
  const int communication_last = fixed.communication_node.value_or(model.nodes - 1);
  for (int computation = computation_first; computation <= computation_last; ++computation) {
    for (int communication = communication_first; communication <= communication_last;
         ++communication) {
      visit(Placement{computation, communication});
    }
  }
}

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f} %", *value) : "-";
}

std::string describe(const Choice& choice) {
  const std::string nodes =
      fmt::format("data of computation on node {}, buffers of communication on node {}",
                  choice.placement.computation_node, choice.placement.communication_node);
  if (choice.cores == 0) return fmt::format("no core until the data is there; {}", nodes);
  return fmt::format("{} {}; {}", choice.cores, choice.cores == 1 ? "core" : "cores", nodes);
}

}  // namespace

std::string parameters_text(const Model& model) {
  std::string text = fmt::format("{}: {} computing cores, {} NUMA {}, {} in a socket\n",
                                 model.machine, model.cores, model.nodes,
                                 model.nodes == 1 ? "node" : "nodes", model.nodes_per_socket);
  const bool has_remote = model.nodes > model.nodes_per_socket;
  text += fmt::format("  {:<44} {:>10} {:>10}\n", "", "local", has_remote ? "remote" : "");
  const auto add = [&](const char* label, auto value) {
    text += fmt::format("  {:<44} {:>10.5g} {:>10}\n", label, value(model.local),
                        has_remote ? fmt::format("{:.5g}", value(model.remote)) : "");
  };
  add("cores at the largest total", [](const Parameters& of) { return 1.0 * of.cores_par; });
  add("largest total, MB/s", [](const Parameters& of) { return of.total_par_mb_s; });
  add("cores at the largest bandwidth alone",
      [](const Parameters& of) { return 1.0 * of.cores_seq; });
  add("largest bandwidth of computation alone, MB/s",
      [](const Parameters& of) { return of.total_seq_mb_s; });
  add("total with that number of cores, MB/s",
      [](const Parameters& of) { return of.total_bend_mb_s; });
  add("loss per core before it, MB/s", [](const Parameters& of) { return of.loss_left_mb_s; });
  add("loss per core behind it, MB/s", [](const Parameters& of) { return of.loss_right_mb_s; });
  add("one core alone, MB/s", [](const Parameters& of) { return of.core_mb_s; });
  add("network alone, MB/s", [](const Parameters& of) { return of.network_mb_s; });
  add("share that the network keeps at least",
      [](const Parameters& of) { return of.network_share_min; });
  return text;
}

std::string errors_text(const std::vector<PlacementError>& errors) {
  std::string text = fmt::format("{:>11} {:>13} {:>10} {:>12}\n", "computation", "communication",
                                 "calibrated", "error of");
  text += fmt::format("{:>11} {:>13} {:>10} {:>13} {:>13}\n", "node", "node", "with",
                      "communication", "computation");
  for (const PlacementError& error : errors) {
    text += fmt::format("{:>11} {:>13} {:>10} {:>13} {:>13}\n", error.placement.computation_node,
                        error.placement.communication_node, error.is_sample ? "yes" : "no",
                        percent(error.communication_percent), percent(error.computation_percent));
  }
  const ErrorSummary mean = summarize(errors);
  const auto add = [&text](const char* label, const std::string& communication,
                           const std::string& computation) {
    text += fmt::format("{:>36} {:>13} {:>13}\n", label, communication, computation);
  };
  add("mean of those calibrated with", percent(mean.communication_on_samples),
      percent(mean.computation_on_samples));
  add("mean of the others", percent(mean.communication_elsewhere),
      percent(mean.computation_elsewhere));
  add("mean", percent(mean.communication), percent(mean.computation));
  add("mean of both", percent(mean.average), "");
  return text;
}

std::string curves_csv(const Model& model, const Fixed& fixed) {
  std::string text =
      "computation_node,communication_node,cores,computation_alone_mb_s,computation_mb_s,"
      "communication_mb_s\n";
  for_each_placement(model, fixed, [&](const Placement& placement) {
    int cores = 0;
    for (const Bandwidths& one : predict(model, placement)) {
      text += fmt::format("{},{},{},{:.6g},{:.6g},{:.6g}\n", placement.computation_node,
                          placement.communication_node, ++cores, one.computation_alone_mb_s,
                          one.computation_mb_s, one.communication_mb_s);
    }
  });
  return text;
}

std::string limits_text(const Model& model, double share) {
  std::string text =
      fmt::format("{}: cores that leave the network {:.0f} % of its bandwidth, and all {} cores\n",
                  model.machine, 100 * share, model.cores);
  text += fmt::format("{:>11} {:>13} {:>6} {:>14} {:>16}\n", "computation", "communication",
                      "cores", "network, all", "computation, all");
  text += fmt::format("{:>11} {:>13} {:>6} {:>14} {:>16}\n", "node", "node", "", "MB/s", "MB/s");
  for_each_placement(model, {}, [&](const Placement& placement) {
    const Bandwidths all = predict(model, placement).back();
    text += fmt::format("{:>11} {:>13} {:>6} {:>14.0f} {:>16.0f}\n", placement.computation_node,
                        placement.communication_node, most_cores(model, placement, share),
                        all.communication_mb_s, all.computation_mb_s);
  });
  return text;
}

std::string phase_text(const Model& model, const Phase& phase, const Fixed& fixed) {
  const Choice best = advise(model, phase, fixed);
  const Placement usual{fixed.computation_node.value_or(0), fixed.communication_node.value_or(0)};
  const Choice all = evaluate(model, phase, usual, model.cores);
  std::string text = fmt::format("{:.6g} MB of memory traffic, {:.6g} MB received\n",
                                 phase.computation_mb, phase.communication_mb);
  for (const Choice* choice : {&best, &all}) {
    text += fmt::format("  {:<10} {}: {:.4g} s, data there after {:.4g} s\n",
                        choice == &best ? "best" : "all cores", describe(*choice), choice->end_s,
                        choice->communication_end_s);
  }
  text += fmt::format("  {:<10} {:.1f} % of the time\n", "gain",
                      all.end_s > 0 ? std::max(0.0, 100 * (1 - best.end_s / all.end_s)) : 0.0);
  return text;
}

std::string choice_json(const Choice& choice) {
  const nlohmann::ordered_json json{{"cores", choice.cores},
                                    {"computation_node", choice.placement.computation_node},
                                    {"communication_node", choice.placement.communication_node},
                                    {"computation_mb_s", choice.bandwidths.computation_mb_s},
                                    {"communication_mb_s", choice.bandwidths.communication_mb_s},
                                    {"communication_end_s", choice.communication_end_s},
                                    {"end_s", choice.end_s}};
  return json.dump(2) + "\n";
}

}  // namespace contention

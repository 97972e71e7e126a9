#include "contention/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/input_error.hpp"

namespace contention {
namespace {

using apps::InputError;
using shoal::contention::Bandwidths;
using shoal::contention::Measurement;

constexpr const char* kNetworkColor = "#1f6fb4";
constexpr const char* kComputationColor = "#e07b1a";
constexpr const char* kAloneColor = "#3a9a45";
constexpr double kMbPerGb = 1000;

/// Values in MB/s as points in GB/s, with 1, 2, ... cores.
std::vector<ChartPoint> in_gb(const std::vector<double>& values_mb_s) {
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < values_mb_s.size(); ++i) {
    points.push_back({static_cast<double>(i) + 1, values_mb_s[i] / kMbPerGb, 0, 0});
  }
  return points;
}

/// Three curves of one placement, in MB/s.
struct Curves {
  std::vector<double> alone;
  std::vector<double> computation;
  std::vector<double> communication;
};

Curves curves_of(const Model& model, const Placement& placement) {
  Curves curves;
  for (const Bandwidths& one : predict(model, placement)) {
    curves.alone.push_back(one.computation_alone_mb_s);
    curves.computation.push_back(one.computation_mb_s);
    curves.communication.push_back(one.communication_mb_s);
  }
  return curves;
}

/// Cores, nodes and name of the machine, from the model or the measurements.
Machine machine_of(const FigureInput& input) {
  if (input.model != nullptr) {
    const Model& of = *input.model;
    return {of.machine, "", of.cores, of.nodes, of.nodes_per_socket};
  }
  if (input.measurements != nullptr) return input.measurements->machine;
  throw InputError("this figure needs a model or measurements");
}

Series make_series(const char* name, const char* color, std::vector<ChartPoint> points) {
  Series series;
  series.name = name;
  series.color = color;
  series.points = std::move(points);
  return series;
}

void add_markers(Panel& panel, const Measurement& measured) {
  const std::vector<double> network(measured.computation_mb_s.size(),
                                    quantile(measured.communication_alone_mb_s, 0.5));
  const auto add = [&panel](const char* name, const std::vector<double>& values, Marker marker,
                            bool right) {
    Series series = make_series(name, right ? kComputationColor : kNetworkColor, in_gb(values));
    series.line = Line::none;
    series.marker = marker;
    series.on_right_axis = right;
    panel.series.push_back(std::move(series));
  };
  add("network, alone", network, Marker::circle, false);
  add("network, beside computation", measured.communication_mb_s, Marker::triangle, false);
  add("computation, alone", measured.computation_alone_mb_s, Marker::circle, true);
  add("computation, beside network", measured.computation_mb_s, Marker::triangle, true);
}

/// With the bandwidth of the network alone: also the curves of each without the other.
void add_predictions(Panel& panel, const Curves& curves, std::optional<double> network_mb_s) {
  panel.series.push_back(
      make_series("network, predicted", kNetworkColor, in_gb(curves.communication)));
  panel.series.push_back(
      make_series("computation, predicted", kComputationColor, in_gb(curves.computation)));
  panel.series.back().on_right_axis = true;
  if (!network_mb_s) return;
  const std::vector<double> network(curves.alone.size(), *network_mb_s);
  panel.series.push_back(make_series("network, alone", kNetworkColor, in_gb(network)));
  panel.series.back().line = Line::dashed;
  panel.series.push_back(make_series("computation, alone", kComputationColor, in_gb(curves.alone)));
  panel.series.back().line = Line::dashed;
  panel.series.back().on_right_axis = true;
}

/// Panel of one placement, of the model, the measurements or both.
Panel placement_panel(const FigureInput& input, const Selection& selection,
                      const std::vector<Placement>& measured, const Placement& placement) {
  Panel panel;
  panel.title = fmt::format("computation: node {}, communication: node {}",
                            placement.computation_node, placement.communication_node);
  const bool is_measured = std::ranges::find(measured, placement) != measured.end();
  if (is_measured) add_markers(panel, curves_of(*input.measurements, selection, placement));
  if (input.model != nullptr) {
    const Model& model = *input.model;
    const bool far = placement.communication_node >= model.nodes_per_socket;
    std::optional<double> network_mb_s;
    if (!is_measured) network_mb_s = (far ? model.remote : model.local).network_mb_s;
    add_predictions(panel, curves_of(model, placement), network_mb_s);
  }
  return panel;
}

/// Computation, with communication on top: areas between two curves.
Panel stacked_panel(const Curves& curves, const Placement& placement) {
  Panel panel;
  panel.title = fmt::format("all data on node {}", placement.computation_node);
  Series computation =
      make_series("computation, beside network", kComputationColor, in_gb(curves.computation));
  Series network = make_series("network, on top of it", kNetworkColor, in_gb(curves.computation));
  computation.is_area = network.is_area = true;
  for (std::size_t i = 0; i < network.points.size(); ++i) {
    ChartPoint& point = network.points[i];
    point.low = point.y;
    point.y += curves.communication[i] / kMbPerGb;
  }
  panel.series = {std::move(computation), std::move(network),
                  make_series("computation, alone", kAloneColor, in_gb(curves.alone))};
  return panel;
}

/// A figure of chapter 5: its curves over one of the settings.
struct Sweep {
  const char* name;
  const char* title;
  const char* x_label;
  bool is_logarithmic;
  Kernel kernel;
  Traffic traffic;
  bool shows_latency;
  double (*x)(const Point&);
  void (*forget_x)(Point&);  // makes points of one chart equal
};

constexpr const char* kCoresLabel = "computing cores";
constexpr const char* kSizeLabel = "message size, bytes";
// Multiplications and additions: each element of triad moves 3 words and takes 2 of them per pass.
constexpr const char* kIntensityLabel = "arithmetic intensity, flop/byte";
constexpr double kFlopPerByte = 2.0 / 24;

double cores_x(const Point& point) { return point.cores; }
void forget_cores(Point& point) { point.cores = 0; }
double size_x(const Point& point) { return static_cast<double>(point.message_bytes); }
void forget_size(Point& point) { point.message_bytes = 0; }
double intensity_x(const Point& point) { return kFlopPerByte * point.work; }
double pauses_x(const Point& point) { return point.work; }
void forget_work(Point& point) { point.work = 0; }

const std::vector<Sweep>& sweeps() {
  static const std::vector<Sweep> all{
      {"cores", "Network bandwidth and computation", kCoresLabel, false, Kernel::triad,
       Traffic::receive, false, cores_x, forget_cores},
      {"cores-latency", "Network latency and computation", kCoresLabel, false, Kernel::triad,
       Traffic::ping_pong, true, cores_x, forget_cores},
      {"sizes", "Message sizes", kSizeLabel, true, Kernel::triad, Traffic::ping_pong, false, size_x,
       forget_size},
      {"sizes-latency", "Message sizes", kSizeLabel, true, Kernel::triad, Traffic::ping_pong, true,
       size_x, forget_size},
      {"gets", "Reads of global memory", kSizeLabel, true, Kernel::triad, Traffic::receive, false,
       size_x, forget_size},
      {"intensity", "From memory-bound to compute-bound", kIntensityLabel, true, Kernel::triad,
       Traffic::receive, false, intensity_x, forget_work},
      {"intensity-latency", "From memory-bound to compute-bound", kIntensityLabel, true,
       Kernel::triad, Traffic::ping_pong, true, intensity_x, forget_work},
      {"polling", "Threads that poll a shared lock", "pauses between two polls", true, Kernel::poll,
       Traffic::ping_pong, true, pauses_x, forget_work},
  };
  return all;
}

/// Median and deciles of the values of a point; nothing without values.
void add_point(Series& series, const std::vector<double>& values, double x, double factor) {
  if (values.empty()) return;
  series.points.push_back({x, factor * quantile(values, 0.5), factor * quantile(values, 0.1),
                           factor * quantile(values, 0.9)});
}

/// Collects the charts of a sweep.
class SweepCharts {
 public:
  SweepCharts(const Sweep& sweep, const FigureInput& input) : sweep_(sweep), input_(input) {
    for (const Sample& sample : input.measurements->samples) {
      const auto& network = sweep.shows_latency ? sample.latency_us : sample.communication_mb_s;
      if (network) network_[sample.point].push_back(*network);
      if (sample.computation_mb_s) computation_[sample.point].push_back(*sample.computation_mb_s);
    }
  }

  std::vector<Panel> make() const {
    std::map<Point, std::set<std::pair<double, Point>>> charts;
    for (const auto& [point, values] : network_) {
      if (!fits(point)) continue;
      Point key = point;
      sweep_.forget_x(key);
      charts[key].insert({sweep_.x(point), point});
    }
    std::vector<Panel> panels;
    for (const auto& [key, points] : charts) {
      if (points.size() > 1) panels.push_back(make_panel(key, points));
    }
    return panels;
  }

 private:
  [[nodiscard]] bool fits(const Point& point) const {
    return point.kernel == input_.selection.kernel.value_or(sweep_.kernel) && point.cores > 0 &&
           point.traffic == sweep_.traffic &&
           (!input_.selection.channel || point.channel == *input_.selection.channel);
  }

  [[nodiscard]] Panel make_panel(const Point& key,
                                 const std::set<std::pair<double, Point>>& points) const {
    Panel panel;
    panel.title = title_of(key);
    std::vector<Series> all;
    for (const bool right : {false, true}) {
      for (const bool together : {false, true}) {
        Series series =
            make_series(name_of(right, together), right ? kComputationColor : kNetworkColor, {});
        series.line = together ? Line::dashed : Line::solid;
        series.on_right_axis = right;
        series.has_band = true;
        for (const auto& [x, point] : points) {
          const auto& values = right ? computation_ : network_;
          const auto found = values.find(together ? point : alone(point, right));
          if (found == values.end()) continue;
          const bool is_latency = !right && sweep_.shows_latency;
          add_point(series, found->second, x, is_latency ? 1 : 1 / kMbPerGb);
        }
        panel.series.push_back(std::move(series));
      }
    }
    return panel;
  }

  static const char* name_of(bool right, bool together) {
    if (right) return together ? "computation, beside network" : "computation, alone";
    return together ? "network, beside computation" : "network, alone";
  }

  /// The point without communication, or without computation.
  static Point alone(const Point& point, bool computation) {
    Point result;
    if (computation) {
      result.kernel = point.kernel;
      result.work = point.work;
      result.cores = point.cores;
      result.computation_node = point.computation_node;
    } else {
      result = point;
      result.kernel = Kernel::none;
      result.work = 1;
      result.cores = 0;
      result.computation_node = 0;
    }
    return result;
  }

  [[nodiscard]] std::string title_of(const Point& key) const {
    std::string title = fmt::format("{}, {}", word(key.channel), word(key.kernel));
    if (key.cores > 0)
      title += fmt::format(", {} {}", key.cores, key.cores == 1 ? "core" : "cores");
    if (key.message_bytes > 0) title += fmt::format(", {} bytes", key.message_bytes);
    if (input_.measurements->machine.nodes > 1) {
      title += fmt::format(", nodes {} {} {}", key.computation_node, key.communication_node,
                           key.thread_node);
    }
    return title;
  }

  const Sweep& sweep_;
  const FigureInput& input_;
  std::map<Point, std::vector<double>> network_;
  std::map<Point, std::vector<double>> computation_;
};

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"placements", "stacked"};
    for (const Sweep& sweep : sweeps()) names.emplace_back(sweep.name);
    return names;
  }();
  return all;
}

Grid make_figure(std::string_view name, const FigureInput& input) {
  if (name == "placements") return placements_figure(input);
  if (name == "stacked") return stacked_figure(input);
  return interference_figure(name, input);
}

Grid placements_figure(const FigureInput& input) {
  const Machine machine = machine_of(input);
  std::vector<Placement> measured;
  Selection selection;
  if (input.measurements != nullptr) {
    selection = resolve(*input.measurements, input.selection);
    measured = placements_of(*input.measurements, selection);
    if (input.model != nullptr) {
      static_cast<void>(errors_of(*input.model, *input.measurements, selection));  // same machine
    }
  }
  Grid grid;
  grid.title =
      fmt::format("{}: network and memory bandwidth by placement of the data", machine.name);
  grid.x_label = kCoresLabel;
  grid.left_label = "network, GB/s";
  grid.left_color = kNetworkColor;
  grid.right_label = "computation, GB/s";
  grid.right_color = kComputationColor;
  grid.columns = machine.nodes;
  const std::vector<Placement> samples = samples_of(machine.nodes, machine.nodes_per_socket);
  for (int communication = 0; communication < machine.nodes; ++communication) {
    for (int computation = 0; computation < machine.nodes; ++computation) {
      const Placement placement{computation, communication};
      grid.panels.push_back(placement_panel(input, selection, measured, placement));
      grid.panels.back().is_marked = std::ranges::find(samples, placement) != samples.end();
    }
  }
  return grid;
}

Grid stacked_figure(const FigureInput& input) {
  const Machine machine = machine_of(input);
  Selection selection;
  if (input.measurements != nullptr) selection = resolve(*input.measurements, input.selection);
  Grid grid;
  grid.title = fmt::format("{}: share of the memory bandwidth{}", machine.name,
                           input.measurements == nullptr ? ", predicted" : "");
  grid.x_label = kCoresLabel;
  grid.left_label = "bandwidth, GB/s";
  const std::vector<Placement> samples = samples_of(machine.nodes, machine.nodes_per_socket);
  grid.columns = static_cast<int>(samples.size());
  for (const Placement& placement : samples) {
    Curves curves;
    if (input.measurements != nullptr) {
      const Measurement of = curves_of(*input.measurements, selection, placement);
      curves = {of.computation_alone_mb_s, of.computation_mb_s, of.communication_mb_s};
    } else {
      curves = curves_of(*input.model, placement);
    }
    grid.panels.push_back(stacked_panel(curves, placement));
  }
  return grid;
}

Grid interference_figure(std::string_view name, const FigureInput& input) {
  const auto sweep = std::ranges::find(sweeps(), name, &Sweep::name);
  if (sweep == sweeps().end()) throw InputError(fmt::format("there is no figure '{}'", name));
  if (input.measurements == nullptr) {
    throw InputError(fmt::format("the figure '{}' needs measurements", name));
  }
  Grid grid;
  grid.title = fmt::format("{}: {}", input.measurements->machine.name, sweep->title);
  grid.x_label = sweep->x_label;
  grid.x_is_logarithmic = sweep->is_logarithmic;
  grid.left_label = sweep->shows_latency ? "network latency, us" : "network, GB/s";
  grid.left_color = kNetworkColor;
  grid.right_label = sweep->kernel == Kernel::poll ? "10^9 polls per second" : "computation, GB/s";
  grid.right_color = kComputationColor;
  grid.panels = SweepCharts(*sweep, input).make();
  if (grid.panels.empty()) {
    throw InputError(
        fmt::format("the figure '{}' has no data: it needs two points with communication", name));
  }
  grid.columns = std::min<int>(3, static_cast<int>(grid.panels.size()));
  return grid;
}

}  // namespace contention

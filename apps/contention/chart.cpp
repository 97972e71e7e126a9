#include "contention/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace contention {
namespace {

// Sizes in pixels.
constexpr double kPanelWidth = 300;
constexpr double kPanelHeight = 190;
constexpr double kLeft = 62;  // around each panel: room for axes and titles
constexpr double kRight = 62;
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kTitleHeight = 40;
constexpr double kLegendHeight = 22;
constexpr double kLegendEntry = 215;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

/// Values of an axis and their places.
struct Axis {
  bool is_logarithmic = false;
  double least = 0;
  double most = 1;
  std::vector<double> ticks;

  /// Place from 0 to 1.
  [[nodiscard]] double place(double value) const {
    if (is_logarithmic) {
      return std::log(std::max(value, least) / least) / std::log(most / least);
    }
    return (value - least) / (most - least);
  }
};

/// Calls visit(series, point) for all.
template <class Visit>
void for_each_point(const Grid& grid, Visit visit) {
  for (const Panel& panel : grid.panels) {
    for (const Series& series : panel.series) {
      for (const ChartPoint& point : series.points) visit(series, point);
    }
  }
}

Axis y_axis(const Grid& grid, bool right) {
  double most = 0;
  for_each_point(grid, [&](const Series& series, const ChartPoint& point) {
    if (series.on_right_axis != right) return;
    most = std::max({most, point.y, series.has_band ? point.high : 0});
  });
  Axis axis;
  axis.ticks = round_ticks(most, 5);
  axis.most = axis.ticks.back();
  return axis;
}

Axis x_axis(const Grid& grid) {
  Axis axis;
  axis.is_logarithmic = grid.x_is_logarithmic;
  double least = INFINITY;
  double most = 0;
  for_each_point(grid, [&](const Series&, const ChartPoint& point) {
    if (!grid.x_is_logarithmic || point.x > 0) least = std::min(least, point.x);
    most = std::max(most, point.x);
  });
  if (!std::isfinite(least) || most <= 0) least = most = 1;
  if (!axis.is_logarithmic) {
    axis.ticks = round_ticks(most, 6);
    axis.most = std::max(most * 1.03, 1e-9);
    std::erase_if(axis.ticks, [&axis](double tick) { return tick > axis.most; });
    return axis;
  }
  axis.least = least;
  axis.most = std::max(most, least * 2);
  const double last = std::log2(axis.most / least);
  const double step = std::max(1.0, std::ceil(last / 6));
  for (double power = 0; power <= last + 1e-9; power += step) {
    axis.ticks.push_back(least * std::exp2(power));
  }
  return axis;
}

/// 65536 as "64 Ki": values of logarithmic axes are sizes or small counts.
std::string tick_text(double value, bool logarithmic) {
  if (!logarithmic || value < 1024) return fmt::format("{:.4g}", value);
  if (value < 1024.0 * 1024) return fmt::format("{:.4g} Ki", value / 1024);
  return fmt::format("{:.4g} Mi", value / 1024 / 1024);
}

/// Writes one document.
class Writer {
 public:
  explicit Writer(const Grid& grid)
      : grid_(grid), x_(x_axis(grid)), left_(y_axis(grid, false)), right_(y_axis(grid, true)) {}

  std::string write() {
    const auto columns = static_cast<std::size_t>(std::max(1, grid_.columns));
    const std::size_t rows = (grid_.panels.size() + columns - 1) / columns;
    const std::vector<const Series*> legend = legend_entries();
    const double width =
        static_cast<double>(std::min(columns, std::max<std::size_t>(1, grid_.panels.size()))) *
        (kLeft + kPanelWidth + kRight);
    const auto per_line = std::max<std::size_t>(1, static_cast<std::size_t>(width / kLegendEntry));
    const std::size_t legend_lines = (legend.size() + per_line - 1) / per_line;
    const double legend_height = kLegendHeight * static_cast<double>(legend_lines);
    const double panels_height = static_cast<double>(rows) * (kTop + kPanelHeight + kBottom);
    const double height = kTitleHeight + panels_height + legend_height + 12;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
        width, height);
    text(width / 2, 24, grid_.title, "text-anchor=\"middle\" font-size=\"15\"");
    for (std::size_t i = 0; i < grid_.panels.size(); ++i) {
      const std::size_t row = i / columns;
      left_edge_ = static_cast<double>(i % columns) * (kLeft + kPanelWidth + kRight) + kLeft;
      top_edge_ = kTitleHeight + static_cast<double>(row) * (kTop + kPanelHeight + kBottom) + kTop;
      write_panel(grid_.panels[i]);
    }
    for (std::size_t i = 0; i < legend.size(); ++i) {
      const std::size_t row = i / per_line;
      write_legend(*legend[i], 20 + kLegendEntry * static_cast<double>(i % per_line),
                   kTitleHeight + panels_height + kLegendHeight * static_cast<double>(row) + 12);
    }
    return svg_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(double value) const {
    return left_edge_ + x_.place(value) * kPanelWidth;
  }
  [[nodiscard]] double y_of(double value, bool right) const {
    return top_edge_ + (1 - (right ? right_ : left_).place(value)) * kPanelHeight;
  }

  void text(double x, double y, const std::string& what, const std::string& attributes) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                        escaped(what));
  }
  void line(double x1, double y1, double x2, double y2, const std::string& attributes) {
    svg_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1,
                        y1, x2, y2, attributes);
  }

  void write_panel(const Panel& panel) {
    text(
        left_edge_ + kPanelWidth / 2, top_edge_ - 9, panel.title,
        panel.is_marked ? "text-anchor=\"middle\" font-weight=\"bold\"" : "text-anchor=\"middle\"");
    write_axes();
    for (const Series& series : panel.series) {
      if (series.is_area || series.has_band) write_band(series);
    }
    for (const Series& series : panel.series) write_series(series);
    svg_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"none\" "
        "stroke=\"#000000\" stroke-width=\"{}\"/>\n",
        left_edge_, top_edge_, kPanelWidth, kPanelHeight, panel.is_marked ? 2.5 : 1);
  }

  void write_axes() {
    const double bottom = top_edge_ + kPanelHeight;
    for (const double tick : x_.ticks) {
      line(x_of(tick), bottom, x_of(tick), bottom + 4, "stroke=\"#000000\"");
      text(x_of(tick), bottom + 17, tick_text(tick, x_.is_logarithmic), "text-anchor=\"middle\"");
    }
    text(left_edge_ + kPanelWidth / 2, bottom + 34, grid_.x_label, "text-anchor=\"middle\"");
    write_y_axis(false, grid_.left_label, grid_.left_color);
    if (!grid_.right_label.empty()) write_y_axis(true, grid_.right_label, grid_.right_color);
  }

  void write_y_axis(bool right, const std::string& label, const std::string& color) {
    const double edge = right ? left_edge_ + kPanelWidth : left_edge_;
    const double out = right ? 4 : -4;
    for (const double tick : (right ? right_ : left_).ticks) {
      const double y = y_of(tick, right);
      line(edge, y, edge + out, y, "stroke=\"#000000\"");
      if (!right) {
        line(edge, y, edge + kPanelWidth, y, "stroke=\"#000000\" stroke-opacity=\"0.08\"");
      }
      text(edge + 2 * out, y + 4, tick_text(tick, false),
           fmt::format("text-anchor=\"{}\" fill=\"{}\"", right ? "start" : "end", color));
    }
    const double x = right ? edge + 50 : edge - 44;
    const double y = top_edge_ + kPanelHeight / 2;
    text(x, y, label,
         fmt::format("text-anchor=\"middle\" fill=\"{}\" transform=\"rotate(-90 {:.1f} {:.1f})\"",
                     color, x, y));
  }

  void write_band(const Series& series) {
    std::string outline;
    for (const ChartPoint& point : series.points) {
      const double top = series.is_area ? point.y : point.high;
      outline += fmt::format("{:.1f},{:.1f} ", x_of(point.x), y_of(top, series.on_right_axis));
    }
    for (auto point = series.points.rbegin(); point != series.points.rend(); ++point) {
      outline +=
          fmt::format("{:.1f},{:.1f} ", x_of(point->x), y_of(point->low, series.on_right_axis));
    }
    svg_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n", outline,
                        series.color, series.is_area ? 0.6 : 0.2);
  }

  void write_series(const Series& series) {
    if (series.line != Line::none && !series.is_area) {
      std::string path;
      for (const ChartPoint& point : series.points) {
        path += fmt::format("{:.1f},{:.1f} ", x_of(point.x), y_of(point.y, series.on_right_axis));
      }
      svg_ += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n", path,
          series.color, series.line == Line::dashed ? " stroke-dasharray=\"6 4\"" : "");
    }
    for (const ChartPoint& point : series.points) {
      write_marker(series, x_of(point.x), y_of(point.y, series.on_right_axis));
    }
  }

  void write_marker(const Series& series, double x, double y) {
    if (series.marker == Marker::circle) {
      svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y,
                          series.color);
    } else if (series.marker == Marker::triangle) {
      svg_ += fmt::format(
          "<polygon points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" "
          "fill=\"{}\"/>\n",
          x - 4, y - 3, x + 4, y - 3, x, y + 4, series.color);
    }
  }

  void write_legend(const Series& series, double x, double y) {
    if (series.is_area) {
      svg_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"24\" height=\"10\" fill=\"{}\" "
          "fill-opacity=\"0.6\"/>\n",
          x, y - 5, series.color);
    } else if (series.line != Line::none) {
      line(x, y, x + 24, y,
           fmt::format("stroke=\"{}\" stroke-width=\"1.8\"{}", series.color,
                       series.line == Line::dashed ? " stroke-dasharray=\"6 4\"" : ""));
    }
    write_marker(series, x + 12, y);
    text(x + 30, y + 4, series.name, "font-size=\"11\"");
  }

  /// The first series of each name.
  [[nodiscard]] std::vector<const Series*> legend_entries() const {
    std::vector<const Series*> entries;
    for (const Panel& panel : grid_.panels) {
      for (const Series& series : panel.series) {
        const bool is_known = std::ranges::any_of(
            entries, [&series](const Series* entry) { return entry->name == series.name; });
        if (!series.name.empty() && !is_known) entries.push_back(&series);
      }
    }
    return entries;
  }

  const Grid& grid_;
  const Axis x_;
  const Axis left_;
  const Axis right_;
  double left_edge_ = 0;  // of the panel that is written
  double top_edge_ = 0;
  std::string svg_;
};

}  // namespace

std::vector<double> round_ticks(double most, int count) {
  if (!(most > 0) || !std::isfinite(most)) return {0, 1};
  const double rough = most / count;
  const double unit = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * unit;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * unit >= rough * (1 - 1e-9)) {
      step = factor * unit;
      break;
    }
  }
  std::vector<double> ticks{0};
  while (ticks.back() < most * (1 - 1e-9)) {
    ticks.push_back(static_cast<double>(ticks.size()) * step);
  }
  return ticks;
}

std::string to_svg(const Grid& grid) { return Writer(grid).write(); }

}  // namespace contention

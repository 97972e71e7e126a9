#pragma once
// Grids of line charts as SVG.

#include <string>
#include <vector>

namespace contention {

/// A point of a series with its spread.
struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // of the band around the curve
  double high = 0;
};

enum class Line { none, solid, dashed };
enum class Marker { none, circle, triangle };

/// A curve or an area of a panel.
struct Series {
  std::string name;   // in the legend; empty: not there
  std::string color;  // "#rrggbb"
  Line line = Line::solid;
  Marker marker = Marker::none;
  bool on_right_axis = false;
  bool has_band = false;  // between low and high
  bool is_area = false;   // filled between low and y
  std::vector<ChartPoint> points;
};

/// One chart of a grid.
struct Panel {
  std::string title;
  bool is_marked = false;  // bold title and thick frame
  std::vector<Series> series;
};

/// A grid of charts with the same axes.
struct Grid {
  std::string title;
  std::string x_label;
  bool x_is_logarithmic = false;
  std::string left_label;
  std::string left_color = "#000000";
  std::string right_label;  // empty: no axis on the right
  std::string right_color = "#000000";
  int columns = 1;
  std::vector<Panel> panels;
};

/// The grid as an SVG document. Axes begin at 0, except logarithmic ones. Text is escaped; a grid
/// without points has empty charts.
[[nodiscard]] std::string to_svg(const Grid& grid);

/// At most about `count` round values from 0 to `most`, which they reach or exceed by one step.
[[nodiscard]] std::vector<double> round_ticks(double most, int count);

}  // namespace contention

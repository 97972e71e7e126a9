// Figures of the program contention: the panels that they have, and the SVG that shows them.

#include "contention/figures.hpp"

#include "common/input_error.hpp"
#include "contention/chart.hpp"
#include "contention/synthetic.hpp"
#include "support/contention_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace apps_contention_figures_test {

using contention::Channel;
using contention::FigureInput;
using contention::Grid;
using contention::Kernel;
using contention::Measurements;
using contention::Panel;
using contention::Sample;
using contention::Series;
using contention::Traffic;
using shoal::contention::published_model;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

const Series& series_of(const Panel& panel, const std::string& name) {
  const auto found = std::ranges::find(panel.series, name, &Series::name);
  if (found == panel.series.end()) throw std::runtime_error("no series " + name);
  return *found;
}

std::string refusal(std::string_view name, const FigureInput& input) {
  try {
    static_cast<void>(contention::make_figure(name, input));
  } catch (const apps::InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ContentionFigures, Ticks_AreRoundAndReachTheLargestValue) {
  using contention::round_ticks;
  EXPECT_EQ(round_ticks(10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(11, 5), (std::vector<double>{0, 5, 10, 15}));
  EXPECT_EQ(round_ticks(0, 5), (std::vector<double>{0, 1}));
  for (double most = 0.003; most < 1e7; most *= 1.7) {
    const std::vector<double> ticks = round_ticks(most, 5);
    EXPECT_GE(ticks.back(), most * (1 - 1e-9));
    EXPECT_LE(ticks.size(), 7U) << most;
  }
}

TEST(ContentionFigures, Placements_HaveRowsOfCommunicationAndColumnsOfComputation) {
  const auto model = published_model("henrisubnuma");
  const Measurements measurements = contention::synthesize(model, {});
  const Grid grid = contention::make_figure("placements", {&model, &measurements, {}});
  ASSERT_EQ(grid.panels.size(), 16U);
  EXPECT_EQ(grid.columns, 4);
  EXPECT_EQ(grid.panels[1].title, "computation: node 1, communication: node 0");
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(grid.panels[i].is_marked, i == 0 || i == 10) << i;
    const Series& predicted = series_of(grid.panels[i], "network, predicted");
    const Series& measured = series_of(grid.panels[i], "network, beside computation");
    ASSERT_EQ(predicted.points.size(), 18U);
    for (std::size_t n = 0; n < 18; ++n) {
      EXPECT_EQ(measured.points[n].x, static_cast<double>(n + 1));
      EXPECT_NEAR(measured.points[n].y, predicted.points[n].y, 1e-6);
    }
  }
}

TEST(ContentionFigures, ModelAlone_ShowsItsLoneCurvesInstead) {
  const auto model = published_model("bora");
  const Grid grid = contention::make_figure("placements", {&model, nullptr, {}});
  ASSERT_EQ(grid.panels.size(), 4U);
  EXPECT_EQ(series_of(grid.panels[0], "network, alone").points[0].y, 9.9484);
  EXPECT_EQ(series_of(grid.panels[2], "network, alone").points[0].y, 8.7847);
}

TEST(ContentionFigures, MeasurementsAlone_AreMarkers) {
  const Measurements measurements = contention::synthesize(published_model("bora"), {});
  const Grid grid = contention::make_figure("placements", {nullptr, &measurements, {}});
  EXPECT_EQ(grid.panels[0].series.size(), 4U);
}

TEST(ContentionFigures, Stacked_PutsCommunicationOnTop) {
  const auto model = published_model("henri");
  const Grid grid = contention::make_figure("stacked", {&model, nullptr, {}});
  ASSERT_EQ(grid.panels.size(), 2U);
  const auto predicted = predict(model, {0, 0});
  const Series& network = series_of(grid.panels[0], "network, on top of it");
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    EXPECT_NEAR(1000 * network.points[i].low, predicted[i].computation_mb_s, 1e-6);
    EXPECT_NEAR(1000 * network.points[i].y,
                predicted[i].computation_mb_s + predicted[i].communication_mb_s, 1e-6);
  }
}

/// Samples of triad with 2 cores beside messages of several sizes, and of each alone.
Measurements size_samples() {
  Measurements all;
  all.machine = {"m", "p", 2, 1, 1};
  const auto add = [&all](const contention::Point& point, double computation, double latency) {
    for (const double factor : {0.9, 1.0, 1.2}) {
      Sample sample;
      sample.point = point;
      if (point.cores > 0) sample.computation_mb_s = 1000 * computation * factor;
      if (latency > 0) sample.latency_us = latency * factor;
      all.samples.push_back(sample);
    }
  };
  contention::Point point;
  point.kernel = Kernel::triad;
  point.cores = 2;
  add(point, 8, 0);
  point.channel = Channel::small;
  point.traffic = Traffic::ping_pong;
  for (const int bytes : {4, 64, 1024}) {
    point.message_bytes = static_cast<std::uint64_t>(bytes);
    add(point, 7, 2);
    contention::Point alone = point;
    alone.kernel = Kernel::none;
    alone.cores = 0;
    add(alone, 0, 1);
  }
  return all;
}

TEST(ContentionFigures, Sweep_ShowsEachAloneAndTogetherWithDeciles) {
  const Measurements all = size_samples();
  const Grid grid = contention::make_figure("sizes-latency", {nullptr, &all, {}});
  ASSERT_EQ(grid.panels.size(), 1U);
  EXPECT_EQ(grid.panels[0].title, "small, triad, 2 cores");
  const Series& together = series_of(grid.panels[0], "network, beside computation");
  ASSERT_EQ(together.points.size(), 3U);
  EXPECT_EQ(together.points[1].x, 64);
  EXPECT_DOUBLE_EQ(together.points[1].y, 2);
  EXPECT_DOUBLE_EQ(together.points[1].low, 2 * 0.92);
  EXPECT_DOUBLE_EQ(together.points[1].high, 2 * 1.16);
  EXPECT_DOUBLE_EQ(series_of(grid.panels[0], "network, alone").points[2].y, 1);
  EXPECT_DOUBLE_EQ(series_of(grid.panels[0], "computation, alone").points[0].y, 8);
  EXPECT_EQ(series_of(grid.panels[0], "computation, beside network").points.size(), 3U);
}

TEST(ContentionFigures, MissingInput_IsNamed) {
  const Measurements sizes = size_samples();
  const auto model = published_model("henri");
  EXPECT_EQ(refusal("placements", {}), "this figure needs a model or measurements");
  EXPECT_EQ(refusal("sizes", {&model, nullptr, {}}), "the figure 'sizes' needs measurements");
  EXPECT_THAT(refusal("cores", {nullptr, &sizes, {}}), HasSubstr("'cores' has no data"));
  EXPECT_THAT(refusal("polling", {nullptr, &sizes, {}}), HasSubstr("'polling' has no data"));
  EXPECT_THAT(refusal("pie", {nullptr, &sizes, {}}), HasSubstr("there is no figure 'pie'"));
  const Measurements other = contention::synthesize(published_model("bora"), {});
  const auto dahu = published_model("dahu");
  EXPECT_THAT(refusal("placements", {&dahu, &other, {}}), HasSubstr("of different machines"));
  for (const std::string& name : contention::figure_names()) {
    EXPECT_NE(refusal(name, {}), "accepted") << name;
  }
}

TEST(ContentionFigures, Svg_HasAllPanelsAndEscapesText) {
  const auto model = published_model("henri");
  Grid grid = contention::make_figure("placements", {&model, nullptr, {}});
  grid.title = "a < b & c";
  const std::string svg = contention::to_svg(grid);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_EQ(count(svg, "<polyline"), 16U);
  EXPECT_EQ(count(svg, "stroke-width=\"2.5\""), 2U);  // thick frames
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
}

TEST(ContentionFigures, EmptyGrid_IsDrawn) {
  Grid grid;
  grid.panels.resize(2);
  grid.x_is_logarithmic = true;
  grid.right_label = "r";
  const std::string svg = contention::to_svg(grid);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

}  // namespace apps_contention_figures_test

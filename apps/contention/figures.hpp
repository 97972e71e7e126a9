#pragma once
// Figures of measurements and of the model, laid out as in the thesis.

#include <shoal/contention/model.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "contention/chart.hpp"
#include "contention/measurements.hpp"
#include "contention/selection.hpp"

namespace contention {

/// Inputs of a figure; a pointer is nullptr where the user gave no such file.
struct FigureInput {
  const Model* model = nullptr;
  const Measurements* measurements = nullptr;
  Selection selection;
};

/// Names of the figures.
[[nodiscard]] const std::vector<std::string>& figure_names();

/// A figure by its name. **Errors**: InputError when the input that it needs is missing.
[[nodiscard]] Grid make_figure(std::string_view name, const FigureInput& input);

/// One chart for each placement (figures 6.2 to 6.10): markers are measurements, lines predictions.
[[nodiscard]] Grid placements_figure(const FigureInput& input);

/// Computation and communication on top of each other (figure 6.1), for the placements that the
/// model is calibrated with.
[[nodiscard]] Grid stacked_figure(const FigureInput& input);

/// Network and computation, alone and together, with bands from the first to the last decile
/// (figures 5.6, 5.9, 5.10 and 5.13): one chart for each kind of communication.
[[nodiscard]] Grid interference_figure(std::string_view name, const FigureInput& input);

}  // namespace contention

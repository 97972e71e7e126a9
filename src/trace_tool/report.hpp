#pragma once
// One page of HTML that says why a run took as long as it did, readable without a network.

#include "trace_tool/analysis.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace shoal::trace_tool {

/// Writes the page. **Errors**: Error when it cannot be written.
void write_report(const Model& model, const Analysis& analysis, const std::string& path);

/// Writes a page with the timelines of two runs on one time axis, and what `diff_text()` says of
/// them. **Errors**: as write_report().
void write_comparison(const Model& a, const Analysis& of_a, const Model& b, const Analysis& of_b,
                      const std::string& path);

/// The page's data. page/report.js reads it.
[[nodiscard]] nlohmann::ordered_json page_data(const Model& model, const Analysis& analysis);
/// Returns the data of the report as text that can be embedded in a page.
[[nodiscard]] std::string report_data(const Model& model, const Analysis& analysis);

}  // namespace shoal::trace_tool

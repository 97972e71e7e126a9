#pragma once
// One page of HTML that says why a run took as long as it did, readable without a network.

#include "trace_tool/analysis.hpp"

#include <string>

namespace shoal::trace_tool {

/// Writes the page. **Errors**: Error when it cannot be written.
void write_report(const Model& model, const Analysis& analysis, const std::string& path);

/// The page's data, as JSON. page/report.js reads it.
[[nodiscard]] std::string report_data(const Model& model, const Analysis& analysis);

}  // namespace shoal::trace_tool

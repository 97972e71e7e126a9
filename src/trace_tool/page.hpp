#pragma once
// Text of the files in page/, which the build puts into the program.

#include <string_view>

namespace shoal::trace_tool {

[[nodiscard]] std::string_view page_html();
[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();
// The chart library, uPlot.
[[nodiscard]] std::string_view page_chart_style();
[[nodiscard]] std::string_view page_chart_script();

}  // namespace shoal::trace_tool

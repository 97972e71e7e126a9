#include "trace_tool/report.hpp"

#include <shoal/error.hpp>

#include "trace_tool/convert.hpp"
#include "trace_tool/page.hpp"
#include "trace_tool/text.hpp"

#include <string_view>

namespace shoal::trace_tool {

using Json = nlohmann::ordered_json;

namespace {

/// Inside of a page, "</script>" in a name would end the data.
std::string text_of(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

/// `other`: the run that is compared with it, or "null".
void write_page(std::string_view data, std::string_view other, const std::string& path) {
  std::string_view rest = page_html();
  TextFile file(path);
  const auto put_until = [&](std::string_view place, std::string_view with) {
    const std::size_t at = rest.find(place);
    if (at == std::string_view::npos) throw Error("the page of the report is not whole");
    file.put(rest.substr(0, at));
    file.put(with);
    rest.remove_prefix(at + place.size());
  };
  put_until("/*CHART STYLE*/", page_chart_style());
  put_until("/*STYLE*/", page_style());
  put_until("/*DATA*/", data);
  put_until("/*OTHER*/", other);
  put_until("/*CHART SCRIPT*/", page_chart_script());
  put_until("/*SCRIPT*/", page_script());
  file.put(rest);
  file.close();
}

}  // namespace

std::string report_data(const Model& model, const Analysis& analysis) {
  return text_of(page_data(model, analysis));
}

void write_report(const Model& model, const Analysis& analysis, const std::string& path) {
  write_page(report_data(model, analysis), "null", path);
}

void write_comparison(const Model& a, const Analysis& of_a, const Model& b, const Analysis& of_b,
                      const std::string& path) {
  const Json other = {{"text", diff_text(a, of_a, b, of_b)}, {"run", page_data(b, of_b)}};
  write_page(report_data(a, of_a), text_of(other), path);
}

}  // namespace shoal::trace_tool

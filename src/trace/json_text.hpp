#pragma once
// Text of JSON in traces.

#include <nlohmann/json.hpp>

#include <string>

namespace shoal::trace {

/// JSON on one line. Bytes from outside that are not UTF-8 are replaced.
inline std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace shoal::trace

#pragma once
// What a kernel program prints: one JSON object, as tools/shoal-bench reads it.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bench {

struct Result {
  std::string kernel;
  std::string side;
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
};

/// Prints a result whose answer was checked.
void print(const Result& result);

/// Of at least one value.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace bench

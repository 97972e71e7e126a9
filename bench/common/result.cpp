#include "common/result.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

namespace bench {

namespace {

nlohmann::ordered_json to_json(const Values& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) {
    std::visit([&](const auto& plain) { json[name] = plain; }, value);
  }
  return json;
}

}  // namespace

void print(const Result& result) {
  const nlohmann::ordered_json line = {{"kernel", result.kernel},
                                       {"side", result.side},
                                       {"values", to_json(result.values)},
                                       {"config", to_json(result.config)},
                                       {"verified", true}};
  std::puts(line.dump().c_str());
}

int report(const Result& result, const std::function<void()>& measure) {
  try {
    measure();
    print(result);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s %s: %s\n", result.side.c_str(), result.kernel.c_str(), error.what());
    return 1;
  }
}

double median_of(int repeat, const std::function<double()>& run) {
  std::vector<double> values;
  for (int i = 0; i < repeat; ++i) values.push_back(run());
  return median(std::move(values));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace bench

#include "common/result.hpp"

#include <algorithm>
#include <cstdio>

namespace bench {

void print(const Result& result) {
  const nlohmann::ordered_json line = {{"kernel", result.kernel},
                                       {"side", result.side},
                                       {"values", result.values},
                                       {"config", result.config},
                                       {"verified", true}};
  std::puts(line.dump().c_str());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace bench

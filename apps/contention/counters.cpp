#include "contention/counters.hpp"

#include <fmt/format.h>

namespace contention {

std::vector<std::string> memory_events(const std::vector<std::string>& known,
                                       const std::vector<int>& processors) {
  std::vector<std::string> events;
  for (const std::string& name : known) {
    // Intel's server processors: one unit for each channel, such as skx_unc_imc0.
    if (name.find("_unc_imc") == std::string::npos || !name.ends_with("::UNC_M_CAS_COUNT")) {
      continue;
    }
    for (const int processor : processors) {
      events.push_back(fmt::format("{}:ALL:cpu={}", name, processor));
    }
  }
  return events;
}

}  // namespace contention

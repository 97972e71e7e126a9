#pragma once
// What EDAT's keys and environment variables mean for shoal.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shoal::edat_api {

struct Configuration {
  std::vector<std::string> arguments;  // of run(), without the program's name
  bool report_workers = false;
  std::vector<std::string> notes;  // keys that have no effect here
};

/// `pairs` are keys and values in the program; they go before the environment.
/// **Errors**: ConfigError for a key or a value that EDAT does not know.
Configuration read_configuration(
    std::span<const std::pair<std::string, std::string>> pairs,
    const std::function<std::optional<std::string>(const std::string&)>& environment);

}  // namespace shoal::edat_api

#pragma once
// Meaning of EDAT's keys and environment variables for shoal.

#include <shoal/detail/base/function.hpp>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shoal::edat_api {

/// Meaning of the data of an event of type EDAT_ADDRESS.
enum class AddressRule {
  library,  // points to addresses, which are copied; the task gets the copies
  paper,    // is the address itself, and the task gets it
};

struct Configuration {
  std::vector<std::string> arguments;  // of run(), without the program's name
  bool report_workers = false;
  bool main_is_worker = false;  // one worker stands still while main() runs
  AddressRule addresses = AddressRule::library;
  std::vector<std::string> notes;  // settings that have no effect here
};

/// `pairs` are keys and values in the program; the environment goes before them, as in EDAT.
/// **Errors**: ConfigError for a key or a value that EDAT does not know, or this library cannot do.
Configuration read_configuration(
    std::span<const std::pair<std::string, std::string>> pairs,
    FunctionRef<std::optional<std::string>(const std::string&)> environment);

}  // namespace shoal::edat_api

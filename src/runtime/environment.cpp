#include "runtime/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

namespace shoal::runtime {

Environment environment_of(std::map<std::string, std::string> variables) {
  const auto shared =
      std::make_shared<const std::map<std::string, std::string>>(std::move(variables));
  Environment env;
  env.lookup = [shared](const std::string& name) -> std::optional<std::string> {
    const auto found = shared->find(name);
    return found == shared->end() ? std::nullopt : std::optional(found->second);
  };
  env.names = [shared] {
    std::vector<std::string> names;
    std::transform(shared->begin(), shared->end(), std::back_inserter(names),
                   [](const auto& variable) { return variable.first; });
    return names;
  };
  return env;
}

Environment process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment_of(std::move(variables));
}

}  // namespace shoal::runtime

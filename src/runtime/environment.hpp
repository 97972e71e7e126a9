#pragma once
// The variables that the process was started with, behind a seam.

#include <shoal/detail/base/function.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Source of environment variables, so that tests do not need those of the process.
struct Environment {
  Function<std::optional<std::string>(const std::string& name)> lookup;
  Function<std::vector<std::string>()> names;  // of all variables, in any order
};

/// An environment of exactly these variables.
Environment environment_of(std::map<std::string, std::string> variables);
/// A copy of the process's environment as it is now.
Environment process_environment();

}  // namespace shoal::runtime

#pragma once
// The table of shoal's options: names, values they take, help. Where a value comes from is not
// known here.

#include "runtime/config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shoal::runtime {

/// A given value, and its place: "command line: --ranks", "file x.toml line 3: ranks".
struct Setting {
  std::string where;
  std::string value;
};

/// One option: --name on the command line, name in a file, SHOAL_NAME in the environment.
struct Option {
  std::string_view name;
  std::string_view value_name;  // empty: a flag, which needs no value on the command line
  std::string_view help;
  void (*apply)(Config&, const Setting&);  // Errors: ConfigError, see parse_config()
  std::string (*show_default)(const Config&);
};

/// All options but --config and --help, which are no settings.
std::span<const Option> options();

/// Output of --help.
std::string make_help_text(const std::string& program);

/// A size as people write it: "8K".
std::string show_size(std::uint64_t size_bytes);

}  // namespace shoal::runtime

#pragma once
// The table of shoal's options: names, values they take, help. Where a value comes from is not
// known here.

#include "runtime/config.hpp"

#include <array>
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

/// A suffix, and its factor.
struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};
inline constexpr std::array<Unit, 1> count_units{{{"", 1}}};
inline constexpr std::array<Unit, 8> size_units{{{"G", 1U << 30},
                                                 {"M", 1U << 20},
                                                 {"K", 1U << 10},
                                                 {"GiB", 1U << 30},
                                                 {"MiB", 1U << 20},
                                                 {"KiB", 1U << 10},
                                                 {"B", 1},
                                                 {"", 1}}};
inline constexpr std::array<Unit, 7> time_units{{{"h", 3'600'000'000'000},
                                                 {"min", 60'000'000'000},
                                                 {"m", 60'000'000'000},
                                                 {"s", 1'000'000'000},
                                                 {"ms", 1'000'000},
                                                 {"us", 1'000},
                                                 {"ns", 1}}};
inline constexpr std::array<Unit, 4> rate_units{
    {{"T", 1'000'000'000'000}, {"G", 1'000'000'000}, {"M", 1'000'000}, {"", 1}}};

/// The kind of number that an option takes.
struct NumberKind {
  std::string_view what;
  std::span<const Unit> units;  // largest first, as far as show() is to use them
  std::uint64_t min;
  std::uint64_t max;
  std::string_view example;  // appended to the allowed range
};

/// A number in the largest unit of which it is a multiple: "8K".
std::string show(std::uint64_t value, std::span<const Unit> units);
/// Allowed values, for messages.
std::string allowed_text(const NumberKind& kind);
/// Errors: ConfigError for a text that is no number of the kind.
std::uint64_t parse_number(const Setting& setting, const NumberKind& kind);

/// Refuses the value of a setting. Errors: ConfigError.
[[noreturn]] void refuse(const Setting& setting, std::string_view problem,
                         std::string_view allowed);

}  // namespace shoal::runtime

#pragma once
// Numbers with units, and lists, as the texts of models and plans have them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::sim {

using Units = std::span<const std::pair<std::string_view, double>>;

/// Units of a time in nanoseconds: ps, ns, us, ms, s.
Units time_units();
/// Units of bytes: none, K, M, G.
Units byte_units();

/// "12.5us" is 12500 with time_units(). Nothing when it is no number of at least 0 with a unit.
std::optional<double> parse_value(const std::string& text, Units units);

/// "a,b,c" at the separator: never empty.
std::vector<std::string> split(const std::string& list, char separator);

}  // namespace shoal::sim
